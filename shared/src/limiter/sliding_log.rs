//! Sliding log: every unit is remembered, so exactly the limit fits in any interval as long as the window.
//!
//! A unit taken at `t` counts until `t + window` and no longer. Memory is 8 bytes a unit, so the limit is at most
//! [`LOG_LIMIT_MAX`]; for more, [sub-windows](super::sub_windows) keep the same promise in less.

use super::error::whole_micros;
use super::{Cost, Inheritance, PolicyError, Transition};
use crate::time::Timestamp;
use core::num::NonZeroU64;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Largest limit of a sliding log: 32 KB for one key.
pub const LOG_LIMIT_MAX: Cost = 4096;

/// Settings of one sliding log.
///
/// ```
/// use shared::limiter::sliding_log::{SlidingLogPolicy, SlidingLogState};
/// use shared::time::Timestamp;
/// use std::time::Duration;
/// let policy = SlidingLogPolicy::new(2, Duration::from_secs(1)).unwrap();
/// let at = Timestamp::from_micros;
/// let first = policy.check(SlidingLogState::default(), at(0), 1).state;
/// let second = policy.check(first, at(400_000), 1).state;
/// assert_eq!(policy.check(second.clone(), at(999_999), 1).decision.retry_after(), Some(Duration::from_micros(1)));
/// assert!(policy.check(second, at(1_000_000), 1).decision.is_allowed());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingLogPolicy {
    /// At most [`LOG_LIMIT_MAX`].
    limit: Cost,
    window_us: NonZeroU64,
}

/// What a sliding log remembers of one key; the default is a key that was never seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlidingLogState {
    /// One entry a unit, oldest first.
    admitted: Box<[Timestamp]>,
    last_admitted: Timestamp,
}

impl SlidingLogPolicy {
    /// A policy that admits `limit` in any interval as long as `window`; a limit of 0 denies everything for ever.
    ///
    /// # Errors
    /// [`PolicyError`] unless the window is whole microseconds, at least 1 and below 2^53, and the limit at most
    /// [`LOG_LIMIT_MAX`].
    pub fn new(limit: Cost, window: Duration) -> Result<Self, PolicyError> {
        if limit > LOG_LIMIT_MAX {
            return Err(PolicyError::LimitTooLarge { most: LOG_LIMIT_MAX });
        }
        Ok(Self { limit, window_us: whole_micros(window)? })
    }

    /// Decides whether `cost` may pass at `now`, which counts as no earlier than the last admission.
    pub fn check(&self, state: SlidingLogState, now: Timestamp, cost: Cost) -> Transition<SlidingLogState> {
        let now = now.max(state.last_admitted);
        let inside = self.inside(&state, now);
        let remaining = self.limit.saturating_sub(units(inside));
        if cost > remaining {
            let lacking = cost.saturating_sub(remaining);
            let retry_after = (cost <= self.limit).then(|| self.time_for(inside, now, lacking));
            let reset_after = self.reset_after(inside, now);
            return Transition::denied(state, now, remaining, retry_after, reset_after);
        }
        if cost == 0 {
            let reset_after = self.reset_after(inside, now);
            return Transition::allowed(state, now, remaining, reset_after);
        }
        let taken = core::iter::repeat_n(now, usize::try_from(cost).unwrap_or(0));
        let admitted: Box<[Timestamp]> = inside.iter().copied().chain(taken).collect();
        let reset_after = self.reset_after(&admitted, now);
        let state = SlidingLogState { admitted, last_admitted: now };
        Transition::allowed(state, now, remaining.saturating_sub(cost), reset_after)
    }

    /// Gives back `cost` that was taken at `taken_at`, as far as it still counts: the newest units up to then, so that
    /// what stays is never older than what was given back.
    #[must_use]
    pub fn refund(
        &self,
        state: SlidingLogState,
        now: Timestamp,
        cost: Cost,
        taken_at: Timestamp,
    ) -> SlidingLogState {
        let now = now.max(state.last_admitted);
        if taken_at.saturating_add(self.window()) <= now {
            return state;
        }
        // What has left stays written: where a clock steps back it counts again.
        let inside = self.inside(&state, now);
        let left = state.admitted.len().saturating_sub(inside.len());
        let later = left.saturating_add(inside.partition_point(|at| *at <= taken_at));
        let kept = later.saturating_sub(usize::try_from(cost).unwrap_or(usize::MAX)).max(left);
        let units = state.admitted.iter();
        let admitted = units.clone().take(kept).chain(units.skip(later)).copied().collect();
        SlidingLogState { admitted, last_admitted: state.last_admitted }
    }

    /// The state of a key that `previous` counted until `now`: of its units the newest, or evenly chosen ones where their
    /// share is kept. A shorter window no longer counts the older ones.
    #[must_use]
    pub fn inherit(
        &self,
        previous: &Self,
        state: &SlidingLogState,
        now: Timestamp,
        how: Inheritance,
    ) -> SlidingLogState {
        let now = now.max(state.last_admitted);
        let inside = previous.inside(state, now);
        let (held, kept) = (units(inside), how.carry(units(inside), previous.limit, self.limit));
        let source = |unit: Cost| match how {
            Inheritance::Keep | Inheritance::Reset => held.saturating_sub(kept).checked_add(unit),
            Inheritance::Proportional => unit.saturating_mul(held).checked_div(kept),
        };
        let entry = |unit| usize::try_from(source(unit)?).ok().and_then(|index| inside.get(index)).copied();
        SlidingLogState { admitted: (0..kept).filter_map(entry).collect(), last_admitted: now }
    }

    /// Whether `state` decides like a new one from `now` on.
    pub fn is_as_new(&self, state: &SlidingLogState, now: Timestamp) -> bool {
        now >= state.last_admitted && self.inside(state, now).is_empty()
    }

    /// The most cost admitted in any window.
    pub const fn limit(&self) -> Cost {
        self.limit
    }

    /// The length of the window.
    pub const fn window(&self) -> Duration {
        Duration::from_micros(self.window_us.get())
    }

    /// The units that count at `now`, oldest first; at most the limit.
    fn inside<'a>(&self, state: &'a SlidingLogState, now: Timestamp) -> &'a [Timestamp] {
        let left = state.admitted.partition_point(|at| at.saturating_add(self.window()) <= now);
        let most = usize::try_from(self.limit).unwrap_or(usize::MAX);
        state.admitted.get(left.max(state.admitted.len().saturating_sub(most))..).unwrap_or_default()
    }

    /// Time until the oldest `lacking` units have left.
    fn time_for(&self, inside: &[Timestamp], now: Timestamp, lacking: Cost) -> Duration {
        let last_to_leave =
            usize::try_from(lacking.saturating_sub(1)).ok().and_then(|index| inside.get(index));
        last_to_leave.map_or(Duration::ZERO, |at| at.saturating_add(self.window()).since(now))
    }

    fn reset_after(&self, inside: &[Timestamp], now: Timestamp) -> Duration {
        self.time_for(inside, now, units(inside))
    }
}

fn units(entries: &[Timestamp]) -> Cost {
    Cost::try_from(entries.len()).unwrap_or(Cost::MAX)
}
