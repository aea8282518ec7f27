//! Golden rows of the limiters: the same files are for every home of an algorithm. Their format is in `vectors/README.md`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::{Value, json};
use shared::limiter::check::{Charge, CheckRequest};
use shared::limiter::compact::CompactLockout;
use shared::limiter::concurrency::Holder;
use shared::limiter::key::{Key, TableSeed};
use shared::limiter::table::LimiterTable;
use shared::limiter::{Decision, Inheritance, Policy, PolicySettings, State};
use shared::time::Timestamp;
use std::time::Duration;

const FILES: [(&str, &str); 12] = [
    ("limiters.jsonl", include_str!("vectors/limiters.jsonl")),
    ("gcra.jsonl", include_str!("vectors/gcra.jsonl")),
    ("interval_bucket.jsonl", include_str!("vectors/interval_bucket.jsonl")),
    ("leaky_queue.jsonl", include_str!("vectors/leaky_queue.jsonl")),
    ("fixed_window.jsonl", include_str!("vectors/fixed_window.jsonl")),
    ("sliding_log.jsonl", include_str!("vectors/sliding_log.jsonl")),
    ("sliding_two_counters.jsonl", include_str!("vectors/sliding_two_counters.jsonl")),
    ("sliding_sub_windows.jsonl", include_str!("vectors/sliding_sub_windows.jsonl")),
    ("lockout.jsonl", include_str!("vectors/lockout.jsonl")),
    ("long_quota.jsonl", include_str!("vectors/long_quota.jsonl")),
    ("concurrency.jsonl", include_str!("vectors/concurrency.jsonl")),
    ("set_policy.jsonl", include_str!("vectors/set_policy.jsonl")),
];

/// A limiter, an operation or a field that is not known here fails.
#[test]
fn every_row_is_kept() {
    let rows_run: usize = FILES.iter().map(|(file, lines)| run_file(file, lines)).sum();
    assert_eq!(rows_run, 83, "rows that ran");
}

#[cfg(feature = "zones")]
#[test]
fn every_row_in_local_time_is_kept() {
    let rows_run = run_file("long_quota_zones.jsonl", include_str!("vectors/long_quota_zones.jsonl"));
    assert_eq!(rows_run, 7, "rows that ran");
}

fn run_file(file: &str, lines: &str) -> usize {
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for row in &rows {
        let name = format!("{file}: {}", row["name"].as_str().unwrap());
        match row["limiter"].as_str().unwrap() {
            "all_or_nothing" => run_all_or_nothing(&name, row),
            limiter => run_one_key(&name, limiter, row),
        }
    }
    rows.len()
}

fn run_one_key(name: &str, limiter: &str, row: &Value) {
    let mut policy = policy_of(limiter, &row["policy"]);
    let mut state = policy.new_state();
    for (index, step) in row["steps"].as_array().unwrap().iter().enumerate() {
        let now = Timestamp::from_micros(step["t_us"].as_u64().unwrap());
        let cost = step["cost"].as_u64().unwrap_or(1);
        let place = format!("{name}, step {index}");
        let mut decision = None;
        match step["op"].as_str().unwrap_or("take") {
            "take" => {
                let holder = step["holder"].as_str().map(holder_of);
                let transition = policy.check_for(state, now, cost, holder);
                (state, decision) = (transition.state, Some(transition.decision));
            }
            "peek" => {}
            "give" => state = policy.give(state, now, holder_of(step["holder"].as_str().unwrap())),
            "refund" => {
                let taken_at = step["taken_us"].as_u64().map_or(now, Timestamp::from_micros);
                state = policy.refund(state, now, cost, taken_at);
            }
            "set_policy" => {
                let limiter = step["policy"]["limiter"].as_str().unwrap_or(limiter);
                let next = policy_of(limiter, &step["policy"]);
                let how: Inheritance = match &step["inherit"] {
                    Value::Null => Inheritance::default(),
                    word => serde_json::from_value(word.clone()).unwrap(),
                };
                state = next.inherit(&policy, state, now, how);
                policy = next;
            }
            other => panic!("{place}: no operation {other}"),
        }
        let decision = decision.unwrap_or_else(|| policy.check(state.clone(), now, 0).decision);
        compare(&place, &decision, is_locked(&policy, &state, now), &step["want"]);
    }
}

fn is_locked(policy: &Policy, state: &State, now: Timestamp) -> bool {
    matches!((policy, state), (Policy::Lockout(policy), State::Lockout(state)) if policy.is_locked(*state, now))
}

fn holder_of(name: &str) -> Holder {
    let mut bytes = [0; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    Holder(bytes)
}

fn run_all_or_nothing(name: &str, row: &Value) {
    let layers: Vec<(&String, Policy)> = row["policy"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(layer, policy)| (layer, layer_policy(policy)))
        .collect();
    let mut table = LimiterTable::new(100, TableSeed([0; 16]));
    for (index, step) in row["steps"].as_array().unwrap().iter().enumerate() {
        let now = Timestamp::from_micros(step["t_us"].as_u64().unwrap());
        let charges = layers.iter().map(|(layer, policy)| {
            // A layer that the step does not name has one key.
            let identity = step[layer.as_str()].as_str().unwrap_or("");
            let key = Key { service: "rows", action: layer, identity: identity.as_bytes() }.hash().unwrap();
            Charge::new(*policy, key, step["cost"].as_u64().unwrap_or(1))
        });
        let reply = table.check(&CheckRequest::new(charges.collect()).unwrap(), now);
        let refusal = reply.refusal();
        let want = &step["want"];
        assert_eq!(refusal.is_none(), want["ok"].as_bool().unwrap(), "{name}, step {index}");
        let bound_by = refusal.map(|refusal| layers[refusal.bound_by].0.as_str());
        assert_eq!(bound_by, want["bound_by"].as_str(), "{name}, step {index}");
    }
}

fn layer_policy(policy: &Value) -> Policy {
    policy_of(policy["limiter"].as_str().unwrap(), policy)
}

/// The numbers of a row, as the settings spell them; a lockout may be in its compact form, and a permit without a life
/// is held for ever.
fn policy_of(limiter: &str, numbers: &Value) -> Policy {
    if let Some(compact) = numbers["compact"].as_str() {
        return Policy::Lockout(compact.parse::<CompactLockout>().unwrap().policy().unwrap());
    }
    let mut numbers = numbers.clone();
    let fields = numbers.as_object_mut().unwrap();
    fields.remove("limiter");
    if limiter == "concurrency" {
        fields.entry("life_us").or_insert(json!(Timestamp::MAX.as_micros()));
    }
    let settings: PolicySettings = serde_json::from_value(json!({ limiter: numbers })).unwrap();
    settings.try_into().unwrap()
}

/// Compares the fields that the row names; one that is not known here fails.
fn compare(place: &str, decision: &Decision, locked: bool, want: &Value) {
    for (field, want) in want.as_object().unwrap() {
        let got = match field.as_str() {
            "ok" => Value::from(decision.is_allowed()),
            "remaining" => Value::from(decision.remaining()),
            "reset_after_us" => micros(decision.reset_after()),
            "retry_after_us" => decision.retry_after().map_or(Value::Null, micros),
            "locked" => Value::from(locked),
            "delay_us" => match *decision {
                Decision::Allowed { delay, .. } => micros(delay),
                Decision::Denied { .. } => Value::Null,
            },
            other => panic!("{place}: no field {other}"),
        };
        assert_eq!(got, *want, "{place}: {field}");
    }
}

fn micros(span: Duration) -> Value {
    Value::from(u64::try_from(span.as_micros()).unwrap())
}
