//! The limiters of `shared`, driven in this process: natively, and in WebAssembly where this crate is compiled to it.

pub mod charges;
mod layers;
mod one;

use crate::reply::{Answer, Reply};
use crate::vector::{Call, Case, Fields};
use serde_json::{Map, Value, json};
use shared::http::ratelimit::retry_after_s;
use shared::limiter::compact::CompactLockout;
use shared::limiter::concurrency::Holder;
use shared::limiter::{Decision, Inheritance, Policy, PolicySettings};
use shared::time::{Timestamp, micros};
use std::time::Duration;

/// What `shared` says to a case.
pub fn answer(case: &Case) -> Reply {
    let answers = match case.limiter.as_str() {
        "all_or_nothing" => layers::answers(case),
        limiter if crate::vector::LIMITERS.contains(&limiter) => one::answers(case),
        limiter => return Reply::UnknownLimiter(limiter.to_owned()),
    };
    answers.map_or_else(Reply::Broken, Reply::Answers)
}

/// The policy of these numbers, as the settings spell them; a lockout may be in its compact form, and a permit without a
/// life is held for ever.
///
/// # Errors
/// A reason, where there is no such policy.
pub fn policy_of(limiter: &str, fields: &Fields) -> Result<Policy, String> {
    let mut numbers = fields.to_map();
    numbers.remove("limiter");
    if let Some(compact) = numbers.get("compact").and_then(Value::as_str) {
        let compact: CompactLockout = compact.parse().map_err(|error| format!("{compact}: {error}"))?;
        return compact.policy().map(Policy::Lockout).map_err(|error| error.to_string());
    }
    if limiter == "concurrency" {
        numbers.entry("life_us").or_insert(json!(Timestamp::MAX.as_micros()));
    }
    let settings = serde_json::from_value::<PolicySettings>(json!({ limiter: numbers }));
    settings
        .map_err(|error| error.to_string())?
        .try_into()
        .map_err(|error: shared::limiter::PolicyError| error.to_string())
}

/// How a key goes on under a changed policy.
///
/// # Errors
/// A reason, where there is no such way.
pub fn inheritance_of(call: &Call) -> Result<Inheritance, String> {
    match &call.inherit {
        None => Ok(Inheritance::default()),
        Some(word) => serde_json::from_value(Value::from(word.as_str())).map_err(|error| error.to_string()),
    }
}

/// The holder of this name, as every home of the suite spells it: its first 16 bytes, filled up with zeros.
pub fn holder_of(name: &str) -> Holder {
    let mut bytes = [0; 16];
    for (byte, letter) in bytes.iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    Holder(bytes)
}

/// The fields of an answer, but for those that belong to one algorithm only.
pub fn told(decision: &Decision) -> Answer {
    let mut answer = Map::new();
    answer.insert("ok".to_owned(), decision.is_allowed().into());
    answer.insert("remaining".to_owned(), decision.remaining().into());
    answer.insert("reset_after_us".to_owned(), micros(decision.reset_after()).into());
    tell_wait(&mut answer, decision.retry_after(), decision.is_allowed());
    let delay = match *decision {
        Decision::Allowed { delay, .. } => micros(delay).into(),
        Decision::Denied { .. } => Value::Null,
    };
    answer.insert("delay_us".to_owned(), delay);
    answer
}

/// The wait, and the whole seconds of it that `Retry-After` says on a refusal.
fn tell_wait(answer: &mut Answer, wait: Option<Duration>, passes: bool) {
    answer.insert("retry_after_us".to_owned(), wait.map_or(Value::Null, |wait| micros(wait).into()));
    let seconds = wait.filter(|_| !passes).map_or(Value::Null, |wait| retry_after_s(wait).into());
    answer.insert("retry_after_s".to_owned(), seconds);
}
