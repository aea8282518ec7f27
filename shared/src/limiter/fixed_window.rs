//! Fixed window: a count that falls to zero when its window ends.
//!
//! In any interval `t` a key is admitted at most `limit * (floor(t / window) + 2)` where windows are aligned, because `t`
//! may touch the ends of two windows: twice the limit across one boundary. Windows from the first admission lie apart,
//! and reach the same. Cheap, and right for quotas and for counting towards a lock; where the limit must hold in every
//! window, use [`GcraPolicy::at_most_in_any`](super::gcra::GcraPolicy::at_most_in_any) or
//! [sub-windows](super::sub_windows).

use super::error::whole_micros;
use super::{Cost, Inheritance, PolicyError, Transition};
use crate::time::Timestamp;
use core::num::NonZeroU64;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Settings of one fixed window.
///
/// ```
/// use shared::limiter::fixed_window::{FixedWindowPolicy, FixedWindowState, WindowStart};
/// use shared::time::Timestamp;
/// use std::time::Duration;
/// let policy = FixedWindowPolicy::new(60, Duration::from_secs(60), WindowStart::Aligned).unwrap();
/// let last_second = Timestamp::from_micros(59_000_000);
/// let spent = policy.check(FixedWindowState::NEW, last_second, 60);
/// assert_eq!(policy.check(spent.state, last_second, 1).decision.retry_after(), Some(Duration::from_secs(1)));
/// assert!(policy.check(spent.state, Timestamp::from_micros(60_000_000), 60).decision.is_allowed());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedWindowPolicy {
    limit: Cost,
    window_us: NonZeroU64,
    start: WindowStart,
}

/// Where windows begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowStart {
    /// At the multiples of the window since 1970, for every key alike.
    Aligned,
    /// At the first admission of each window.
    FirstHit,
}

/// What a fixed window remembers of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedWindowState {
    used: Cost,
    /// The admission that began the window.
    first_admitted: Timestamp,
    last_admitted: Timestamp,
}

impl FixedWindowPolicy {
    /// A policy that admits `limit` in each window; a limit of 0 denies every cost above 0 for ever.
    ///
    /// # Errors
    /// [`PolicyError`] unless the window is whole microseconds, at least 1 and below 2^53.
    pub fn new(limit: Cost, window: Duration, start: WindowStart) -> Result<Self, PolicyError> {
        Ok(Self { limit, window_us: whole_micros(window)?, start })
    }

    /// Decides whether `cost` may pass at `now`, which counts as no earlier than the last admission.
    pub fn check(&self, state: FixedWindowState, now: Timestamp, cost: Cost) -> Transition<FixedWindowState> {
        let now = now.max(state.last_admitted);
        let used = self.used_at(state, now);
        let remaining = self.limit.saturating_sub(used);
        if cost > remaining {
            let retry_after = (cost <= self.limit).then(|| self.ends_at(state).since(now));
            return Transition::denied(state, now, remaining, retry_after, self.reset_after(state, now));
        }
        if cost == 0 {
            return Transition::allowed(state, now, remaining, self.reset_after(state, now));
        }
        let first_admitted = if used == 0 { now } else { state.first_admitted };
        let taken = FixedWindowState { used: used.saturating_add(cost), first_admitted, last_admitted: now };
        Transition::allowed(taken, now, remaining.saturating_sub(cost), self.reset_after(taken, now))
    }

    /// Gives back `cost` that was taken at `taken_at`, if that was in the window of `now`; never above the limit.
    #[must_use]
    pub fn refund(
        &self,
        state: FixedWindowState,
        now: Timestamp,
        cost: Cost,
        taken_at: Timestamp,
    ) -> FixedWindowState {
        let used = self.used_at(state, now.max(state.last_admitted));
        let started_at = match self.start {
            WindowStart::Aligned => self.aligned_start(state.last_admitted),
            WindowStart::FirstHit => state.first_admitted,
        };
        if used == 0 || taken_at < started_at {
            return state;
        }
        FixedWindowState { used: used.saturating_sub(cost), ..state }
    }

    /// The state of a key that `previous` counted until `now`. Between windows from the first admission, the window goes
    /// on from where it began, unless the new one would be over: that begins at `now`.
    #[must_use]
    pub fn inherit(
        &self,
        previous: &Self,
        state: FixedWindowState,
        now: Timestamp,
        how: Inheritance,
    ) -> FixedWindowState {
        let now = now.max(state.last_admitted);
        let used = how.carry(previous.used_at(state, now), previous.limit, self.limit);
        let is_over = state.first_admitted.saturating_add(self.window()) <= now;
        let goes_on = previous.start == self.start && used > 0 && !is_over;
        let first_admitted = if goes_on { state.first_admitted } else { now };
        FixedWindowState { used, first_admitted, last_admitted: now }
    }

    /// Whether `state` decides like [`FixedWindowState::NEW`] from `now` on.
    pub fn is_as_new(&self, state: FixedWindowState, now: Timestamp) -> bool {
        now >= state.last_admitted && self.used_at(state, now) == 0
    }

    /// The most cost admitted in one window.
    pub const fn limit(&self) -> Cost {
        self.limit
    }

    /// The length of a window.
    pub const fn window(&self) -> Duration {
        Duration::from_micros(self.window_us.get())
    }

    /// Where windows begin.
    pub const fn start(&self) -> WindowStart {
        self.start
    }

    /// Cost taken in the window of `now`, which is no earlier than the last admission.
    fn used_at(&self, state: FixedWindowState, now: Timestamp) -> Cost {
        if now < self.ends_at(state) { state.used.min(self.limit) } else { 0 }
    }

    /// The end of the window of the last admission; the first moment that is outside.
    fn ends_at(&self, state: FixedWindowState) -> Timestamp {
        let started_at = match self.start {
            WindowStart::Aligned => self.aligned_start(state.last_admitted),
            WindowStart::FirstHit => state.first_admitted,
        };
        started_at.saturating_add(self.window())
    }

    fn aligned_start(&self, at: Timestamp) -> Timestamp {
        let into_window = at.as_micros() % self.window_us;
        at.saturating_sub(Duration::from_micros(into_window))
    }

    fn reset_after(&self, state: FixedWindowState, now: Timestamp) -> Duration {
        if self.used_at(state, now) == 0 { Duration::ZERO } else { self.ends_at(state).since(now) }
    }
}

impl FixedWindowState {
    /// The state of a key that was never seen.
    pub const NEW: Self =
        Self { used: 0, first_admitted: Timestamp::from_micros(0), last_admitted: Timestamp::from_micros(0) };
}
