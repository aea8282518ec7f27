//! One ordered class inside a room: its numbers, who was called, which numbers are spent.

use super::{
    CallBound,
    ahead::{Ahead, Stretch},
    asks::Asks,
    clock::RoomTime,
    cohorts::{Cohort, Cohorts, TurnAge},
    delays::ShowUp,
    line::Line,
    presence::{Expected, GONE, Presence, second_of},
    spent::SpentBits,
};
use crate::{ids::TicketNumber, time::Timestamp};
use core::time::Duration;

/// Fewest numbers reserved durably ahead of use.
pub(super) const RESERVE_MIN: u64 = 64;
/// Most numbers reserved durably ahead of use: a crash burns at most this many.
pub(super) const RESERVE_MAX: u64 = 65_536;

/// At least so many numbers are looked through in one tick, so the whole of a line of a million within fifteen.
const LOOKS_AT: u64 = 65_536;

/// So many of those who are next say how the next are, among at most so many numbers.
const LOOKS_AHEAD: u64 = 256;
const LOOKS_PAST: usize = 4_096;

/// A lane's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) line: Line,
    pub(super) spent: SpentBits,
    pub(super) ahead: Ahead,
    presence: Presence,
    /// Numbers whose owners had been heard of when they were called. A restart forgets them, and takes them for the others.
    heard_when_called: SpentBits,
    /// Numbers not called yet whose owners are there.
    waiting: u64,
    joins_since_tick: u64,
    /// The stretch to look through next.
    looks_from: TicketNumber,
    asks: Asks,
}

/// What became of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Waiting,
    Called(TurnAge),
    Spent,
}

impl Lane {
    pub(super) fn new() -> Self {
        let first = TicketNumber(1);
        let line = Line {
            next_number: first,
            reserved_until: first,
            doubtful: (first, first),
            serving_number: TicketNumber(0),
            moved_at: Timestamp::default(),
            cohorts: Cohorts::default(),
            show_up: ShowUp::default(),
            come_total: 0,
            learnt_until: Duration::ZERO,
            learns_from: Duration::ZERO,
        };
        Self {
            line,
            spent: SpentBits::default(),
            ahead: Ahead::default(),
            presence: Presence::new(first),
            heard_when_called: SpentBits::default(),
            waiting: 0,
            joins_since_tick: 0,
            looks_from: first,
            asks: Asks::default(),
        }
    }

    /// Resumes after a crash: what was reserved may be in buyers' hands, so numbering goes on behind it.
    pub(super) fn recover(&mut self, line: Line, spent: SpentBits, ahead: Ahead, due_s: u32) {
        self.line = line;
        self.spent = spent;
        self.ahead = ahead;
        if self.line.next_number < self.line.reserved_until {
            self.line.doubtful = (self.line.next_number, self.line.reserved_until);
            self.line.next_number = self.line.reserved_until;
        }
        let uncalled = self.line.serving_number.next().0..self.line.next_number.0;
        let waiting = uncalled.filter(|&number| self.counts(TicketNumber(number))).count();
        self.waiting = u64::try_from(waiting).unwrap_or(u64::MAX);
        self.cover(due_s);
    }

    /// Burns the numbers behind the ones that are doubtful after a recovery, as many again.
    pub(super) fn burn_margin(&mut self) {
        let next = self.line.next_number;
        self.burn(next.0.saturating_sub(self.doubtful_from().0).clamp(RESERVE_MIN, RESERVE_MAX));
    }

    /// Burns the next `count` numbers. They are doubtful, as those behind which they follow.
    pub(super) fn burn(&mut self, count: u64) {
        let resumed = self.line.next_number.0.saturating_add(count).min(TicketNumber::MAX.0);
        self.line.doubtful = (self.doubtful_from(), TicketNumber(resumed));
        self.line.next_number = TicketNumber(resumed);
        self.line.reserved_until = self.line.reserved_until.max(self.line.next_number);
        self.cover(0);
    }

    /// The first of the numbers before the next one that a recovery has burned; the next one where there are none.
    fn doubtful_from(&self) -> TicketNumber {
        let (from, until) = self.line.doubtful;
        if until == self.line.next_number { from } else { self.line.next_number }
    }

    /// The next number, whose owner is told to ask again before `due_s`, and whether it had to be reserved first; `None` when the lane
    /// has given out all it can.
    pub(super) fn issue(&mut self, due_s: u32) -> Option<(TicketNumber, bool)> {
        let number = self.line.next_number;
        if number >= TicketNumber::MAX {
            return None;
        }
        let reserved = number >= self.line.reserved_until;
        if reserved {
            let ahead = self.joins_since_tick.clamp(RESERVE_MIN, RESERVE_MAX);
            self.line.reserved_until = TicketNumber(number.0.saturating_add(ahead).min(TicketNumber::MAX.0));
        }
        self.line.next_number = number.next();
        self.waiting = self.waiting.saturating_add(1);
        self.joins_since_tick = self.joins_since_tick.saturating_add(1);
        self.cover(due_s);
        Some((number, reserved))
    }

    /// The owner of a waiting number was heard of, and is `expected` again: when it was due before.
    pub(super) fn hear(&mut self, number: TicketNumber, expected: Expected) -> Option<u32> {
        let was_due_s = self.presence.hear(number, expected)?;
        self.welcome_back(number, was_due_s);
        Some(was_due_s)
    }

    /// The same of one who was seen without asking; see [`Presence::see`].
    pub(super) fn see(&mut self, number: TicketNumber, due_s: u32, back: Expected) -> Option<u32> {
        let was_due_s = self.presence.see(number, due_s, back)?;
        self.welcome_back(number, was_due_s);
        Some(was_due_s)
    }

    fn welcome_back(&mut self, number: TicketNumber, was_due_s: u32) {
        if was_due_s == GONE && self.counts(number) {
            self.waiting = self.waiting.saturating_add(1);
        }
    }

    /// A verified ticket proves that its number was given out, even if this room has forgotten it: `true` where it had.
    pub(super) fn note_seen(&mut self, number: TicketNumber, due_s: u32) -> bool {
        let is_news = self.line.next_number <= number;
        if is_news {
            let forgotten = number.next().0.saturating_sub(self.line.next_number.0);
            self.waiting = self.waiting.saturating_add(forgotten);
            self.line.next_number = number.next();
            self.line.reserved_until = self.line.reserved_until.max(self.line.next_number);
            self.cover(due_s);
        }
        is_news
    }

    /// Calls up to `count` numbers whose owners are there, of whom no more are expected to come than `bound` allows, but one at least.
    /// Doubtful ones, and those of people who are gone, are called with them where they are next: they cost nothing, and whoever owns one
    /// has waited for it.
    pub(super) fn call(
        &mut self,
        count: u32,
        bound: Option<&CallBound>,
        at: RoomTime,
        now: Timestamp,
        turn_grace: Duration,
    ) {
        let mut cohort = Cohort::new(at, self.line.serving_number);
        let (mut called, mut expected_micro) = (0_u32, 0_u64);
        let mut last = self.line.serving_number;
        let mut last_asks_s = None;
        while last.next() < self.line.next_number {
            let next = last.next();
            if !self.counts(next) {
                last = next;
                continue;
            }
            let asks_s = self.presence.asks_s(next);
            let is_beyond = bound.is_some_and(|bound| {
                let [unheard_ppm, heard_ppm] = bound.comes_ppm;
                let comes_ppm = if asks_s.is_some() { heard_ppm } else { unheard_ppm };
                expected_micro = expected_micro.saturating_add(comes_ppm);
                called > 0 && expected_micro > bound.most_micro
            });
            if called >= count || is_beyond {
                break;
            }
            last = next;
            called = called.saturating_add(1);
            if let Some(asks_s) = asks_s {
                last_asks_s = last_asks_s.max(Some(asks_s));
                cohort.heard.called = cohort.heard.called.saturating_add(1);
                self.heard_when_called.insert(last);
            }
        }
        if last > self.line.serving_number {
            self.line.serving_number = last;
            self.line.moved_at = now;
            self.waiting = self.waiting.saturating_sub(u64::from(called));
            cohort.last = last;
            cohort.unheard.called = called.saturating_sub(cohort.heard.called);
            self.line.cohorts.push(cohort, turn_grace);
            self.cover(0);
        }
        if let Some(asks_s) = last_asks_s {
            self.asks.note(second_of(at.up), asks_s);
        }
    }

    /// Calls the newest number, whose owner stands at the door already: they have come, and nobody is expected.
    pub(super) fn call_arrival(
        &mut self,
        newest: TicketNumber,
        at: RoomTime,
        now: Timestamp,
        turn_grace: Duration,
    ) {
        self.line.serving_number = newest;
        self.line.moved_at = now;
        self.line.come_total = self.line.come_total.saturating_add(1);
        self.waiting = 0;
        self.line.cohorts.push(Cohort::new(at, newest), turn_grace);
        self.cover(0);
    }

    /// Whether somebody is known to hold this number and was heard of lately.
    fn counts(&self, number: TicketNumber) -> bool {
        let (from, until) = self.line.doubtful;
        !self.spent.contains(number) && !(from..until).contains(&number) && !self.presence.is_gone(number)
    }

    /// Keeps the presence of those who wait, and of nobody else; `due_s` is for those who are new.
    fn cover(&mut self, due_s: u32) {
        self.presence.cover(self.line.serving_number.next(), self.line.next_number, due_s);
    }

    /// Gives up those who were due before `trusted_s`, and counts who is there, a part of the line at a time. True where the table of
    /// those ahead has changed.
    pub(super) fn look_through(&mut self, trusted_s: u32) -> bool {
        let first = self.line.serving_number.next();
        let mut has_changed = self.ahead.pass(first);
        has_changed |= self.ahead.close_up_to(self.line.next_number, self.waiting);
        let stretches: Vec<Stretch> = self.ahead.stretches().collect();
        let from = stretches.partition_point(|stretch| stretch.end <= self.looks_from);
        let (before, behind) = stretches.split_at_checked(from).unwrap_or_default();
        let mut looked_at = 0_u64;
        for stretch in behind.iter().chain(before) {
            if looked_at >= LOOKS_AT {
                self.looks_from = stretch.first;
                break;
            }
            let numbers = stretch.first.max(first).0..stretch.end.0;
            let length = numbers.end.saturating_sub(numbers.start);
            looked_at = looked_at.saturating_add(length);
            let there = numbers.filter(|&number| self.is_there(TicketNumber(number), trusted_s)).count();
            let there = u64::try_from(there).unwrap_or(u64::MAX);
            has_changed |= self.ahead.note(stretch.first, there, length);
        }
        for number in self.ahead.open_from().0..self.line.next_number.0 {
            self.is_there(TicketNumber(number), trusted_s);
        }
        has_changed
    }

    fn is_there(&mut self, number: TicketNumber, trusted_s: u32) -> bool {
        let counted = self.counts(number);
        if self.presence.give_up(number, trusted_s) && counted {
            self.waiting = self.waiting.saturating_sub(1);
            return false;
        }
        counted
    }

    pub(super) fn standing(&self, number: TicketNumber) -> Standing {
        if self.spent.contains(number) {
            Standing::Spent
        } else if number > self.line.serving_number {
            Standing::Waiting
        } else {
            Standing::Called(self.line.cohorts.turn_age(number))
        }
    }

    /// Sets the bit of `number`; a waiting number leaves the line with it.
    pub(super) fn spend(&mut self, number: TicketNumber) {
        let waited = self.counts(number) && number > self.line.serving_number;
        if self.spent.insert(number) && waited {
            self.waiting = self.waiting.saturating_sub(1);
        }
    }

    pub(super) fn note_come(&mut self, number: TicketNumber, at: RoomTime) {
        self.line.come_total = self.line.come_total.saturating_add(1);
        let heard = self.heard_when_called.contains(number);
        if let Some(called_at) = self.line.cohorts.note_come(number, heard)
            && called_at.up >= self.line.learns_from
        {
            self.line.show_up.learn(heard).note_come(at.up.saturating_sub(called_at.up));
        }
    }

    pub(super) fn end_tick(&mut self, at: RoomTime, turn_grace: Duration) {
        self.joins_since_tick = 0;
        self.line.learn(at.up);
        self.line.cohorts.age(at.redeemable, turn_grace);
    }

    /// What was called up to now teaches nothing.
    pub(super) fn forget_called(&mut self, at: RoomTime) {
        self.line.learns_from = at.up;
    }

    /// Of those called who had been heard of and may not have asked yet, nobody was told to ask later than so many seconds after the call.
    pub(super) fn asks_after_s(&self, at: RoomTime) -> u64 {
        self.asks.after_s(second_of(at.up))
    }

    /// Those not called yet who are there.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Of those who are next, and of the whole line: so many of 1,000 were heard of after their joins.
    pub(super) fn heard_permille(&self) -> (u16, u16) {
        let waiting = self.line.serving_number.next().0..self.line.next_number.0;
        let length = waiting.end.saturating_sub(waiting.start);
        let every = length.div_ceil(LOOKS_AHEAD).max(1);
        let every = usize::try_from(every).unwrap_or(usize::MAX);
        (self.heard_among(waiting.clone()), self.heard_among(waiting.step_by(every)))
    }

    fn heard_among(&self, numbers: impl Iterator<Item = u64>) -> u16 {
        let most = usize::try_from(LOOKS_AHEAD).unwrap_or(usize::MAX);
        let counted = numbers.map(TicketNumber).take(LOOKS_PAST).filter(|&number| self.counts(number));
        let (mut all, mut heard) = (0_u64, 0_u64);
        for number in counted.take(most) {
            all = all.saturating_add(1);
            heard = heard.saturating_add(u64::from(self.presence.asks_s(number).is_some()));
        }
        let permille = heard.saturating_mul(1_000).checked_div(all).unwrap_or(0);
        u16::try_from(permille).unwrap_or(1_000)
    }
}
