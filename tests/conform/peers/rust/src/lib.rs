//! What every adapter here does: read a vector, walk its steps, write the answers. See `tests/conform/README.md`.
//!
//! It knows nothing of Fairgate, so that it can be copied.

use serde_json::{Map, Value, json};
use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// What a limiter says to one step; `Err` is the reason why it cannot do it.
pub type Answer = Result<Map<String, Value>, String>;

/// One limiter made for one vector.
pub trait Limiter {
    /// One `take` of at least 1, at `t_us`; the step names the keys.
    fn take(&mut self, t_us: u64, cost: u64, step: &Value) -> Answer;

    /// A look that takes nothing.
    fn peek(&mut self, _t_us: u64, _step: &Value) -> Answer {
        Err("it cannot look without taking".to_owned())
    }
}

/// Answers every line until there are no more. `make` builds the limiter of a policy, or says why there is none.
pub fn serve<L: Limiter>(
    hello: &Value,
    make: impl Fn(&str, &Value) -> Result<L, String>,
) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{hello}")?;
    output.flush()?;
    for line in io::stdin().lock().lines() {
        let reply = match serde_json::from_str::<Value>(&line?) {
            Err(error) => json!({ "broken": error.to_string() }),
            Ok(case) => reply(&case, &make),
        };
        writeln!(output, "{reply}")?;
        output.flush()?;
    }
    Ok(())
}

fn reply<L: Limiter>(case: &Value, make: impl Fn(&str, &Value) -> Result<L, String>) -> Value {
    let name = case["limiter"].as_str().unwrap_or_default();
    if !LIMITERS.contains(&name) {
        return json!({ "unknown_limiter": name });
    }
    let mut limiter = match make(name, &case["policy"]) {
        Ok(limiter) => limiter,
        Err(reason) => return json!({ "cannot": reason }),
    };
    let steps = case["steps"].as_array().cloned().unwrap_or_default();
    let mut answers = Vec::new();
    for step in &steps {
        // A limiter that panics has answered, wrongly.
        let answered = catch_unwind(AssertUnwindSafe(|| answer(&mut limiter, step)));
        let has_panicked = answered.is_err();
        answers.push(answered.unwrap_or_else(|_| json!({ "ok": "it panicked" })));
        if has_panicked {
            answers.resize(steps.len(), json!({}));
            break;
        }
    }
    json!({ "answers": answers })
}

fn answer(limiter: &mut impl Limiter, step: &Value) -> Value {
    let (t_us, cost) = (step["t_us"].as_u64().unwrap_or_default(), step["cost"].as_u64().unwrap_or(1));
    let answer = match step["op"].as_str().unwrap_or("take") {
        "take" if cost == 0 => limiter.peek(t_us, step),
        "take" => limiter.take(t_us, cost, step),
        "peek" => limiter.peek(t_us, step),
        "refund" => Err("it gives nothing back".to_owned()),
        "set_policy" => Err("its policy does not change while it counts".to_owned()),
        other => Err(format!("it knows no `{other}`")),
    };
    answer.map_or_else(|reason| json!({ "cannot": reason }), Value::Object)
}

/// The key of a step of one limiter.
pub fn key_of(step: &Value) -> String {
    step["key"].as_str().unwrap_or("one").to_owned()
}

/// Whole microseconds, rounded up: at the end of a wait of 1.5 µs one of 1 µs has not come.
pub fn micros_up(span: Duration) -> Value {
    json!(span.as_nanos().div_ceil(1_000).min(u128::from(u64::MAX)) as u64)
}

/// The fields of an answer.
pub fn told(fields: Value) -> Map<String, Value> {
    fields.as_object().cloned().unwrap_or_default()
}

/// Whole seconds of microseconds, where a limiter takes its period in seconds.
pub fn whole_seconds(us: &Value) -> Result<i64, String> {
    let us = us.as_u64().unwrap_or_default();
    if us == 0 || !us.is_multiple_of(1_000_000) {
        return Err("it takes its period in whole seconds".to_owned());
    }
    i64::try_from(us / 1_000_000).map_err(|_| "its period is too long".to_owned())
}

/// The version of a dependency, as the lock file pins it.
pub fn version_of(package: &str) -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let entry = lock.split("[[package]]").find(|entry| entry.contains(&format!("name = \"{package}\"")));
    let version = entry.and_then(|entry| entry.split("version = \"").nth(1));
    version.and_then(|rest| rest.split('"').next()).unwrap_or_default()
}

const LIMITERS: [&str; 13] = [
    "gcra",
    "token_bucket",
    "leaky_meter",
    "interval_bucket",
    "leaky_queue",
    "fixed_window",
    "sliding_log",
    "sliding_two_counters",
    "sliding_sub_windows",
    "lockout",
    "long_quota",
    "concurrency",
    "all_or_nothing",
];
