//! How late those who were called lately may still ask.

use super::delays::{DELAY_MAX_S, PRIOR_S};
use std::collections::VecDeque;

/// Of those who were called and had been heard of: the latest moments at which they were told to ask again.
///
/// Whoever was told to ask in a minute and is called in a first fill is awaited for that minute, and nobody else afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asks {
    /// Who was called when, and how long after it they ask; the latter falls, and is passed over when all have asked. At most one for each
    /// second in which they may.
    latest: VecDeque<Ask>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ask {
    called_s: u32,
    after_s: u64,
}

/// What was told is kept by all of them so long after it: the way, and a snapshot's age.
const LATE_BY_S: u64 = PRIOR_S;

impl Asks {
    /// Of those called at `called_s` the last is to ask at `asks_s`, both in seconds of the room's time.
    pub(super) fn note(&mut self, called_s: u32, asks_s: u32) {
        let after_s = u64::from(asks_s.saturating_sub(called_s)).min(DELAY_MAX_S);
        self.latest.retain(|ask| ask.is_open(called_s) && ask.after_s > after_s);
        self.latest.push_back(Ask { called_s, after_s });
    }

    /// Of those who may not have asked yet at `now_s`, nobody was told to ask later than so many seconds after the call; 0 where all have.
    pub(super) fn after_s(&self, now_s: u32) -> u64 {
        self.latest.iter().find(|ask| ask.is_open(now_s)).map_or(0, |ask| ask.after_s)
    }
}

impl Ask {
    /// Whether some who were called then may still have to ask.
    fn is_open(self, now_s: u32) -> bool {
        u64::from(now_s.saturating_sub(self.called_s)) <= self.after_s.saturating_add(LATE_BY_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Once, one buyer who was told to ask late made everybody awaited for as long, until the process ended.
    #[test]
    fn a_late_one_is_awaited_until_they_have_asked_and_no_longer() {
        let mut asks = Asks::default();
        asks.note(100, 190);
        asks.note(130, 136);
        assert_eq!([130, 202, 203].map(|now_s| asks.after_s(now_s)), [90, 90, 0]);
        asks.note(198, 204);
        assert_eq!([198, 202, 203, 216, 217].map(|now_s| asks.after_s(now_s)), [90, 90, 6, 6, 0]);
    }

    #[test]
    fn whoever_is_called_later_and_asks_later_stands_for_those_before() {
        let mut asks = Asks::default();
        (100..1_000).for_each(|second| asks.note(second, second + 20));
        assert_eq!(asks.latest.len(), 1);
        assert_eq!(asks.after_s(1_000), 20);
    }

    #[test]
    fn nobody_is_awaited_beyond_the_longest_delay_and_memory_is_bounded() {
        let most = |asks_s| {
            let mut asks = Asks::default();
            asks.note(100, asks_s);
            asks.after_s(100)
        };
        assert_eq!([399, 400, 401, u32::MAX].map(most), [299, 300, 300, 300]);
        let mut asks = Asks::default();
        let lengths = (0..2_000).map(|second| {
            asks.note(second, 1_000);
            asks.latest.len()
        });
        assert_eq!(lengths.max(), Some(301), "one for each delay from 0 to 300 s");
    }
}
