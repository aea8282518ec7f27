//! How things stood, second by second.

use serde::Serialize;

/// One second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// The second.
    pub at_s: u32,
    /// Numbers not called yet, as the room counts them.
    pub waiting: u64,
    /// People among them who are there.
    pub present: u32,
    /// Counted sessions.
    pub sessions: u32,
    /// People really inside.
    pub inside: u32,
    /// Numbers called in this second.
    pub calls: u32,
    /// Called buyers in front of a full door.
    pub at_door: u32,
    /// Entries since the second before.
    pub entries: u32,
    /// Polls since the second before.
    pub polls: u32,
    /// The room stands still because nobody comes.
    pub standstill: bool,
}

/// Mean of `value` over the samples that `keep`; `None` where there is none.
pub(crate) fn mean(
    samples: &[Sample],
    keep: impl Fn(&Sample) -> bool,
    value: impl Fn(&Sample) -> f64,
) -> Option<f64> {
    let (sum, count) = samples
        .iter()
        .filter(|sample| keep(sample))
        .fold((0.0, 0_u32), |(sum, count), sample| (sum + value(sample), count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
