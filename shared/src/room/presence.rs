//! Who of those who wait is still there, by what was heard of them.
//!
//! A waiting buyer is told when to ask again. Who does not ask for longer than that has left, as far as anybody can see: the
//! number is called along with those before and behind it, nobody is expected to come for it, and it holds nobody up. It loses
//! nothing: whoever comes back is counted again, and has a turn like everybody else.

use super::row::Row;
use crate::ids::TicketNumber;
use core::time::Duration;

/// When each waiting number's silence becomes an absence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Presence {
    first: TicketNumber,
    /// By number, from `first` on.
    expected: Row<Expected>,
}

/// When the owner of a waiting number is expected to be heard of, in four bytes, because a line may be of millions.
///
/// The low 26 bits: the second of the room's time at which they count as gone, or [`GONE`]. The next five: how long before the last
/// moment they were told to ask, see [`Expected::asks_s`], in steps of 2 s. The highest: [`UNHEARD`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected(u32);

/// Up to when silence says something of those who are silent.
///
/// Where nothing is heard of anybody, it is the way to them that is broken, and nobody is gone. When something is heard again,
/// those who could not get through come back within a minute or so: as long as they do, nobody else is gone either.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hearing {
    /// Who was due before this second of the room's time is gone.
    trusted_s: u32,
    heard_at_s: Option<u32>,
    /// Since then something was heard again and again, and nobody has come back from a longer silence.
    steady_since_s: u32,
    lags: bool,
}

/// Seconds as [`Presence`] counts them: of the room's time, rounded down.
pub(super) fn second_of(up: Duration) -> u32 {
    u32::try_from(up.as_secs()).unwrap_or(u32::MAX)
}

impl Expected {
    /// Of a buyer who was told at `now_s` to ask again after `again`.
    pub(super) fn again(now_s: u32, again: Duration) -> Self {
        let early_s = second_of(HIDDEN_TAB.saturating_sub(again));
        let due_s = newcomer_due_s(now_s, again.max(HIDDEN_TAB)).min(DUE_MAX_S);
        Self(due_s | (early_s >> 1) << DUE_BITS)
    }

    fn newcomer(due_s: u32) -> Self {
        Self(due_s.min(DUE_MAX_S) | UNHEARD)
    }

    fn is_heard(self) -> bool {
        self.0 & UNHEARD == 0
    }

    fn due_s(self) -> u32 {
        self.0 & DUE_MAX_S
    }

    /// When they were told to ask again, up to 1 s too late.
    fn asks_s(self) -> u32 {
        let early_s = (self.0 & !UNHEARD) >> DUE_BITS << 1;
        self.due_s().saturating_sub(ON_THE_WAY_S).saturating_sub(early_s)
    }
}

/// When a buyer counts as gone who joined at `now_s`, so that the tab is seen, and was told to ask after `again`. Those of whom nothing was
/// heard yet must be those who were not to ask yet: what is learnt of them would not hold for others.
pub(super) fn newcomer_due_s(now_s: u32, again: Duration) -> u32 {
    now_s.saturating_add(second_of(again)).saturating_add(ON_THE_WAY_S)
}

impl Presence {
    pub(super) fn new(first: TicketNumber) -> Self {
        Self { first, expected: Row::new() }
    }

    /// Makes the numbers from `first` to before `end` those that wait; who is new among them is due at `due_s`.
    pub(super) fn cover(&mut self, first: TicketNumber, end: TicketNumber, due_s: u32) {
        while self.first < first && self.expected.drop_first() {
            self.first = self.first.next();
        }
        self.first = self.first.max(first);
        let waiting = usize::try_from(end.0.saturating_sub(self.first.0)).unwrap_or(usize::MAX);
        self.expected.grow_to(waiting, Expected::newcomer(due_s));
    }

    /// When the owner of a waiting `number` was told to ask again, if anything was heard of them after the join.
    pub(super) fn asks_s(&self, number: TicketNumber) -> Option<u32> {
        let expected = self.index(number).and_then(|index| self.expected.get(index))?;
        expected.is_heard().then(|| expected.asks_s())
    }

    /// Whether the owner of a waiting `number` has left, as far as anybody can see.
    pub(super) fn is_gone(&self, number: TicketNumber) -> bool {
        self.index(number).and_then(|index| self.expected.get(index)).is_some_and(|one| one.due_s() == GONE)
    }

    /// Something was heard of `number`: when it was due before, [`GONE`] if its owner counted as gone; `None` where it does not wait.
    pub(super) fn hear(&mut self, number: TicketNumber, expected: Expected) -> Option<u32> {
        let index = self.index(number)?;
        self.expected.get_mut(index).map(|one| core::mem::replace(one, expected).due_s())
    }

    /// The owner of `number` was seen, which is no poll: when it was due before. Whoever had been heard of is expected as before, whoever
    /// had not is still a newcomer, and whoever counted as gone is `back`. (A join that is sent twice says nothing of who stays.)
    pub(super) fn see(&mut self, number: TicketNumber, due_s: u32, back: Expected) -> Option<u32> {
        let index = self.index(number)?;
        let one = self.expected.get_mut(index)?;
        let was_due_s = one.due_s();
        if was_due_s == GONE {
            *one = back;
        } else if !one.is_heard() {
            *one = Expected::newcomer(due_s.max(was_due_s));
        }
        Some(was_due_s)
    }

    /// Marks `number` as gone where it was due before `trusted_s`; true where it was not marked before.
    pub(super) fn give_up(&mut self, number: TicketNumber, trusted_s: u32) -> bool {
        let Some(one) = self.index(number).and_then(|index| self.expected.get_mut(index)) else {
            return false;
        };
        let gives_up = one.due_s() != GONE && one.due_s() < trusted_s;
        if gives_up {
            *one = Expected(GONE);
        }
        gives_up
    }

    fn index(&self, number: TicketNumber) -> Option<usize> {
        usize::try_from(number.0.checked_sub(self.first.0)?).ok()
    }
}

impl Hearing {
    /// Something was heard at `now_s` of somebody who had been due at `was_due_s`.
    pub(super) fn note(&mut self, now_s: u32, was_due_s: Option<u32>) {
        let is_back = self.lags && was_due_s.is_some_and(|due| due != GONE && due < now_s);
        if is_back || self.is_silent(now_s) {
            self.steady_since_s = now_s;
        }
        self.heard_at_s = Some(now_s);
    }

    /// A tick at `now_s`: who is due before the second that is returned is gone.
    pub(super) fn tick(&mut self, now_s: u32) -> u32 {
        if self.is_silent(now_s) {
            self.lags = true;
        } else if !self.lags || now_s.saturating_sub(self.steady_since_s) >= STEADY_S {
            self.lags = false;
            self.trusted_s = now_s;
        }
        self.trusted_s
    }

    fn is_silent(&self, now_s: u32) -> bool {
        self.heard_at_s.is_none_or(|heard| now_s.saturating_sub(heard) > SILENT_S)
    }
}

/// The second of whoever counts as gone.
pub(super) const GONE: u32 = 0;
/// Nothing was heard since the join.
const UNHEARD: u32 = 1 << 31;
const DUE_BITS: u32 = 26;
/// Two years. A room that lives longer counts nobody as gone.
const DUE_MAX_S: u32 = (1 << DUE_BITS) - 1;
/// Browsers let the timers of a hidden tab run once a minute.
const HIDDEN_TAB: Duration = Duration::from_secs(61);
/// 5 s for the age of a snapshot, 2 s for a batch of polls to travel, and as much again. More than [`SILENT_S`], so that nobody is gone
/// by the silence of all.
const ON_THE_WAY_S: u32 = 14;
/// After so long without a word of anybody, the way to the buyers is taken to be broken.
const SILENT_S: u32 = 10;
/// So long after everybody's silence something must have been heard without anybody coming back from it.
const STEADY_S: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// The first second at which one is gone who was due at `due_s`, when something is heard of others at `heard`.
    fn gone_at(due_s: u32, heard: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        let mut hearing = Hearing::default();
        (1..1_000).find(|&now_s| {
            if let Some(was_due_s) = heard(now_s) {
                hearing.note(now_s, Some(was_due_s));
            }
            hearing.tick(now_s) > due_s
        })
    }

    #[test]
    fn the_silent_are_gone_when_others_are_heard() {
        assert_eq!(gone_at(100, |now_s| Some(now_s + 75)), Some(101));
        assert_eq!(gone_at(100, |_| None), None, "nobody is heard: nobody is gone");
    }

    /// A line of people who left, and one who comes after ten minutes.
    #[test]
    fn one_who_is_heard_is_enough_to_know_that_the_others_are_gone() {
        let arrival = |now_s| (now_s >= 600 && (now_s - 600) % 5 == 0).then_some(now_s + 75);
        assert_eq!(gone_at(75, arrival), Some(605));
    }

    #[test]
    fn after_a_loss_of_the_network_nobody_is_gone_while_others_still_come_back() {
        let heard = |now_s: u32| match now_s {
            ..100 | 281.. => Some(now_s + 75),
            220..=280 => Some(120),
            _ => None,
        };
        assert_eq!(gone_at(120, heard), Some(285));
    }

    #[test]
    fn four_bytes_tell_when_to_ask_and_when_to_give_up() {
        for (again_s, asks_s, due_s) in [
            (0, 1_001, 1_075),
            (5, 1_005, 1_075),
            (60, 1_061, 1_075),
            (61, 1_061, 1_075),
            (300, 1_300, 1_314),
        ] {
            let expected = Expected::again(1_000, Duration::from_secs(again_s));
            assert_eq!((expected.asks_s(), expected.due_s()), (asks_s, due_s), "{again_s} s");
            assert!(expected.is_heard());
        }
        let old = Expected::again(u32::MAX, Duration::MAX);
        assert_eq!((old.is_heard(), old.due_s()), (true, DUE_MAX_S), "after two years nobody is gone");
        let newcomer = Expected::newcomer(u32::MAX);
        assert_eq!((newcomer.is_heard(), newcomer.due_s()), (false, DUE_MAX_S));
    }

    #[test]
    fn numbers_come_at_the_end_and_go_at_the_front() {
        let number = TicketNumber;
        let mut presence = Presence::new(number(1));
        presence.cover(number(1), number(4), 50);
        assert!(!presence.give_up(number(2), 50));
        assert!(presence.give_up(number(2), 51));
        assert!(!presence.give_up(number(2), 99), "once");
        assert!(presence.is_gone(number(2)));
        presence.cover(number(2), number(6), 90);
        assert!(presence.is_gone(number(2)));
        let again = Expected::again(20, Duration::from_secs(30));
        assert_eq!(presence.hear(number(2), again), Some(GONE));
        assert_eq!((presence.is_gone(number(2)), presence.hear(number(1), again)), (false, None));
        presence.cover(number(9), number(9), 90);
        assert_eq!(presence.expected.get(0), None);
        presence.cover(number(9), number(10), 90);
        assert_eq!(presence.asks_s(number(9)), None);
        assert_eq!(presence.hear(number(9), again), Some(90));
        assert_eq!(presence.asks_s(number(9)), Some(51));
    }

    #[test]
    fn who_is_seen_without_asking_is_no_more_there_than_before() {
        let (newcomer, other) = (TicketNumber(1), TicketNumber(2));
        let back = Expected::again(100, Duration::from_secs(90));
        let mut presence = Presence::new(newcomer);
        presence.cover(newcomer, TicketNumber(3), 50);
        presence.hear(other, Expected::again(20, Duration::from_secs(5)));
        let asks_s = presence.asks_s(other);
        assert_eq!(presence.see(newcomer, 80, back), Some(50));
        assert_eq!(presence.asks_s(newcomer), None, "a join that was sent twice");
        assert!(!presence.give_up(newcomer, 80), "still due, and later");
        assert!(presence.see(other, 200, back).is_some() && presence.asks_s(other) == asks_s);
        assert!(presence.give_up(newcomer, 81));
        assert_eq!(presence.see(newcomer, 200, back), Some(GONE));
        assert!(presence.asks_s(newcomer).is_some(), "who comes back is there");
    }
}
