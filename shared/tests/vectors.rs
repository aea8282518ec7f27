//! Golden rows of the limiters: the same files are for every home of an algorithm.
//!
//! `limiters.jsonl` was given with the design; `gcra.jsonl` was computed with exact fractions, apart from this code.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::Value;
use shared::limiter::check::{Charge, CheckRequest};
use shared::limiter::gcra::GcraPolicy;
use shared::limiter::key::{Key, TableSeed};
use shared::limiter::table::LimiterTable;
use shared::limiter::{Decision, Policy};
use shared::time::Timestamp;
use std::collections::BTreeSet;
use std::time::Duration;

const FILES: [(&str, &str); 2] = [
    ("limiters.jsonl", include_str!("vectors/limiters.jsonl")),
    ("gcra.jsonl", include_str!("vectors/gcra.jsonl")),
];

/// Limiters that the rows ask for and nobody has built. Building one takes it off; a row of any other fails the test.
const NOT_BUILT: [&str; 2] = ["lockout", "sliding_sub_windows"];

#[test]
fn every_row_is_kept_or_named_as_not_built() {
    let mut not_built = BTreeSet::new();
    let mut rows_run = 0;
    for (file, lines) in FILES {
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            let row: Value = serde_json::from_str(line).unwrap();
            let name = format!("{file}: {}", row["name"].as_str().unwrap());
            match row["limiter"].as_str().unwrap() {
                "gcra" | "token_bucket" | "leaky_meter" => run_gcra(&name, &row),
                "all_or_nothing" => run_all_or_nothing(&name, &row),
                other => {
                    not_built.insert(other.to_owned());
                    continue;
                }
            }
            rows_run += 1;
        }
    }
    assert_eq!(not_built, NOT_BUILT.map(str::to_owned).into());
    assert_eq!(rows_run, 16, "rows that ran");
}

fn run_gcra(name: &str, row: &Value) {
    let mut policy = policy_of(&row["policy"]);
    let mut state = policy.new_state();
    for (index, step) in row["steps"].as_array().unwrap().iter().enumerate() {
        let now = Timestamp::from_micros(step["t_us"].as_u64().unwrap());
        let cost = step["cost"].as_u64().unwrap_or(1);
        let decision = match step["op"].as_str().unwrap_or("take") {
            "take" => {
                let transition = policy.check(state, now, cost);
                state = transition.state;
                transition.decision
            }
            "peek" => policy.check(state, now, 0).decision,
            "refund" => {
                let taken_at = step["taken_us"].as_u64().map_or(now, Timestamp::from_micros);
                state = policy.refund(state, now, cost, taken_at);
                policy.check(state, now, 0).decision
            }
            "set_policy" => {
                let previous = policy;
                policy = policy_of(&step["policy"]);
                state = match step["inherit"].as_str().unwrap() {
                    "keep" => policy.inherit(&previous, state),
                    "reset" => policy.new_state(),
                    other => panic!("{name}: inheritance {other} is not built"),
                };
                policy.check(state, now, 0).decision
            }
            other => panic!("{name}: no operation {other}"),
        };
        compare(&format!("{name}, step {index}"), &decision, &step["want"]);
    }
}

fn run_all_or_nothing(name: &str, row: &Value) {
    let layers: Vec<(&String, Policy)> =
        row["policy"].as_object().unwrap().iter().map(|(layer, policy)| (layer, policy_of(policy))).collect();
    let mut table = LimiterTable::new(100, TableSeed([0; 16]));
    for (index, step) in row["steps"].as_array().unwrap().iter().enumerate() {
        let now = Timestamp::from_micros(step["t_us"].as_u64().unwrap());
        let charges = layers.iter().map(|(layer, policy)| {
            // A layer that the step does not name has one key.
            let identity = step[layer.as_str()].as_str().unwrap_or("");
            let key = Key { service: "rows", action: layer, identity: identity.as_bytes() }.hash().unwrap();
            Charge { policy: *policy, key, cost: step["cost"].as_u64().unwrap_or(1) }
        });
        let reply = table.check(&CheckRequest::new(charges.collect()).unwrap(), now);
        let refusal = reply.refusal();
        let want = &step["want"];
        assert_eq!(refusal.is_none(), want["ok"].as_bool().unwrap(), "{name}, step {index}");
        let bound_by = refusal.map(|refusal| layers[refusal.bound_by].0.as_str());
        assert_eq!(bound_by, want["bound_by"].as_str(), "{name}, step {index}");
    }
}

fn policy_of(policy: &Value) -> Policy {
    let number = |field: &str| policy[field].as_u64().unwrap();
    let period = Duration::from_micros(number("period_us"));
    Policy::Gcra(GcraPolicy::new(number("burst_capacity"), number("rate"), period).unwrap())
}

/// Compares the fields that the row names; one that is not known here fails.
fn compare(place: &str, decision: &Decision, want: &Value) {
    for (field, want) in want.as_object().unwrap() {
        let got = match field.as_str() {
            "ok" => Value::from(decision.is_allowed()),
            "remaining" => Value::from(decision.remaining()),
            "reset_after_us" => micros(decision.reset_after()),
            "retry_after_us" => match *decision {
                Decision::Allowed { .. } => micros(Duration::ZERO),
                Decision::Denied { retry_after, .. } => retry_after.map_or(Value::Null, micros),
            },
            other => panic!("{place}: no field {other}"),
        };
        assert_eq!(got, *want, "{place}: {field}");
    }
}

fn micros(span: Duration) -> Value {
    Value::from(u64::try_from(span.as_micros()).unwrap())
}
