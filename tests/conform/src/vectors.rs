//! The suite's own vectors, and the reading of files of them.

use crate::vector::Vector;
use anyhow::{Context, Result};
use serde::Deserialize;

/// The files of the suite.
pub const FILES: [(&str, &str); 14] = [
    ("limiters.jsonl", include_str!("../vectors/limiters.jsonl")),
    ("gcra.jsonl", include_str!("../vectors/gcra.jsonl")),
    ("interval_bucket.jsonl", include_str!("../vectors/interval_bucket.jsonl")),
    ("leaky_queue.jsonl", include_str!("../vectors/leaky_queue.jsonl")),
    ("fixed_window.jsonl", include_str!("../vectors/fixed_window.jsonl")),
    ("sliding_log.jsonl", include_str!("../vectors/sliding_log.jsonl")),
    ("sliding_two_counters.jsonl", include_str!("../vectors/sliding_two_counters.jsonl")),
    ("sliding_sub_windows.jsonl", include_str!("../vectors/sliding_sub_windows.jsonl")),
    ("lockout.jsonl", include_str!("../vectors/lockout.jsonl")),
    ("long_quota.jsonl", include_str!("../vectors/long_quota.jsonl")),
    ("long_quota_zones.jsonl", include_str!("../vectors/long_quota_zones.jsonl")),
    ("concurrency.jsonl", include_str!("../vectors/concurrency.jsonl")),
    ("set_policy.jsonl", include_str!("../vectors/set_policy.jsonl")),
    ("all_or_nothing.jsonl", include_str!("../vectors/all_or_nothing.jsonl")),
];

/// What a vector may be about.
pub struct Concern {
    pub name: &'static str,
    /// The promise that is broken where such a vector fails.
    pub promise: &'static str,
    /// The fields that tell whether it is kept; what else is wrong is wrong beside it.
    pub fields: &'static [&'static str],
}

/// Every concern, in the order of the matrix.
pub const CONCERNS: [Concern; 15] = [
    concern("refusal", "a refused request takes nothing", &["ok", "remaining"]),
    concern("bound", "no more passes than is stated, and no less", &["ok"]),
    concern("wait", "the wait is exact, from both sides", &["ok", "retry_after_us", "retry_after_s"]),
    concern(
        "never",
        "what can never pass is told apart from what must wait",
        &["ok", "remaining", "retry_after_us"],
    ),
    concern("peek", "looking takes nothing", &["ok", "remaining", "delay_us", "locked"]),
    concern("refund", "what is given back was taken, and still counts", &["ok", "remaining"]),
    concern("clock", "a clock that steps moves no key back", &["ok", "remaining"]),
    concern("numbers", "no drift, no lost digit", &["ok", "remaining"]),
    concern("beyond_2_53", "numbers up to 2^64 - 1", &["ok", "remaining"]),
    concern("layers", "several limits at once: all take, or none", &["ok", "bound_by"]),
    concern("change", "policies that change while they count", &["ok", "remaining"]),
    concern("lock", "a lock begins and ends when it should", &["ok", "locked", "retry_after_us"]),
    concern("queue", "who is held, and for how long", &["ok", "delay_us"]),
    concern("permits", "at most so many at once", &["ok", "remaining"]),
    concern("calendar", "days and months of a zone", &["ok", "reset_after_us"]),
];

const fn concern(name: &'static str, promise: &'static str, fields: &'static [&'static str]) -> Concern {
    Concern { name, promise, fields }
}

/// Whether a vector of this concern is about `field`; one without a concern is about all of them.
pub fn is_about(concern: Option<&str>, field: &str) -> bool {
    let known = CONCERNS.iter().find(|known| Some(known.name) == concern);
    known.is_none_or(|known| known.fields.contains(&field))
}

/// What went wrong in some limiter, and what is right.
#[derive(Clone, Debug, Deserialize)]
pub struct Fault {
    pub id: String,
    pub wrong: String,
    pub right: String,
}

/// Every vector of the suite, in the order of its files.
pub fn suite() -> Vec<Vector> {
    FILES.iter().flat_map(|(file, lines)| read(file, lines)).collect()
}

/// The vectors of one file of JSON lines; empty lines are skipped.
pub fn read(file: &str, lines: &str) -> Vec<Vector> {
    let rows = lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    rows.map(|(index, line)| Vector::read(&format!("{file}, line {}", index + 1), line)).collect()
}

/// The faults that vectors name.
pub fn faults() -> Result<Vec<Fault>> {
    let rows = include_str!("../vectors/faults.jsonl").lines();
    rows.map(|line| serde_json::from_str(line).with_context(|| format!("not a fault: {line}"))).collect()
}
