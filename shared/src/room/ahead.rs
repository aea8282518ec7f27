//! How many of those in front are still there, as everybody may know it: the line in up to 64 stretches of numbers.
//!
//! The share of a stretch never rises, and numbers only leave the line, so no position rises that is computed from it.

use crate::ids::TicketNumber;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The stretches of one lane, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ahead {
    closed: VecDeque<Stretch>,
    /// Behind the last stretch: numbers from here on count as there.
    open_from: TicketNumber,
}

/// Numbers from `first` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stretch {
    pub(super) first: TicketNumber,
    pub(super) end: TicketNumber,
    /// So many of 1,000 are still there at most, rounded up.
    permille: u16,
}

/// Most stretches of a lane.
pub(super) const STRETCHES_MAX: usize = 64;
/// A stretch is closed when it holds one in so many of those who wait.
const LINE_IN: u64 = 32;
const ALL: u16 = 1_000;

impl Ahead {
    /// Nothing waits before `first`. True where the table has changed.
    pub(super) fn pass(&mut self, first: TicketNumber) -> bool {
        let before = (self.closed.len(), self.open_from);
        while self.closed.front().is_some_and(|stretch| stretch.end <= first) {
            self.closed.pop_front();
        }
        self.open_from = self.open_from.max(first);
        before != (self.closed.len(), self.open_from)
    }

    /// Closes stretches up to `end`, the number of the next join. True where the table has changed.
    pub(super) fn close_up_to(&mut self, end: TicketNumber, waiting: u64) -> bool {
        let open = end.0.saturating_sub(self.open_from.0);
        let width = waiting.max(open).checked_div(LINE_IN).unwrap_or(0).max(1);
        let mut has_changed = false;
        while end.0.saturating_sub(self.open_from.0) >= width {
            let first = self.open_from;
            self.open_from = TicketNumber(first.0.saturating_add(width));
            self.closed.push_back(Stretch { first, end: self.open_from, permille: ALL });
            has_changed = true;
            if self.closed.len() > STRETCHES_MAX {
                self.join_two();
            }
        }
        has_changed
    }

    /// Numbers from here on are in no stretch yet and count as there.
    pub(super) fn open_from(&self) -> TicketNumber {
        self.open_from
    }

    pub(super) fn stretches(&self) -> impl Iterator<Item = Stretch> {
        self.closed.iter().copied()
    }

    /// Notes that of `numbers` in a stretch so many are there. True where its share has fallen.
    pub(super) fn note(&mut self, first: TicketNumber, there: u64, numbers: u64) -> bool {
        let at = self.closed.partition_point(|stretch| stretch.first < first);
        let Some(stretch) = self.closed.get_mut(at) else { return false };
        let share = there.saturating_mul(u64::from(ALL)).div_ceil(numbers.max(1));
        let share = u16::try_from(share).unwrap_or(ALL);
        let falls = share < stretch.permille;
        stretch.permille = stretch.permille.min(share);
        falls
    }

    /// The shares as a snapshot tells them: each from its number on, and all who wait before the first.
    pub(super) fn shares(&self) -> Vec<(TicketNumber, u16)> {
        let mut shares = Vec::new();
        let mut last = ALL;
        let open = Stretch { first: self.open_from, end: self.open_from, permille: ALL };
        for stretch in self.stretches().chain([open]) {
            if stretch.permille != last {
                shares.push((stretch.first, stretch.permille));
                last = stretch.permille;
            }
        }
        shares
    }

    /// Makes one of the two neighbours that lose least by it: both get the lower share, so that nobody's position rises.
    fn join_two(&mut self) {
        let lost = |at: usize| {
            let (one, other) = (self.closed.get(at)?, self.closed.get(at.saturating_add(1))?);
            let higher = if one.permille > other.permille { one } else { other };
            let numbers = higher.end.0.saturating_sub(higher.first.0);
            let length = other.end.0.saturating_sub(one.first.0);
            // Of those that lose nothing, the shortest: the table stays even.
            Some((numbers.saturating_mul(u64::from(one.permille.abs_diff(other.permille))), length))
        };
        let pairs = 0..self.closed.len().saturating_sub(1);
        let Some(at) = pairs.min_by_key(|&at| lost(at)) else { return };
        let Some(other) = self.closed.remove(at.saturating_add(1)) else { return };
        if let Some(one) = self.closed.get_mut(at) {
            one.end = other.end;
            one.permille = one.permille.min(other.permille);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_line_is_told_to_the_person() {
        let mut ahead = Ahead::default();
        ahead.pass(TicketNumber(1));
        ahead.close_up_to(TicketNumber(6), 5);
        assert!(ahead.note(TicketNumber(2), 0, 1));
        assert!(ahead.note(TicketNumber(3), 0, 1));
        assert_eq!(ahead.shares(), [(TicketNumber(2), 0), (TicketNumber(4), 1_000)]);
        ahead.pass(TicketNumber(3));
        assert_eq!(ahead.shares(), [(TicketNumber(3), 0), (TicketNumber(4), 1_000)]);
    }

    #[test]
    fn shares_round_up_and_never_rise() {
        let mut ahead = Ahead::default();
        ahead.pass(TicketNumber(1));
        ahead.close_up_to(TicketNumber(3_201), 3_200);
        assert!(ahead.note(TicketNumber(101), 1, 100));
        assert_eq!(ahead.shares(), [(TicketNumber(101), 10), (TicketNumber(201), 1_000)]);
        assert!(!ahead.note(TicketNumber(101), 100, 100));
        assert!(ahead.note(TicketNumber(101), 1, 112), "less than 1 % now");
    }

    #[test]
    fn a_table_stays_bounded_and_no_share_rises_when_two_become_one() {
        let mut ahead = Ahead::default();
        ahead.pass(TicketNumber(1));
        for number in 2..=400_u64 {
            let before = ahead.clone();
            ahead.close_up_to(TicketNumber(number), 20);
            ahead.note(TicketNumber(number - 1), number % 2, 1);
            assert!(ahead.closed.len() <= STRETCHES_MAX);
            for old in before.stretches() {
                let new = ahead.stretches().find(|new| (new.first..new.end).contains(&old.first)).unwrap();
                assert!(new.permille <= old.permille);
            }
        }
    }
}
