//! One ordered class inside a room: its numbers, who was called, which numbers are spent.

use super::{
    clock::RoomTime,
    cohorts::{Cohorts, TurnAge},
    delays::Delays,
    spent::SpentBits,
};
use crate::{ids::TicketNumber, time::Timestamp};
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Fewest numbers reserved durably ahead of use.
pub(super) const RESERVE_MIN: u64 = 64;
/// Most numbers reserved durably ahead of use: a crash burns at most this many.
pub(super) const RESERVE_MAX: u64 = 65_536;

/// A lane's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) line: Line,
    pub(super) spent: SpentBits,
    /// Numbers not called yet that somebody is known to hold.
    waiting: u64,
    joins_since_tick: u64,
}

/// The part of a lane that is stored as one record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub(super) next_number: TicketNumber,
    /// Numbers below this one may have been given out, whatever a crash forgot.
    pub(super) reserved_until: TicketNumber,
    /// Numbers from the first to before the second: a crash forgot whether anybody owns them.
    pub(super) doubtful: (TicketNumber, TicketNumber),
    pub(super) serving_number: TicketNumber,
    pub(super) moved_at: Timestamp,
    pub(super) cohorts: Cohorts,
    pub(super) delays: Delays,
    /// First arrivals at the door, ever.
    pub(super) come_total: u64,
    /// Up to here the seconds after calls are learnt.
    learnt_until: Duration,
    /// Cohorts called before teach nothing: they fell into a time in which hardly anybody could come.
    learns_from: Duration,
}

impl Line {
    /// Notes the seconds that are over for each cohort since the last time.
    fn learn(&mut self, up: Duration) {
        let before = core::mem::replace(&mut self.learnt_until, up);
        for _ in before.as_secs()..up.as_secs() {
            self.delays.fade();
        }
        let learns_from = self.learns_from;
        for cohort in self.cohorts.in_time().filter(|cohort| cohort.called_at.up >= learns_from) {
            let age_s = |at: Duration| at.saturating_sub(cohort.called_at.up).as_secs();
            for second in age_s(before)..age_s(up) {
                self.delays.note_over(second, cohort.called);
            }
        }
    }
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
            delays: Delays::default(),
            come_total: 0,
            learnt_until: Duration::ZERO,
            learns_from: Duration::ZERO,
        };
        Self { line, spent: SpentBits::default(), waiting: 0, joins_since_tick: 0 }
    }

    /// Resumes after a crash: what was reserved may be in buyers' hands, so numbering goes on behind it.
    pub(super) fn recover(&mut self, line: Line, spent: SpentBits) {
        self.line = line;
        self.spent = spent;
        if self.line.next_number < self.line.reserved_until {
            self.line.doubtful = (self.line.next_number, self.line.reserved_until);
            self.line.next_number = self.line.reserved_until;
        }
        let uncalled = self.line.serving_number.next().0..self.line.next_number.0;
        let waiting = uncalled.filter(|&number| self.counts(TicketNumber(number))).count();
        self.waiting = u64::try_from(waiting).unwrap_or(u64::MAX);
    }

    /// Burns the numbers behind the ones that are doubtful after a recovery, as many again.
    pub(super) fn burn_margin(&mut self) {
        let next = self.line.next_number;
        let (from, until) = self.line.doubtful;
        let first = if until == next { from } else { next };
        let margin = next.0.saturating_sub(first.0).clamp(RESERVE_MIN, RESERVE_MAX);
        let resumed = TicketNumber(next.0.saturating_add(margin).min(TicketNumber::MAX.0));
        self.line.doubtful = (first, resumed);
        self.line.next_number = resumed;
        self.line.reserved_until = self.line.reserved_until.max(resumed);
    }

    /// The next number, and whether it had to be reserved first; `None` when the lane has given out all it can.
    pub(super) fn issue(&mut self) -> Option<(TicketNumber, bool)> {
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
        Some((number, reserved))
    }

    /// A verified ticket proves that its number was given out, even if this room has forgotten it: `true` where it had.
    pub(super) fn note_seen(&mut self, number: TicketNumber) -> bool {
        let is_news = self.line.next_number <= number;
        if is_news {
            let forgotten = number.next().0.saturating_sub(self.line.next_number.0);
            self.waiting = self.waiting.saturating_add(forgotten);
            self.line.next_number = number.next();
            self.line.reserved_until = self.line.reserved_until.max(self.line.next_number);
        }
        is_news
    }

    /// Calls up to `count` live numbers. Doubtful ones next in line are called with them: they cost nothing, and
    /// whoever owns one has waited for it.
    pub(super) fn call(&mut self, count: u32, at: RoomTime, now: Timestamp, turn_grace: Duration) {
        let mut called = 0_u32;
        let mut last = self.line.serving_number;
        while last.next() < self.line.next_number {
            let counts = self.counts(last.next());
            if counts && called >= count {
                break;
            }
            last = last.next();
            called = called.saturating_add(u32::from(counts));
        }
        if last > self.line.serving_number {
            self.line.serving_number = last;
            self.line.moved_at = now;
            self.waiting = self.waiting.saturating_sub(u64::from(called));
            self.line.cohorts.push(at, last, called, turn_grace);
        }
    }

    /// Calls the newest number, whose owner stands at the door already: nobody is expected.
    pub(super) fn call_arrival(
        &mut self,
        newest: TicketNumber,
        at: RoomTime,
        now: Timestamp,
        turn_grace: Duration,
    ) {
        self.line.serving_number = newest;
        self.line.moved_at = now;
        self.waiting = 0;
        self.line.cohorts.push(at, newest, 0, turn_grace);
    }

    /// Whether somebody is known to hold this number.
    fn counts(&self, number: TicketNumber) -> bool {
        let (from, until) = self.line.doubtful;
        !self.spent.contains(number) && !(from..until).contains(&number)
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
        if let Some(called_at) = self.line.cohorts.note_come(number)
            && called_at.up >= self.line.learns_from
        {
            self.line.delays.note_come(at.up.saturating_sub(called_at.up));
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

    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }
}
