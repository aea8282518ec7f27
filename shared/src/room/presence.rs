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
    base_s: u32,
    /// By number, from `first` on.
    packed: Row<Packed>,
}

/// When the owner of a waiting number is expected to be heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    /// The second of the room's time at which they count as gone, or [`GONE`].
    due_s: u32,
    /// How long before the last moment they were told to ask, see [`Expected::asks_s`].
    early_s: u32,
    is_heard: bool,
}

/// The same in three bytes, because a line may be of millions: 18 bits for the seconds from `base_s` of [`Presence`] on, 1 the first, 0 for
/// [`GONE`]; five for how early, in steps of 2 s; the highest for who was heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed([u8; 3]);

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
        Self { due_s: newcomer_due_s(now_s, again.max(HIDDEN_TAB)), early_s, is_heard: true }
    }

    fn newcomer(due_s: u32) -> Self {
        Self { due_s, early_s: 0, is_heard: false }
    }

    /// When they were told to ask again, up to 1 s too late.
    fn asks_s(self) -> u32 {
        self.due_s.saturating_sub(ON_THE_WAY_S).saturating_sub(self.early_s)
    }

    fn packed(self, base_s: u32) -> Packed {
        let after_s = self.due_s.saturating_sub(base_s).clamp(1, AFTER_MAX_S);
        let after_s = if self.due_s == GONE { 0 } else { after_s };
        let bits = after_s | (self.early_s >> 1) << AFTER_BITS | u32::from(self.is_heard) << HEARD_BIT;
        let [low, middle, high, _] = bits.to_le_bytes();
        Packed([low, middle, high])
    }
}

impl Packed {
    fn open(self, base_s: u32) -> Expected {
        let Self([low, middle, high]) = self;
        let bits = u32::from_le_bytes([low, middle, high, 0]);
        let after_s = bits & AFTER_MAX_S;
        Expected {
            due_s: if after_s == 0 { GONE } else { base_s.saturating_add(after_s) },
            early_s: (bits >> AFTER_BITS & EARLY_MAX) << 1,
            is_heard: bits >> HEARD_BIT == 1,
        }
    }
}

/// When a buyer counts as gone who joined at `now_s`, so that the tab is seen, and was told to ask after `again`. Those of whom nothing was
/// heard yet must be those who were not to ask yet: what is learnt of them would not hold for others.
pub(super) fn newcomer_due_s(now_s: u32, again: Duration) -> u32 {
    now_s.saturating_add(second_of(again.min(AGAIN_MAX))).saturating_add(ON_THE_WAY_S)
}

impl Presence {
    pub(super) fn new(first: TicketNumber) -> Self {
        Self { first, base_s: 0, packed: Row::new() }
    }

    /// Makes the numbers from `first` to before `end` those that wait; who is new among them is due at `due_s`.
    pub(super) fn cover(&mut self, first: TicketNumber, end: TicketNumber, due_s: u32) {
        while self.first < first && self.packed.drop_first() {
            self.first = self.first.next();
        }
        self.first = self.first.max(first);
        let waiting = usize::try_from(end.0.saturating_sub(self.first.0)).unwrap_or(usize::MAX);
        let newcomer = self.pack(Expected::newcomer(due_s));
        self.packed.grow_to(waiting, newcomer);
    }

    /// When the owner of a waiting `number` was told to ask again, if anything was heard of them after the join.
    pub(super) fn asks_s(&self, number: TicketNumber) -> Option<u32> {
        self.get(number).filter(|one| one.is_heard).map(Expected::asks_s)
    }

    /// Whether the owner of a waiting `number` has left, as far as anybody can see.
    pub(super) fn is_gone(&self, number: TicketNumber) -> bool {
        self.get(number).is_some_and(|one| one.due_s == GONE)
    }

    /// Something was heard of `number`: when it was due before, [`GONE`] if its owner counted as gone; `None` where it does not wait.
    pub(super) fn hear(&mut self, number: TicketNumber, expected: Expected) -> Option<u32> {
        let was = self.get(number)?;
        self.set(number, expected);
        Some(was.due_s)
    }

    /// The owner of `number` was seen, which is no poll: when it was due before. Whoever had been heard of is expected as before, whoever
    /// had not is still a newcomer, and whoever counted as gone is `back`. (A join that is sent twice says nothing of who stays.)
    pub(super) fn see(&mut self, number: TicketNumber, due_s: u32, back: Expected) -> Option<u32> {
        let was = self.get(number)?;
        if was.due_s == GONE {
            self.set(number, back);
        } else if !was.is_heard {
            self.set(number, Expected::newcomer(due_s.max(was.due_s)));
        }
        Some(was.due_s)
    }

    /// Marks `number` as gone where it was due before `trusted_s`; true where it was not marked before.
    pub(super) fn give_up(&mut self, number: TicketNumber, trusted_s: u32) -> bool {
        let gives_up = self.get(number).is_some_and(|one| one.due_s != GONE && one.due_s < trusted_s);
        if gives_up {
            self.set(number, Expected { due_s: GONE, early_s: 0, is_heard: true });
        }
        gives_up
    }

    fn get(&self, number: TicketNumber) -> Option<Expected> {
        self.index(number).and_then(|index| self.packed.get(index)).map(|one| one.open(self.base_s))
    }

    fn set(&mut self, number: TicketNumber, expected: Expected) {
        let packed = self.pack(expected);
        if let Some(one) = self.index(number).and_then(|index| self.packed.get_mut(index)) {
            *one = packed;
        }
    }

    /// Every 36 h the seconds are counted from a later one; who was due before it is due at it.
    fn pack(&mut self, expected: Expected) -> Packed {
        if expected.due_s.saturating_sub(self.base_s) > AFTER_MAX_S {
            let base_s = expected.due_s.saturating_sub(AFTER_MAX_S >> 1);
            let mut index = 0_usize;
            while let Some(one) = self.packed.get_mut(index) {
                *one = one.open(self.base_s).packed(base_s);
                index = index.saturating_add(1);
            }
            self.base_s = base_s;
        }
        expected.packed(self.base_s)
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
const AFTER_BITS: u32 = 18;
/// Three days.
const AFTER_MAX_S: u32 = (1 << AFTER_BITS) - 1;
const EARLY_MAX: u32 = (1 << 5) - 1;
const HEARD_BIT: u32 = 23;
/// Nobody is told to ask again later than that, whatever an edge says.
const AGAIN_MAX: Duration = Duration::from_secs(3_600);
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
    fn three_bytes_tell_when_to_ask_and_when_to_give_up() {
        for (again_s, asks_s, due_s) in [
            (0, 1_001, 1_075),
            (5, 1_005, 1_075),
            (60, 1_061, 1_075),
            (61, 1_061, 1_075),
            (300, 1_300, 1_314),
            (3_600, 4_600, 4_614),
            (3_601, 4_600, 4_614),
        ] {
            let expected = Expected::again(1_000, Duration::from_secs(again_s)).packed(900).open(900);
            assert_eq!((expected.asks_s(), expected.due_s), (asks_s, due_s), "{again_s} s");
            assert!(expected.is_heard);
        }
        let newcomer = Expected::newcomer(1_020).packed(900).open(900);
        assert_eq!((newcomer.is_heard, newcomer.due_s), (false, 1_020));
        assert_eq!(Expected::newcomer(GONE).packed(900).open(900).due_s, GONE);
    }

    #[test]
    fn a_line_that_lasts_for_weeks_counts_from_a_later_second() {
        let number = TicketNumber;
        let mut presence = Presence::new(number(1));
        presence.cover(number(1), number(5), 100);
        presence.give_up(number(1), 101);
        for now_s in [AFTER_MAX_S - 75, AFTER_MAX_S - 74, 40 * AFTER_MAX_S, u32::MAX - 75] {
            let back = Expected::again(now_s, Duration::from_secs(5));
            assert!(presence.hear(number(2), back).is_some(), "{now_s}");
            assert_eq!(presence.asks_s(number(2)), Some(now_s + 5), "{now_s}");
            assert!(presence.is_gone(number(1)) && !presence.is_gone(number(3)));
            assert!(presence.asks_s(number(3)).is_none());
        }
        assert!(presence.give_up(number(3), u32::MAX), "who was due long ago still is");
        assert!(!presence.give_up(number(2), u32::MAX - 75));
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
        assert_eq!(presence.packed.get(0), None);
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
