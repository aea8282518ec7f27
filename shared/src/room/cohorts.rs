//! Which numbers were called when, and how many of them have come to the door.

use super::{clock::RoomTime, delays::DELAY_MAX_S};
use crate::ids::TicketNumber;
use core::time::Duration;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Numbers called in one tick, or later joined. It carries the youngest age among them, so that no turn ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cohort {
    /// When they were called.
    pub called_at: RoomTime,
    /// The highest number among them.
    pub last: TicketNumber,
    /// Those who had been heard of after their joins, so that they were there when called.
    pub heard: Part,
    /// Those of whom nothing had been heard yet.
    pub unheard: Part,
}

/// Part of a cohort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// How many were called, without those who had abandoned their places and those who were gone as far as anybody could see.
    pub called: u32,
    /// How many of them have come to the door so far.
    pub come: u32,
}

/// The called numbers of one lane, oldest first: at most [`FINE_LIMIT`] within `turn_grace` and [`LATE_COHORTS`] after it.
///
/// Ages are counted in the room's redeemable time, so nothing ages while no redemption could succeed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cohorts {
    fine: VecDeque<Cohort>,
    late: VecDeque<Cohort>,
    turn_end: TicketNumber,
    expired: TicketNumber,
}

/// Cohorts kept inside `turn_grace`: one for each tick while they teach something, later at least one for each `turn_grace` / 300.
pub(super) const FINE_COHORTS: u32 = 300;
/// Cohorts kept between once and [`EXPIRY_FACTOR`] times `turn_grace`.
pub(super) const LATE_COHORTS: usize = 12;
/// After this many times `turn_grace` a called ticket is void.
pub(super) const EXPIRY_FACTOR: u32 = 10;

/// How far the turn of a called number has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnAge {
    /// Inside `turn_grace`: full right.
    InTime,
    /// Past `turn_grace`.
    Late,
    /// Past ten times `turn_grace`.
    Expired,
}

impl Cohort {
    /// Nobody yet, called at a moment with numbers up to `last`.
    pub(super) fn new(called_at: RoomTime, last: TicketNumber) -> Self {
        Self { called_at, last, heard: Part::default(), unheard: Part::default() }
    }

    /// Those who had been heard of, or the others.
    pub fn part(&self, heard: bool) -> Part {
        if heard { self.heard } else { self.unheard }
    }

    /// How many of them have not come yet.
    pub fn missing(&self) -> u32 {
        let missing = |part: Part| part.called.saturating_sub(part.come);
        missing(self.heard).saturating_add(missing(self.unheard))
    }

    fn add(&mut self, other: Self) {
        self.heard.add(other.heard);
        self.unheard.add(other.unheard);
    }
}

impl Part {
    fn add(&mut self, other: Self) {
        self.called = self.called.saturating_add(other.called);
        self.come = self.come.saturating_add(other.come);
    }
}

impl Cohorts {
    /// Notes a call: one cohort for each tick.
    pub(super) fn push(&mut self, called: Cohort, turn_grace: Duration) {
        let at = called.called_at;
        match self.fine.back_mut() {
            Some(newest) if newest.called_at.up == at.up => {
                newest.last = called.last;
                newest.add(called);
            }
            _ => self.fine.push_back(called),
        }
        if self.fine.len() > FINE_LIMIT {
            self.join_neighbours(at.up, turn_grace.checked_div(FINE_COHORTS).unwrap_or_default());
        }
        self.age(at.redeemable, turn_grace);
    }

    /// Makes one of the two oldest neighbours from whom nothing is learnt any more and whose turns run out within one slot of `span`.
    ///
    /// There are such neighbours whenever there are more cohorts than slots and seconds of learning: while the door is full, calls go
    /// on and turns stand.
    fn join_neighbours(&mut self, up: Duration, span: Duration) {
        let joins = |(older, younger): (&Cohort, &Cohort)| {
            let is_learnt = up.saturating_sub(younger.called_at.up).as_secs() >= DELAY_MAX_S;
            is_learnt && younger.called_at.redeemable < slot_end(older.called_at.redeemable, span)
        };
        let Some(at) = self.fine.iter().zip(self.fine.iter().skip(1)).position(joins) else { return };
        let Some(older) = self.fine.remove(at) else { return };
        if let Some(younger) = self.fine.get_mut(at) {
            younger.add(older);
        }
    }

    /// Moves numbers whose turn has run out at `redeemable`.
    pub(super) fn age(&mut self, redeemable: Duration, turn_grace: Duration) {
        while let Some(oldest) = self.fine.front().copied() {
            if redeemable.saturating_sub(oldest.called_at.redeemable) <= turn_grace
                && self.fine.len() <= FINE_LIMIT
            {
                break;
            }
            self.fine.pop_front();
            self.turn_end = oldest.last;
            self.push_late(oldest, turn_grace);
        }
        let expiry = turn_grace.saturating_mul(EXPIRY_FACTOR);
        while let Some(oldest) = self.late.front().copied() {
            if redeemable.saturating_sub(oldest.called_at.redeemable) <= expiry
                && self.late.len() <= LATE_COHORTS
            {
                break;
            }
            self.late.pop_front();
            self.expired = oldest.last;
        }
    }

    fn push_late(&mut self, cohort: Cohort, turn_grace: Duration) {
        match self.late.back_mut() {
            Some(newest)
                if cohort.called_at.redeemable < slot_end(newest.called_at.redeemable, turn_grace) =>
            {
                newest.called_at = cohort.called_at;
                newest.last = cohort.last;
                newest.add(cohort);
            }
            _ => self.late.push_back(cohort),
        }
    }

    /// Notes that the owner of `number` has come to the door for the first time, heard of or not
    /// when it was called; says when that was.
    ///
    /// `None` where its turn is over, and where everybody has come who was expected: late arrivals teach nothing, nor do those who were
    /// called when nothing had been heard of them for long.
    pub(super) fn note_come(&mut self, number: TicketNumber, heard: bool) -> Option<RoomTime> {
        let at = self.fine.partition_point(|cohort| cohort.last < number);
        let cohort = self.fine.get_mut(at)?;
        let part = if heard { &mut cohort.heard } else { &mut cohort.unheard };
        if part.come >= part.called {
            return None;
        }
        part.come = part.come.saturating_add(1);
        Some(cohort.called_at)
    }

    /// How far the turn of a called `number` has run.
    pub(super) fn turn_age(&self, number: TicketNumber) -> TurnAge {
        if number > self.turn_end {
            TurnAge::InTime
        } else if number > self.expired {
            TurnAge::Late
        } else {
            TurnAge::Expired
        }
    }

    /// Numbers up to this one are past their `turn_grace`.
    pub(super) fn turn_end_number(&self) -> TicketNumber {
        self.turn_end
    }

    /// The cohorts inside `turn_grace`, oldest first.
    pub(super) fn in_time(&self) -> impl DoubleEndedIterator<Item = &Cohort> {
        self.fine.iter()
    }
}

/// One for each second of learning, one for each slot, and those at their edges.
const FINE_LIMIT: usize = 604;

/// End of the slot of length `span` in which `called_at` lies.
fn slot_end(called_at: Duration, span: Duration) -> Duration {
    let span_us = span.as_micros().max(1);
    let slot = called_at.as_micros().checked_div(span_us).unwrap_or(0).saturating_add(1);
    Duration::from_micros(u64::try_from(slot.saturating_mul(span_us)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(300);

    fn at(second: u64) -> RoomTime {
        let time = Duration::from_secs(second);
        RoomTime { up: time, redeemable: time }
    }

    fn called(at: RoomTime, last: TicketNumber, called: u32) -> Cohort {
        Cohort { unheard: Part { called, come: 0 }, ..Cohort::new(at, last) }
    }

    fn cohorts(seconds: std::ops::Range<u64>) -> Cohorts {
        let mut cohorts = Cohorts::default();
        for second in seconds {
            let last = TicketNumber(second.saturating_add(1).saturating_mul(10));
            cohorts.push(called(at(second), last, 10), GRACE);
        }
        cohorts
    }

    #[test]
    fn a_turn_is_full_to_its_last_microsecond_then_late_then_expired() {
        let number = TicketNumber(10);
        let mut cohorts = cohorts(0..1);
        let one = Duration::from_micros(1);
        for (redeemable, want) in [
            (GRACE, TurnAge::InTime),
            (GRACE + one, TurnAge::Late),
            (GRACE * 10, TurnAge::Late),
            (GRACE * 10 + one, TurnAge::Expired),
        ] {
            cohorts.age(redeemable, GRACE);
            assert_eq!(cohorts.turn_age(number), want, "at {redeemable:?}");
        }
    }

    #[test]
    fn memory_is_bounded_over_a_long_sale() {
        let cohorts = cohorts(0..20_000);
        assert!(cohorts.fine.len() <= FINE_LIMIT, "{}", cohorts.fine.len());
        assert!(cohorts.late.len() <= LATE_COHORTS, "{}", cohorts.late.len());
        assert_eq!(cohorts.turn_age(TicketNumber(200_000)), TurnAge::InTime);
        assert_eq!(cohorts.turn_age(TicketNumber(10)), TurnAge::Expired);
    }

    #[test]
    fn nobody_expires_before_ten_times_the_grace() {
        let mut cohorts = Cohorts::default();
        for second in 0..6_000_u64 {
            cohorts.push(called(at(second), TicketNumber(second + 1), 1), GRACE);
            let youngest_expired_call = second.checked_sub(3_000);
            for called_second in [0, 100, 299, 300, 301, 1_000] {
                if youngest_expired_call.is_none_or(|limit| called_second >= limit) && called_second <= second
                {
                    assert_ne!(cohorts.turn_age(TicketNumber(called_second + 1)), TurnAge::Expired);
                }
            }
        }
    }

    /// Once, calls made while the door was full all went into one cohort, as young as the newest of them, so the law saw delays
    /// too short and expected too many.
    #[test]
    fn calls_before_a_full_door_keep_their_own_ages_and_their_turns() {
        let mut cohorts = Cohorts::default();
        let stands = |second: u64| RoomTime { redeemable: Duration::from_secs(second / 10), ..at(second) };
        for second in 0..2_500 {
            cohorts.push(called(stands(second), TicketNumber(second + 1), 1), GRACE);
        }
        assert_eq!(cohorts.fine.len(), FINE_LIMIT);
        assert_eq!(
            cohorts.in_time().map(|cohort| cohort.unheard.called).sum::<u32>(),
            2_500,
            "nobody is forgotten"
        );
        let ages = cohorts.in_time().rev().take(300).map(|cohort| cohort.called_at.up.as_secs());
        assert!(ages.eq((2_200..2_500).rev()), "whoever may still come keeps their second");
        assert_eq!(cohorts.turn_age(TicketNumber(1)), TurnAge::InTime, "250 s of its turn are over");
    }

    #[test]
    fn who_comes_is_counted_in_the_right_cohort() {
        let mut cohorts = cohorts(0..3);
        let mut called_at = |number| cohorts.note_come(TicketNumber(number), false);
        assert_eq!(called_at(11), Some(at(1)));
        assert_eq!(called_at(20), Some(at(1)));
        assert_eq!(called_at(31), None);
        let come: Vec<u32> = cohorts.in_time().map(|cohort| cohort.unheard.come).collect();
        assert_eq!(come, [0, 2, 0]);
    }
}
