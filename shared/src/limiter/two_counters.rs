//! Sliding window by two counters: the aligned window before counts for the share of it that is still inside.
//!
//! `previous * (window - elapsed) / window + current` never exceeds the limit, in exact fractions. It assumes that the
//! window before was spent evenly, so a key that spends it at its end is admitted up to twice the limit in one rolling
//! window. Where the limit must hold in every window, use [sub-windows](super::sub_windows).

use super::error::whole_micros;
use super::{Cost, Inheritance, PolicyError, Transition};
use crate::time::Timestamp;
use core::num::NonZeroU64;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Settings of one sliding window by two counters.
///
/// ```
/// use shared::limiter::two_counters::{TwoCountersPolicy, TwoCountersState};
/// use shared::time::Timestamp;
/// use std::time::Duration;
/// let policy = TwoCountersPolicy::new(10, Duration::from_secs(1)).unwrap();
/// let spent = policy.check(TwoCountersState::NEW, Timestamp::from_micros(900_000), 10).state;
/// let later = policy.check(spent, Timestamp::from_micros(1_250_000), 3).decision;
/// assert_eq!((later.remaining(), later.retry_after()), (2, Some(Duration::from_millis(50))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoCountersPolicy {
    limit: Cost,
    window_us: NonZeroU64,
}

/// What two counters remember of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TwoCountersState {
    /// Cost taken in the window before that of `last_admitted`.
    previous: Cost,
    /// Cost taken in the window of `last_admitted`.
    current: Cost,
    last_admitted: Timestamp,
}

/// The counters as they are at one moment, no earlier than the last admission.
#[derive(Clone, Copy)]
struct Counters {
    previous: Cost,
    current: Cost,
    elapsed_us: u64,
}

impl TwoCountersPolicy {
    /// A policy that admits about `limit` in any interval as long as `window`; a limit of 0 denies everything for ever.
    ///
    /// # Errors
    /// [`PolicyError`] unless the window is whole microseconds, at least 1 and below 2^53.
    pub fn new(limit: Cost, window: Duration) -> Result<Self, PolicyError> {
        Ok(Self { limit, window_us: whole_micros(window)? })
    }

    /// Decides whether `cost` may pass at `now`, which counts as no earlier than the last admission.
    pub fn check(&self, state: TwoCountersState, now: Timestamp, cost: Cost) -> Transition<TwoCountersState> {
        let now = now.max(state.last_admitted);
        let counters = self.counters_at(state, now);
        let remaining = self.remaining(counters);
        if cost > remaining {
            let retry_after = (cost <= self.limit).then(|| self.time_for(counters, cost));
            return Transition::denied(state, now, remaining, retry_after, self.reset_after(counters));
        }
        if cost == 0 {
            return Transition::allowed(state, now, remaining, self.reset_after(counters));
        }
        let counters = Counters { current: counters.current.saturating_add(cost), ..counters };
        let taken = counters.stored_at(now);
        Transition::allowed(taken, now, remaining.saturating_sub(cost), self.reset_after(counters))
    }

    /// Gives back `cost` that was taken at `taken_at` to the counter of its window, as far as that still counts.
    #[must_use]
    pub fn refund(&self, state: TwoCountersState, cost: Cost, taken_at: Timestamp) -> TwoCountersState {
        let windows_ago = self.window_of(state.last_admitted).checked_sub(self.window_of(taken_at));
        match windows_ago {
            Some(0) => TwoCountersState { current: state.current.saturating_sub(cost), ..state },
            Some(1) => TwoCountersState { previous: state.previous.saturating_sub(cost), ..state },
            // It has left, or begins after the last admission and is none of this state's.
            Some(_) | None => state,
        }
    }

    /// Gives back `cost` at `now`, whenever it was taken: what the current window holds, and of the window before so much
    /// that no less than the rest comes free; never above the limit.
    #[must_use]
    pub fn replenish(&self, state: TwoCountersState, now: Timestamp, cost: Cost) -> TwoCountersState {
        let now = now.max(state.last_admitted);
        let counters = self.counters_at(state, now);
        let from_current = cost.min(counters.current);
        let rest = u128::from(cost.saturating_sub(from_current)).saturating_mul(self.window_us.get().into());
        // Positive: the elapsed part of a window is shorter than the window.
        let inside_us = u128::from(self.window_us.get().saturating_sub(counters.elapsed_us).max(1));
        let from_previous = Cost::try_from(rest.div_ceil(inside_us)).unwrap_or(Cost::MAX);
        let left = Counters {
            previous: counters.previous.saturating_sub(from_previous),
            current: counters.current.saturating_sub(from_current),
            ..counters
        };
        left.stored_at(now)
    }

    /// The state of a key that `previous` counted until `now`. Where the windows have another length, all that is in use
    /// counts as taken at `now`.
    #[must_use]
    pub fn inherit(
        &self,
        previous: &Self,
        state: TwoCountersState,
        now: Timestamp,
        how: Inheritance,
    ) -> TwoCountersState {
        let now = now.max(state.last_admitted);
        let counters = previous.counters_at(state, now);
        let used = previous.limit.saturating_sub(previous.remaining(counters));
        let carried = match how {
            Inheritance::Reset => Counters { previous: 0, current: 0, ..counters },
            _ if previous.window_us != self.window_us => {
                Counters { previous: 0, current: how.carry(used, previous.limit, self.limit), ..counters }
            }
            Inheritance::Keep => counters,
            Inheritance::Proportional => {
                let scale = |count| how.carry(count, previous.limit, self.limit);
                Counters { previous: scale(counters.previous), current: scale(counters.current), ..counters }
            }
        };
        self.fitted(carried).stored_at(now)
    }

    /// Whether `state` decides like [`TwoCountersState::NEW`] from `now` on.
    pub fn is_as_new(&self, state: TwoCountersState, now: Timestamp) -> bool {
        let counters = self.counters_at(state, now);
        now >= state.last_admitted && counters.previous == 0 && counters.current == 0
    }

    /// The most cost admitted at one instant from rest.
    pub const fn limit(&self) -> Cost {
        self.limit
    }

    /// The length of a window.
    pub const fn window(&self) -> Duration {
        Duration::from_micros(self.window_us.get())
    }

    fn counters_at(&self, state: TwoCountersState, now: Timestamp) -> Counters {
        let windows_ago = self.window_of(now).saturating_sub(self.window_of(state.last_admitted));
        let (previous, current) = match windows_ago {
            0 => (state.previous, state.current),
            1 => (state.current, 0),
            _ => (0, 0),
        };
        Counters { previous, current, elapsed_us: now.as_micros() % self.window_us }
    }

    /// The counters with no more in use than the limit: what the window before weighs gives way.
    fn fitted(&self, counters: Counters) -> Counters {
        let current = counters.current.min(self.limit);
        let inside_us = self.window_us.get().saturating_sub(counters.elapsed_us);
        let room = u128::from(self.limit.saturating_sub(current)).saturating_mul(self.window_us.get().into());
        let most = room.checked_div(inside_us.into()).and_then(|most| u64::try_from(most).ok());
        Counters { previous: counters.previous.min(most.unwrap_or(Cost::MAX)), current, ..counters }
    }

    fn window_of(&self, at: Timestamp) -> u64 {
        at.as_micros() / self.window_us
    }

    /// Whole units free, rounded down. Limit times window is below 2^117.
    fn remaining(&self, counters: Counters) -> Cost {
        let window_us = u128::from(self.window_us.get());
        let inside_us = u128::from(self.window_us.get().saturating_sub(counters.elapsed_us));
        let parts = |count: Cost, weight: u128| u128::from(count).saturating_mul(weight);
        let free = parts(self.limit, window_us)
            .saturating_sub(parts(counters.previous, inside_us))
            .saturating_sub(parts(counters.current, window_us));
        free.checked_div(window_us).and_then(|units| u64::try_from(units).ok()).unwrap_or(0)
    }

    /// Time until `cost`, which is within the limit but not free now, is free. What counts only falls meanwhile.
    fn time_for(&self, counters: Counters, cost: Cost) -> Duration {
        let window_us = self.window_us.get();
        let room = self.limit.saturating_sub(cost);
        let at_us = match room.checked_sub(counters.current) {
            // The window before weighs little enough while this one still runs, or when it ends.
            Some(room) => self.falls_to(counters.previous, room),
            // This window must become the one before, and then weigh little enough itself.
            None => window_us.saturating_add(self.falls_to(counters.current, room)),
        };
        Duration::from_micros(at_us.saturating_sub(counters.elapsed_us))
    }

    /// Time into a window at which `count` of the window before weighs at most `room`.
    fn falls_to(&self, count: Cost, room: Cost) -> u64 {
        let window_us = self.window_us.get();
        let inside_us = u128::from(room).saturating_mul(u128::from(window_us)).checked_div(u128::from(count));
        let inside_us = inside_us.and_then(|us| u64::try_from(us).ok()).unwrap_or(window_us);
        window_us.saturating_sub(inside_us)
    }

    fn reset_after(&self, counters: Counters) -> Duration {
        let windows = match counters {
            Counters { previous: 0, current: 0, .. } => return Duration::ZERO,
            Counters { current: 0, .. } => 1,
            Counters { .. } => 2,
        };
        let ends_us = self.window_us.get().saturating_mul(windows);
        Duration::from_micros(ends_us.saturating_sub(counters.elapsed_us))
    }
}

impl Counters {
    fn stored_at(self, now: Timestamp) -> TwoCountersState {
        TwoCountersState { previous: self.previous, current: self.current, last_admitted: now }
    }
}

impl TwoCountersState {
    /// The state of a key that was never seen.
    pub const NEW: Self = Self { previous: 0, current: 0, last_admitted: Timestamp::from_micros(0) };
}
