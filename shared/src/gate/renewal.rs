//! When an isolate renews its copy of something that the queue server has.

use crate::time::Timestamp;
use core::time::Duration;

/// A renewal that has not ended after this time is given up, and another may begin.
pub const RENEWAL_TIME_MAX: Duration = Duration::from_secs(2);

/// Renewals of one copy.
///
/// One in flight is marked by the time it began, never by a flag: the request that performs it may be cut off, and then
/// nobody would clear a flag.
#[derive(Clone, Copy, Debug)]
pub struct Renewal {
    /// A copy younger than this is used without asking for a newer one.
    fresh_for: Duration,
    /// After this time without any renewal, well or not, requests wait for the next one.
    idle_after: Duration,
    taken_at: Option<Timestamp>,
    in_flight: Option<InFlight>,
    ended_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    began_at: Timestamp,
    /// It began after a pause, so that whoever comes meanwhile waits for it too.
    after_pause: bool,
}

/// What a request does about the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Use what is there.
    Use,
    /// Use what is there and renew it beside the answer.
    UseAndRenew,
    /// Nothing is there, or nothing that was renewed lately: fetch it before answering, and use what is there if that fails.
    Fetch,
    /// As [`Look::Fetch`], and another request fetches it: look again soon.
    LookAgain,
    /// Nothing is there, and it could not be fetched a moment ago.
    Missing,
}

impl Renewal {
    /// Of a copy that was never taken.
    pub const fn new(fresh_for: Duration, idle_after: Duration) -> Self {
        Self { fresh_for, idle_after, taken_at: None, in_flight: None, ended_at: None }
    }

    /// What to do at `now`. [`Look::UseAndRenew`] and [`Look::Fetch`] mark a renewal as begun: whoever gets them performs it.
    pub fn look(&mut self, now: Timestamp) -> Look {
        let in_flight = self.in_flight.filter(|flight| is_within(flight.began_at, now, RENEWAL_TIME_MAX));
        let just_ended = self.ended_at.is_some_and(|ended| is_within(ended, now, self.fresh_for));
        let after_pause = in_flight.map_or_else(|| self.was_idle(now), |flight| flight.after_pause);
        let is_current = self.taken_at.is_some() && !after_pause;
        let begins = in_flight.is_none() && !just_ended;
        if begins {
            self.in_flight = Some(InFlight { began_at: now, after_pause });
        }
        match (is_current, begins) {
            (true, false) => Look::Use,
            (true, true) => Look::UseAndRenew,
            (false, true) => Look::Fetch,
            (false, false) if in_flight.is_some() => Look::LookAgain,
            (false, false) if self.taken_at.is_some() => Look::Use,
            (false, false) => Look::Missing,
        }
    }

    /// The renewal that began at `began` has ended at `now`, well or not. One that was taken over says nothing.
    pub fn ended(&mut self, began: Timestamp, now: Timestamp) {
        if self.in_flight.is_some_and(|flight| flight.began_at == began) {
            self.in_flight = None;
            self.ended_at = Some(now);
        }
    }

    /// The copy is as good as the server's at `now`.
    pub fn took(&mut self, now: Timestamp) {
        self.taken_at = Some(now);
    }

    /// The copy is gone.
    pub fn lost(&mut self) {
        self.taken_at = None;
    }

    /// Since when the copy is known to be good; `None` where there is none.
    pub fn taken_at(&self) -> Option<Timestamp> {
        self.taken_at
    }

    /// No request came for a while, so that what is held says nothing of the queue server's health.
    fn was_idle(&self, now: Timestamp) -> bool {
        let began_at = self.in_flight.map(|flight| flight.began_at);
        let last = self.taken_at.max(began_at).max(self.ended_at);
        !last.is_some_and(|last| is_within(last, now, self.idle_after))
    }
}

/// Whether `now` is less than `span` after `start`. A clock that stepped back before `start` ends the span, because
/// nothing else would.
fn is_within(start: Timestamp, now: Timestamp, span: Duration) -> bool {
    start <= now && now.since(start) < span
}
