//! Interval-refill bucket: whole periods give back, and nothing comes back between them.
//!
//! In any interval `t` a key is admitted at most `capacity + refill * (floor(t / period) + 1)`. The periods of a key begin
//! with the admission that found the bucket full; however long nobody asked, the periods that passed are made good in one
//! step.

use super::error::whole_micros;
use super::{Cost, Inheritance, PolicyError, Transition};
use crate::time::Timestamp;
use core::num::NonZeroU64;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Settings of one interval-refill bucket.
///
/// ```
/// use shared::limiter::interval_bucket::{IntervalBucketPolicy, IntervalBucketState};
/// use shared::time::Timestamp;
/// use std::time::Duration;
/// let policy = IntervalBucketPolicy::new(30, 2, Duration::from_secs(1)).unwrap();
/// let spent = policy.check(IntervalBucketState::NEW, Timestamp::from_micros(0), 30).state;
/// let later = policy.check(spent, Timestamp::from_micros(2_500_000), 5).decision;
/// assert_eq!((later.remaining(), later.retry_after()), (4, Some(Duration::from_millis(500))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalBucketPolicy {
    /// 0 denies everything.
    capacity: Cost,
    refill: NonZeroU64,
    /// `capacity / refill` periods, rounded up, are below 2^53 µs.
    period_us: NonZeroU64,
}

/// What an interval-refill bucket remembers of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalBucketState {
    /// Cost not yet given back at `last_admitted`.
    missing: Cost,
    /// The admission that found the bucket full; periods are counted from here.
    full_until: Timestamp,
    last_admitted: Timestamp,
}

impl IntervalBucketPolicy {
    /// A policy that admits `capacity` from rest and gets back `refill` at the end of each `period`.
    ///
    /// A capacity or a refill of 0 denies every cost above 0 for ever.
    ///
    /// # Errors
    /// [`PolicyError`] unless the period is whole microseconds and an empty bucket is full again within 2^53 µs.
    pub fn new(capacity: Cost, refill: u64, period: Duration) -> Result<Self, PolicyError> {
        let period_us = whole_micros(period)?;
        let Some(refill) = NonZeroU64::new(refill) else {
            return Ok(Self { capacity: 0, refill: NonZeroU64::MIN, period_us });
        };
        let empty_us = capacity.div_ceil(refill.get()).checked_mul(period_us.get());
        empty_us.filter(|us| *us <= Timestamp::MAX.as_micros()).ok_or(PolicyError::BeyondResolution)?;
        Ok(Self { capacity, refill, period_us })
    }

    /// Decides whether `cost` may pass at `now`, which counts as no earlier than the last admission.
    pub fn check(
        &self,
        state: IntervalBucketState,
        now: Timestamp,
        cost: Cost,
    ) -> Transition<IntervalBucketState> {
        let now = now.max(state.last_admitted);
        let missing = self.missing_at(state, now);
        let remaining = self.capacity.saturating_sub(missing);
        if cost > remaining {
            let lacking = cost.saturating_sub(remaining);
            let retry_after = (cost <= self.capacity).then(|| self.time_for(state, now, lacking));
            let reset_after = self.time_for(state, now, missing);
            return Transition::denied(state, now, remaining, retry_after, reset_after);
        }
        if cost == 0 {
            return Transition::allowed(state, now, remaining, self.time_for(state, now, missing));
        }
        let full_until = if missing == 0 { now } else { state.full_until };
        let missing = missing.saturating_add(cost);
        let taken = IntervalBucketState { missing, full_until, last_admitted: now };
        Transition::allowed(taken, now, remaining.saturating_sub(cost), self.time_for(taken, now, missing))
    }

    /// Gives back `cost` that was taken at `taken_at`, less what whole periods have given back since; never above the
    /// capacity, and nothing for a cost that was taken before the bucket was last full.
    #[must_use]
    pub fn refund(
        &self,
        state: IntervalBucketState,
        now: Timestamp,
        cost: Cost,
        taken_at: Timestamp,
    ) -> IntervalBucketState {
        let now = now.max(state.last_admitted);
        if taken_at < state.full_until {
            return state;
        }
        let came_back = self.refilled(state.full_until, taken_at, now);
        let returned = cost.min(self.capacity).saturating_sub(came_back);
        IntervalBucketState { missing: state.missing.saturating_sub(returned), ..state }
    }

    /// The state of a key that `previous` counted until `now`; its periods go on from where they began.
    #[must_use]
    pub fn inherit(
        &self,
        previous: &Self,
        state: IntervalBucketState,
        now: Timestamp,
        how: Inheritance,
    ) -> IntervalBucketState {
        let now = now.max(state.last_admitted);
        let missing = how.carry(previous.missing_at(state, now), previous.capacity, self.capacity);
        let full_until = if missing == 0 { now } else { state.full_until };
        IntervalBucketState { missing, full_until, last_admitted: now }
    }

    /// Whether `state` decides like [`IntervalBucketState::NEW`] from `now` on.
    pub fn is_as_new(&self, state: IntervalBucketState, now: Timestamp) -> bool {
        now >= state.last_admitted && self.missing_at(state, now) == 0
    }

    /// The most cost admitted at one instant from rest; 0 when the policy denies everything.
    pub const fn capacity(&self) -> Cost {
        self.capacity
    }

    /// Cost that the end of each period gives back.
    pub const fn refill(&self) -> u64 {
        self.refill.get()
    }

    /// The time between two refills.
    pub const fn period(&self) -> Duration {
        Duration::from_micros(self.period_us.get())
    }

    /// Time in which an empty bucket fills.
    pub fn window(&self) -> Duration {
        self.periods(self.capacity)
    }

    /// Time from a decision that left `missing` and says `reset_after` until more is there; exact.
    pub(super) fn more_after(&self, missing: Cost, reset_after: Duration) -> Duration {
        reset_after.saturating_sub(self.periods(missing).saturating_sub(self.period()))
    }

    fn missing_at(&self, state: IntervalBucketState, now: Timestamp) -> Cost {
        let refilled = self.refilled(state.full_until, state.last_admitted, now);
        state.missing.saturating_sub(refilled).min(self.capacity)
    }

    /// Cost given back at the ends of periods after `from`, up to and with `to`.
    fn refilled(&self, full_until: Timestamp, from: Timestamp, to: Timestamp) -> Cost {
        let whole_periods = |at: Timestamp| self.whole_periods(full_until, at);
        whole_periods(to).saturating_sub(whole_periods(from)).saturating_mul(self.refill.get())
    }

    /// Periods that have ended at `at`.
    fn whole_periods(&self, full_until: Timestamp, at: Timestamp) -> u64 {
        at.as_micros().saturating_sub(full_until.as_micros()) / self.period_us
    }

    /// Time from `now` to the end of the period that makes `cost` good; zero for none.
    fn time_for(&self, state: IntervalBucketState, now: Timestamp, cost: Cost) -> Duration {
        let ended_us = self.whole_periods(state.full_until, now).saturating_mul(self.period_us.get());
        let period_began = state.full_until.saturating_add(Duration::from_micros(ended_us));
        if cost == 0 { Duration::ZERO } else { period_began.saturating_add(self.periods(cost)).since(now) }
    }

    /// As many periods as give back `cost`.
    fn periods(&self, cost: Cost) -> Duration {
        Duration::from_micros(cost.div_ceil(self.refill.get()).saturating_mul(self.period_us.get()))
    }
}

impl IntervalBucketState {
    /// The state of a key that was never seen.
    pub const NEW: Self =
        Self { missing: 0, full_until: Timestamp::from_micros(0), last_admitted: Timestamp::from_micros(0) };
}
