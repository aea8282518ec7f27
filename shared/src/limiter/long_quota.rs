//! Long quota: so much a calendar day or month, in a zone that the policy names.
//!
//! In any interval no longer than a period a key is admitted at most `2 * limit`, across one boundary. Days begin when
//! the zone's clocks first show midnight or later: 23, 24 or 25 hours, and whatever else a government decides.

use super::calendar::Calendar;
use super::zone::Zone;
use super::{Cost, Inheritance, Transition};
use crate::time::Timestamp;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Settings of one long quota.
///
/// ```
/// use shared::limiter::{calendar::Calendar, long_quota::{LongQuotaPolicy, LongQuotaState}, zone::Zone};
/// use shared::time::Timestamp;
/// use std::time::Duration;
/// let policy = LongQuotaPolicy::new(10, Calendar::Month, Zone::UTC);
/// let last_hour_of_february_2028 = Timestamp::from_millis(1_835_478_000_000);
/// let spent = policy.check(LongQuotaState::NEW, last_hour_of_february_2028, 10).state;
/// let more = policy.check(spent, last_hour_of_february_2028, 1).decision;
/// assert_eq!(more.retry_after(), Some(Duration::from_secs(3600)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongQuotaPolicy {
    limit: Cost,
    calendar: Calendar,
    zone: Zone,
}

/// What a long quota remembers of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongQuotaState {
    used: Cost,
    /// The first moment after the period that `used` was taken in.
    ends_at: Timestamp,
    last_admitted: Timestamp,
}

impl LongQuotaPolicy {
    /// A policy that admits `limit` in each day or month of `zone`; a limit of 0 denies every cost above 0 for ever.
    pub const fn new(limit: Cost, calendar: Calendar, zone: Zone) -> Self {
        Self { limit, calendar, zone }
    }

    /// Decides whether `cost` may pass at `now`, which counts as no earlier than the last admission. The calendar is
    /// asked only by the first admission of a period.
    pub fn check(&self, state: LongQuotaState, now: Timestamp, cost: Cost) -> Transition<LongQuotaState> {
        let now = now.max(state.last_admitted);
        let used = self.used_at(state, now);
        let reset_after = if used == 0 { Duration::ZERO } else { state.ends_at.since(now) };
        let remaining = self.limit.saturating_sub(used);
        if cost > remaining {
            let retry_after = (cost <= self.limit).then_some(reset_after);
            return Transition::denied(state, now, remaining, retry_after, reset_after);
        }
        if cost == 0 {
            return Transition::allowed(state, now, remaining, reset_after);
        }
        let ends_at = if used == 0 { self.calendar.period(self.zone, now).end } else { state.ends_at };
        let taken = LongQuotaState { used: used.saturating_add(cost), ends_at, last_admitted: now };
        Transition::allowed(taken, now, remaining.saturating_sub(cost), ends_at.since(now))
    }

    /// Gives back `cost` that was taken at `taken_at`, if that was in the period of `now`; never above the limit.
    #[must_use]
    pub fn refund(
        &self,
        state: LongQuotaState,
        now: Timestamp,
        cost: Cost,
        taken_at: Timestamp,
    ) -> LongQuotaState {
        let used = self.used_at(state, now.max(state.last_admitted));
        if used == 0 || taken_at < self.calendar.period(self.zone, state.last_admitted).start {
            return state;
        }
        LongQuotaState { used: used.saturating_sub(cost), ..state }
    }

    /// The state of a key that `previous` counted until `now`: in use until the period of this policy ends.
    #[must_use]
    pub fn inherit(
        &self,
        previous: &Self,
        state: LongQuotaState,
        now: Timestamp,
        how: Inheritance,
    ) -> LongQuotaState {
        let now = now.max(state.last_admitted);
        let used = how.carry(previous.used_at(state, now), previous.limit, self.limit);
        let ends_at = if used == 0 { now } else { self.calendar.period(self.zone, now).end };
        LongQuotaState { used, ends_at, last_admitted: now }
    }

    /// Whether `state` decides like [`LongQuotaState::NEW`] from `now` on.
    pub fn is_as_new(&self, state: LongQuotaState, now: Timestamp) -> bool {
        now >= state.last_admitted && self.used_at(state, now) == 0
    }

    /// The most cost admitted in one period.
    pub const fn limit(&self) -> Cost {
        self.limit
    }

    /// What a period is.
    pub const fn calendar(&self) -> Calendar {
        self.calendar
    }

    /// Whose midnight it is.
    pub const fn zone(&self) -> Zone {
        self.zone
    }

    fn used_at(&self, state: LongQuotaState, now: Timestamp) -> Cost {
        if now < state.ends_at { state.used.min(self.limit) } else { 0 }
    }
}

impl LongQuotaState {
    /// The state of a key that was never seen.
    pub const NEW: Self =
        Self { used: 0, ends_at: Timestamp::from_micros(0), last_admitted: Timestamp::from_micros(0) };
}
