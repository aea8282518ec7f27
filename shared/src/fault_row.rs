//! How often something failed in a row, for a log that a long fault must not flood.

use crate::time::Timestamp;
use core::time::Duration;

/// A row of failures. [`ROW_ENDS_AFTER`] without one ends it.
///
/// ```
/// use shared::{fault_row::FaultRow, time::Timestamp};
/// let mut row = FaultRow::default();
/// let lines = (1..=1_000).filter_map(|second| row.note(Timestamp::from_millis(second * 1_000)));
/// assert_eq!(lines.collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct FaultRow {
    count: u64,
    last_at: Timestamp,
}

impl FaultRow {
    /// Counts a failure at `now`; its number in the row where it deserves a line: one for each power of two.
    pub fn note(&mut self, now: Timestamp) -> Option<u64> {
        let is_first = now.since(self.last_at) >= ROW_ENDS_AFTER;
        self.count = if is_first { 1 } else { self.count.saturating_add(1) };
        self.last_at = now;
        self.count.is_power_of_two().then_some(self.count)
    }
}

/// Without a failure for so long, the next one begins a row of its own.
pub const ROW_ENDS_AFTER: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_row_is_told_from_its_first_failure() {
        let mut row = FaultRow::default();
        let at = Timestamp::from_millis;
        assert_eq!(
            [row.note(at(1_000_000)), row.note(at(1_000_001)), row.note(at(1_000_002))],
            [Some(1), Some(2), None]
        );
        assert_eq!(row.note(at(1_060_001)), Some(4), "a minute less a moment later");
        assert_eq!(row.note(at(1_120_001)), Some(1));
    }
}
