//! Sliding window by sub-windows, the oldest counted in full: never above the limit in any interval as long as the window.
//!
//! What it costs is patience: a sub-window counts until it has left the window whole, so a key behaves as if its window
//! were longer by one sub-window, `window * (1 + 1 / sub_windows)`.

use super::error::whole_micros;
use super::{Cost, Inheritance, PolicyError, Transition};
use crate::time::Timestamp;
use core::num::NonZeroU64;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Most sub-windows of one window: what one key may remember.
pub const SUB_WINDOWS_MAX: u64 = 64;

/// Settings of one sliding window by sub-windows.
///
/// ```
/// use shared::limiter::sub_windows::{SubWindowsPolicy, SubWindowsState};
/// use shared::time::Timestamp;
/// use std::time::Duration;
/// let policy = SubWindowsPolicy::new(100, Duration::from_secs(1), 10).unwrap();
/// let spent = policy.check(SubWindowsState::default(), Timestamp::from_micros(980_000), 100).state;
/// let later = policy.check(spent, Timestamp::from_micros(1_010_000), 100).decision;
/// assert_eq!(later.retry_after(), Some(Duration::from_millis(990)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubWindowsPolicy {
    limit: Cost,
    window_us: NonZeroU64,
    /// 1 to [`SUB_WINDOWS_MAX`], at most one a microsecond.
    sub_windows: NonZeroU64,
}

/// What sub-windows remember of one key; the default is a key that was never seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubWindowsState {
    /// Cost of each sub-window, the one of `last_admitted` last; `sub_windows + 1` of them, or none while nothing was
    /// taken.
    counts: Box<[Cost]>,
    last_admitted: Timestamp,
}

impl SubWindowsPolicy {
    /// A policy that admits at most `limit` in any interval as long as `window`; a limit of 0 denies everything for ever.
    ///
    /// # Errors
    /// [`PolicyError`] unless the window is whole microseconds, at least 1 and below 2^53, and has 1 to
    /// [`SUB_WINDOWS_MAX`] sub-windows of at least one microsecond. They need not divide it.
    pub fn new(limit: Cost, window: Duration, sub_windows: u64) -> Result<Self, PolicyError> {
        let window_us = whole_micros(window)?;
        let parts = NonZeroU64::new(sub_windows).filter(|parts| parts.get() <= SUB_WINDOWS_MAX);
        let parts = parts.filter(|parts| *parts <= window_us);
        let sub_windows = parts.ok_or(PolicyError::SubWindows { most: SUB_WINDOWS_MAX })?;
        Ok(Self { limit, window_us, sub_windows })
    }

    /// Decides whether `cost` may pass at `now`, which counts as no earlier than the last admission.
    pub fn check(&self, state: SubWindowsState, now: Timestamp, cost: Cost) -> Transition<SubWindowsState> {
        let now = now.max(state.last_admitted);
        let mut counts = self.counts_at(&state, now);
        let remaining = self.limit.saturating_sub(sum(&counts));
        if cost > remaining {
            let lacking = cost.saturating_sub(remaining);
            let retry_after = (cost <= self.limit).then(|| self.time_for(&counts, now, lacking));
            return Transition::denied(state, now, remaining, retry_after, self.reset_after(&counts, now));
        }
        if cost == 0 {
            return Transition::allowed(state, now, remaining, self.reset_after(&counts, now));
        }
        if let Some(newest) = counts.last_mut() {
            *newest = newest.saturating_add(cost);
        }
        let reset_after = self.reset_after(&counts, now);
        let taken = SubWindowsState { counts: counts.into(), last_admitted: now };
        Transition::allowed(taken, now, remaining.saturating_sub(cost), reset_after)
    }

    /// Gives back `cost` that was taken at `taken_at`, as far as it still counts: to its sub-window, and what that does
    /// not hold to those before it, which leave sooner.
    #[must_use]
    pub fn refund(&self, state: SubWindowsState, cost: Cost, taken_at: Timestamp) -> SubWindowsState {
        let newest = self.index_of(state.last_admitted);
        let later = newest.saturating_sub(self.index_of(taken_at));
        let later = usize::try_from(later).unwrap_or(usize::MAX);
        let mut counts = state.counts;
        let mut owed = cost;
        for count in counts.iter_mut().rev().skip(later) {
            let returned = owed.min(*count);
            *count = count.saturating_sub(returned);
            owed = owed.saturating_sub(returned);
        }
        SubWindowsState { counts, ..state }
    }

    /// The state of a key that `previous` counted until `now`. Where the sub-windows are others, all that is in use
    /// counts as taken at `now`.
    #[must_use]
    pub fn inherit(
        &self,
        previous: &Self,
        state: &SubWindowsState,
        now: Timestamp,
        how: Inheritance,
    ) -> SubWindowsState {
        let now = now.max(state.last_admitted);
        let counts = previous.counts_at(state, now);
        let used = how.carry(sum(&counts), previous.limit, self.limit);
        let is_same = previous.window_us == self.window_us && previous.sub_windows == self.sub_windows;
        // From the newest on, so that what does not fit is what would leave first.
        let wanted = counts.iter().rev().map(|count| how.carry(*count, previous.limit, self.limit));
        let mut room = used;
        let mut carried: Vec<Cost> = if is_same {
            let fit = |wanted: Cost| {
                let fits = wanted.min(room);
                room = room.saturating_sub(fits);
                fits
            };
            wanted.map(fit).collect()
        } else {
            let parts = usize::try_from(self.sub_windows.get()).unwrap_or(0);
            core::iter::once(used).chain(core::iter::repeat_n(0, parts)).collect()
        };
        carried.reverse();
        SubWindowsState { counts: carried.into(), last_admitted: now }
    }

    /// Whether `state` decides like a new one from `now` on.
    pub fn is_as_new(&self, state: &SubWindowsState, now: Timestamp) -> bool {
        now >= state.last_admitted && sum(&self.counts_at(state, now)) == 0
    }

    /// The most cost admitted in any window.
    pub const fn limit(&self) -> Cost {
        self.limit
    }

    /// The length of the window.
    pub const fn window(&self) -> Duration {
        Duration::from_micros(self.window_us.get())
    }

    /// Parts of the window.
    pub const fn sub_windows(&self) -> u64 {
        self.sub_windows.get()
    }

    /// The counts of the sub-windows that still count at `now`, oldest first: `sub_windows + 1` of them.
    fn counts_at(&self, state: &SubWindowsState, now: Timestamp) -> Vec<Cost> {
        let passed = self.index_of(now).saturating_sub(self.index_of(state.last_admitted));
        let kept = usize::try_from(self.sub_windows.get().saturating_add(1)).unwrap_or(0);
        let passed = usize::try_from(passed).unwrap_or(usize::MAX).min(kept);
        let held = state.counts.iter().rev().copied().chain(core::iter::repeat(0));
        let mut newest_first: Vec<Cost> = core::iter::repeat_n(0, passed).chain(held).take(kept).collect();
        newest_first.reverse();
        newest_first
    }

    /// The sub-window that holds `at`; below 2^59.
    fn index_of(&self, at: Timestamp) -> u64 {
        at.as_micros().saturating_mul(self.sub_windows.get()) / self.window_us
    }

    /// The first moment of a sub-window.
    fn start_of(&self, index: u64) -> Timestamp {
        let scaled = u128::from(index).saturating_mul(u128::from(self.window_us.get()));
        let start_us = scaled.div_ceil(u128::from(self.sub_windows.get()));
        Timestamp::from_micros(u64::try_from(start_us).unwrap_or(u64::MAX))
    }

    /// Time until the oldest sub-windows that hold `lacking` have left.
    fn time_for(&self, counts: &[Cost], now: Timestamp, lacking: Cost) -> Duration {
        let mut freed: Cost = 0;
        let mut next = self.index_of(now);
        for count in counts {
            freed = freed.saturating_add(*count);
            next = next.saturating_add(1);
            if freed >= lacking {
                break;
            }
        }
        self.start_of(next).since(now)
    }

    /// Time until the newest sub-window with a count has left.
    fn reset_after(&self, counts: &[Cost], now: Timestamp) -> Duration {
        let used = sum(counts);
        if used == 0 { Duration::ZERO } else { self.time_for(counts, now, used) }
    }
}

fn sum(counts: &[Cost]) -> Cost {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}
