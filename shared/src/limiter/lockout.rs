//! Lockout: so many calls a window, and the first one too many locks the key for a time.
//!
//! Windows are aligned to 1970. The call that finds the window's count full is refused and starts the lock; tries while
//! locked do not lengthen it. When the lock ends the count starts at 0, also inside the same window. Without a lock the
//! key is refused until the window ends. A cost that can never pass starts no lock.
//!
//! A lock of at least the window leaves at most `2 * max` in any interval as long as the window, across one boundary;
//! a shorter lock `l` leaves `max` for each `l`.

use super::error::whole_micros;
use super::{Cost, Inheritance, PolicyError, Transition};
use crate::time::{Timestamp, micros};
use core::num::NonZeroU64;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Settings of one lockout; the compact form of it is [`CompactLockout`](super::compact::CompactLockout).
///
/// ```
/// use shared::limiter::lockout::{LockoutPolicy, LockoutState};
/// use shared::time::Timestamp;
/// use std::time::Duration;
/// let lock = Duration::from_secs(30);
/// let policy = LockoutPolicy::new(3, Duration::from_secs(1), lock).unwrap();
/// let now = Timestamp::from_micros(10_000_000);
/// let spent = policy.check(LockoutState::NEW, now, 3).state;
/// let fourth = policy.check(spent, now, 1);
/// assert_eq!(fourth.decision.retry_after(), Some(lock));
/// assert!(policy.is_locked(fourth.state, Timestamp::from_micros(39_999_999)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockoutPolicy {
    max: Cost,
    window_us: NonZeroU64,
    /// Below 2^53; 0: no lock.
    lock_us: u64,
}

/// What a lockout remembers of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockoutState {
    /// Cost taken in the window of `last_admitted`, after the last lock.
    used: Cost,
    last_admitted: Timestamp,
    /// The end of the last lock; 1970 where there was none.
    locked_until: Timestamp,
}

impl LockoutPolicy {
    /// A policy that admits `max` in each `window` and answers the first call too many with a lock of `lock`, or with
    /// none where that is zero. A `max` of 0 denies every cost above 0 for ever.
    ///
    /// # Errors
    /// [`PolicyError`] unless the window is whole microseconds, at least 1 and below 2^53, and the lock zero or that too.
    pub fn new(max: Cost, window: Duration, lock: Duration) -> Result<Self, PolicyError> {
        let lock_us = if lock.is_zero() { 0 } else { whole_micros(lock)?.get() };
        Ok(Self { max, window_us: whole_micros(window)?, lock_us })
    }

    /// Decides whether `cost` may pass at `now`, which counts as no earlier than the last admission. A refusal that
    /// starts a lock changes the state, and the host must store it.
    pub fn check(&self, state: LockoutState, now: Timestamp, cost: Cost) -> Transition<LockoutState> {
        let now = now.max(state.last_admitted);
        let used = self.used_at(state, now);
        let remaining = if self.is_locked(state, now) { 0 } else { self.max.saturating_sub(used) };
        if cost > self.max {
            return Transition::denied(state, now, remaining, None, self.reset_after(state, now));
        }
        if cost > remaining {
            let state = self.lock(state, now);
            let wait = self.reset_after(state, now);
            let remaining = if self.is_locked(state, now) { 0 } else { remaining };
            return Transition::denied(state, now, remaining, Some(wait), wait);
        }
        if cost == 0 {
            return Transition::allowed(state, now, remaining, self.reset_after(state, now));
        }
        let taken = LockoutState { used: used.saturating_add(cost), last_admitted: now, ..state };
        Transition::allowed(taken, now, remaining.saturating_sub(cost), self.reset_after(taken, now))
    }

    /// Gives back `cost` that was taken at `taken_at`, if that was in the window of `now` and after the last lock. Never
    /// ends a lock.
    #[must_use]
    pub fn refund(
        &self,
        state: LockoutState,
        now: Timestamp,
        cost: Cost,
        taken_at: Timestamp,
    ) -> LockoutState {
        let now = now.max(state.last_admitted);
        let ended = taken_at < state.locked_until || self.window_start(taken_at) != self.window_start(now);
        if ended || self.used_at(state, now) == 0 {
            return state;
        }
        LockoutState { used: state.used.saturating_sub(cost), ..state }
    }

    /// The state of a key that `previous` counted until `now`; a lock goes on as long as it was begun for.
    #[must_use]
    pub fn inherit(
        &self,
        previous: &Self,
        state: LockoutState,
        now: Timestamp,
        how: Inheritance,
    ) -> LockoutState {
        if how == Inheritance::Reset {
            return LockoutState::NEW;
        }
        let now = now.max(state.last_admitted);
        let used = how.carry(previous.used_at(state, now), previous.max, self.max);
        LockoutState { used, last_admitted: now, ..state }
    }

    /// Whether `state` decides like [`LockoutState::NEW`] from `now` on.
    pub fn is_as_new(&self, state: LockoutState, now: Timestamp) -> bool {
        now >= state.last_admitted && !self.is_locked(state, now) && self.used_at(state, now) == 0
    }

    /// Whether a lock is in force, so that the refusal is of the key and not only of the moment.
    pub fn is_locked(&self, state: LockoutState, now: Timestamp) -> bool {
        now.max(state.last_admitted) < state.locked_until
    }

    /// The most cost admitted in one window.
    pub const fn max(&self) -> Cost {
        self.max
    }

    /// The length of a window.
    pub const fn window(&self) -> Duration {
        Duration::from_micros(self.window_us.get())
    }

    /// The length of a lock; zero for none.
    pub const fn lock_time(&self) -> Duration {
        Duration::from_micros(self.lock_us)
    }

    /// The state once the call too many has come; a lock that runs already stays as it is.
    fn lock(&self, state: LockoutState, now: Timestamp) -> LockoutState {
        if self.lock_us == 0 || self.is_locked(state, now) {
            return state;
        }
        LockoutState { used: 0, locked_until: now.saturating_add(self.lock_time()), ..state }
    }

    /// Cost taken in the window of `now`, which is no earlier than the last admission; 0 while locked.
    fn used_at(&self, state: LockoutState, now: Timestamp) -> Cost {
        let is_over = self.window_start(now) != self.window_start(state.last_admitted);
        if is_over { 0 } else { state.used.min(self.max) }
    }

    fn window_start(&self, at: Timestamp) -> Timestamp {
        at.saturating_sub(Duration::from_micros(at.as_micros() % self.window_us))
    }

    /// Time until the lock ends, or else the window.
    fn reset_after(&self, state: LockoutState, now: Timestamp) -> Duration {
        if self.is_locked(state, now) {
            return state.locked_until.since(now);
        }
        if self.used_at(state, now) == 0 {
            return Duration::ZERO;
        }
        let into_window_us = micros(now.since(self.window_start(now)));
        Duration::from_micros(self.window_us.get().saturating_sub(into_window_us))
    }
}

impl LockoutState {
    /// The state of a key that was never seen.
    pub const NEW: Self =
        Self { used: 0, last_admitted: Timestamp::from_micros(0), locked_until: Timestamp::from_micros(0) };

    /// The key's own time is no earlier.
    pub(super) const fn last_admitted(self) -> Timestamp {
        self.last_admitted
    }
}
