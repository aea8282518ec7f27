//! The closed list of the algorithms.

use super::concurrency::{ConcurrencyPolicy, ConcurrencyState, Holder};
use super::fixed_window::{FixedWindowPolicy, FixedWindowState};
use super::gcra::{GcraPolicy, GcraState};
use super::interval_bucket::{IntervalBucketPolicy, IntervalBucketState};
use super::leaky_queue::LeakyQueuePolicy;
use super::lockout::{LockoutPolicy, LockoutState};
use super::long_quota::{LongQuotaPolicy, LongQuotaState};
use super::sliding_log::{SlidingLogPolicy, SlidingLogState};
use super::sub_windows::{SubWindowsPolicy, SubWindowsState};
use super::two_counters::{TwoCountersPolicy, TwoCountersState};
use super::{Cost, Decision, Inheritance, PolicySettings, Transition};
use crate::time::Timestamp;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// The settings of one limiter. Two policies with the same settings are the same policy; they travel as
/// [`PolicySettings`] and are checked again where they arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PolicySettings", into = "PolicySettings")]
pub enum Policy {
    /// See [`gcra`](super::gcra).
    Gcra(GcraPolicy),
    /// See [`interval_bucket`](super::interval_bucket).
    IntervalBucket(IntervalBucketPolicy),
    /// See [`leaky_queue`](super::leaky_queue).
    LeakyQueue(LeakyQueuePolicy),
    /// See [`fixed_window`](super::fixed_window).
    FixedWindow(FixedWindowPolicy),
    /// See [`sliding_log`](super::sliding_log).
    SlidingLog(SlidingLogPolicy),
    /// See [`two_counters`](super::two_counters).
    TwoCounters(TwoCountersPolicy),
    /// See [`sub_windows`](super::sub_windows).
    SubWindows(SubWindowsPolicy),
    /// See [`lockout`](super::lockout).
    Lockout(LockoutPolicy),
    /// See [`long_quota`](super::long_quota).
    LongQuota(LongQuotaPolicy),
    /// See [`concurrency`](super::concurrency).
    Concurrency(ConcurrencyPolicy),
}

/// What a limiter remembers of one key. A state of another algorithm than the policy's decides like a new one; whoever
/// changes policies asks [`Policy::inherit`] first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// See [`gcra`](super::gcra).
    Gcra(GcraState),
    /// See [`interval_bucket`](super::interval_bucket).
    IntervalBucket(IntervalBucketState),
    /// See [`leaky_queue`](super::leaky_queue).
    LeakyQueue(GcraState),
    /// See [`fixed_window`](super::fixed_window).
    FixedWindow(FixedWindowState),
    /// See [`sliding_log`](super::sliding_log).
    SlidingLog(SlidingLogState),
    /// See [`two_counters`](super::two_counters).
    TwoCounters(TwoCountersState),
    /// See [`sub_windows`](super::sub_windows).
    SubWindows(SubWindowsState),
    /// See [`lockout`](super::lockout).
    Lockout(LockoutState),
    /// See [`long_quota`](super::long_quota).
    LongQuota(LongQuotaState),
    /// See [`concurrency`](super::concurrency).
    Concurrency(ConcurrencyState),
}

const _: () =
    assert!(size_of::<Policy>() <= 32 && size_of::<State>() <= 32, "the memory of a key is a promise");

impl Policy {
    /// The state of a key that was never seen.
    pub fn new_state(&self) -> State {
        match self {
            Self::Gcra(_) => State::Gcra(GcraState::NEW),
            Self::IntervalBucket(_) => State::IntervalBucket(IntervalBucketState::NEW),
            Self::LeakyQueue(_) => State::LeakyQueue(GcraState::NEW),
            Self::FixedWindow(_) => State::FixedWindow(FixedWindowState::NEW),
            Self::SlidingLog(_) => State::SlidingLog(SlidingLogState::default()),
            Self::TwoCounters(_) => State::TwoCounters(TwoCountersState::NEW),
            Self::SubWindows(_) => State::SubWindows(SubWindowsState::default()),
            Self::Lockout(_) => State::Lockout(LockoutState::NEW),
            Self::LongQuota(_) => State::LongQuota(LongQuotaState::NEW),
            Self::Concurrency(_) => State::Concurrency(ConcurrencyState::default()),
        }
    }

    /// Decides whether `cost` may pass at `now`, and what to keep then.
    ///
    /// A permit needs a holder, so a [concurrency](Self::Concurrency) limit denies every cost above 0 here.
    pub fn check(&self, state: State, now: Timestamp, cost: Cost) -> Transition<State> {
        self.check_for(state, now, cost, None)
    }

    /// Decides like [`check`](Self::check), where a permit that is taken is `holder`'s.
    pub fn check_for(
        &self,
        state: State,
        now: Timestamp,
        cost: Cost,
        holder: Option<Holder>,
    ) -> Transition<State> {
        match (self, state) {
            (Self::Gcra(policy), State::Gcra(state)) => policy.check(state, now, cost).map(State::Gcra),
            (Self::IntervalBucket(policy), State::IntervalBucket(state)) => {
                policy.check(state, now, cost).map(State::IntervalBucket)
            }
            (Self::LeakyQueue(policy), State::LeakyQueue(state)) => {
                policy.check(state, now, cost).map(State::LeakyQueue)
            }
            (Self::FixedWindow(policy), State::FixedWindow(state)) => {
                policy.check(state, now, cost).map(State::FixedWindow)
            }
            (Self::SlidingLog(policy), State::SlidingLog(state)) => {
                policy.check(state, now, cost).map(State::SlidingLog)
            }
            (Self::TwoCounters(policy), State::TwoCounters(state)) => {
                policy.check(state, now, cost).map(State::TwoCounters)
            }
            (Self::SubWindows(policy), State::SubWindows(state)) => {
                policy.check(state, now, cost).map(State::SubWindows)
            }
            (Self::Lockout(policy), State::Lockout(state)) => {
                policy.check(state, now, cost).map(State::Lockout)
            }
            (Self::LongQuota(policy), State::LongQuota(state)) => {
                policy.check(state, now, cost).map(State::LongQuota)
            }
            (Self::Concurrency(policy), State::Concurrency(state)) => {
                policy.take(state, now, holder, cost).map(State::Concurrency)
            }
            (policy, _) => policy.check_for(policy.new_state(), now, cost, holder),
        }
    }

    /// Gives back `cost` that was taken at `taken_at`: never above the maximum, and only to the window, period or units
    /// that it came from. A [leaky queue](Self::LeakyQueue) gives nothing back, and a permit is [given](Self::give).
    #[must_use]
    pub fn refund(&self, state: State, now: Timestamp, cost: Cost, taken_at: Timestamp) -> State {
        match (self, state) {
            (Self::Gcra(policy), State::Gcra(state)) => {
                State::Gcra(policy.refund(state, now, cost, taken_at))
            }
            (Self::IntervalBucket(policy), State::IntervalBucket(state)) => {
                State::IntervalBucket(policy.refund(state, now, cost, taken_at))
            }
            (Self::FixedWindow(policy), State::FixedWindow(state)) => {
                State::FixedWindow(policy.refund(state, now, cost, taken_at))
            }
            (Self::SlidingLog(policy), State::SlidingLog(state)) => {
                State::SlidingLog(policy.refund(state, now, cost, taken_at))
            }
            (Self::TwoCounters(policy), State::TwoCounters(state)) => {
                State::TwoCounters(policy.refund(state, cost, taken_at))
            }
            (Self::SubWindows(policy), State::SubWindows(state)) => {
                State::SubWindows(policy.refund(state, cost, taken_at))
            }
            (Self::Lockout(policy), State::Lockout(state)) => {
                State::Lockout(policy.refund(state, now, cost, taken_at))
            }
            (Self::LongQuota(policy), State::LongQuota(state)) => {
                State::LongQuota(policy.refund(state, now, cost, taken_at))
            }
            (_, state) => state,
        }
    }

    /// Gives back `cost` at `now`, whenever it was taken: the restore by an event of the business, up to the maximum.
    /// It ends no lock, gives no permit back, and a [leaky queue](Self::LeakyQueue) keeps the places that it told.
    #[must_use]
    pub fn replenish(&self, state: State, now: Timestamp, cost: Cost) -> State {
        match (self, state) {
            (Self::TwoCounters(policy), State::TwoCounters(state)) => {
                State::TwoCounters(policy.replenish(state, now, cost))
            }
            (Self::Lockout(policy), State::Lockout(state)) => {
                State::Lockout(policy.refund(state, now, cost, now.max(state.last_admitted())))
            }
            // Nothing has come back of what is taken at the end of time, and it is in the newest window.
            (policy, state) => policy.refund(state, now, cost, Timestamp::MAX),
        }
    }

    /// Gives back the permit of `holder`; nothing changes where it holds none, and under every policy but
    /// [concurrency](Self::Concurrency).
    #[must_use]
    pub fn give(&self, state: State, now: Timestamp, holder: Holder) -> State {
        match (self, state) {
            (Self::Concurrency(policy), State::Concurrency(state)) => {
                State::Concurrency(policy.give(&state, now, holder))
            }
            (_, state) => state,
        }
    }

    /// The state under this policy of a key that was counted by `previous` until `now`; never more in use than the new
    /// maximum.
    ///
    /// Between two algorithms, what is in use counts as taken at `now`. Permits do not become a rate, nor the reverse:
    /// such a key begins as new.
    #[must_use]
    pub fn inherit(&self, previous: &Self, state: State, now: Timestamp, how: Inheritance) -> State {
        if how == Inheritance::Reset {
            return self.new_state();
        }
        match (self, previous, state) {
            (Self::Gcra(policy), Self::Gcra(previous), State::Gcra(state)) => {
                State::Gcra(policy.inherit(previous, state, now, how))
            }
            (Self::IntervalBucket(policy), Self::IntervalBucket(previous), State::IntervalBucket(state)) => {
                State::IntervalBucket(policy.inherit(previous, state, now, how))
            }
            (Self::LeakyQueue(policy), Self::LeakyQueue(previous), State::LeakyQueue(state)) => {
                State::LeakyQueue(policy.inherit(previous, state, now, how))
            }
            (Self::FixedWindow(policy), Self::FixedWindow(previous), State::FixedWindow(state)) => {
                State::FixedWindow(policy.inherit(previous, state, now, how))
            }
            (Self::SlidingLog(policy), Self::SlidingLog(previous), State::SlidingLog(state)) => {
                State::SlidingLog(policy.inherit(previous, &state, now, how))
            }
            (Self::TwoCounters(policy), Self::TwoCounters(previous), State::TwoCounters(state)) => {
                State::TwoCounters(policy.inherit(previous, state, now, how))
            }
            (Self::SubWindows(policy), Self::SubWindows(previous), State::SubWindows(state)) => {
                State::SubWindows(policy.inherit(previous, &state, now, how))
            }
            (Self::Lockout(policy), Self::Lockout(previous), State::Lockout(state)) => {
                State::Lockout(policy.inherit(previous, state, now, how))
            }
            (Self::LongQuota(policy), Self::LongQuota(previous), State::LongQuota(state)) => {
                State::LongQuota(policy.inherit(previous, state, now, how))
            }
            (Self::Concurrency(policy), Self::Concurrency(_), State::Concurrency(state)) => {
                State::Concurrency(policy.inherit(state, how))
            }
            (policy, previous, state) => policy.take_over(previous, state, now, how),
        }
    }

    /// Whether `state` may be forgotten at `now`, because it decides like a new one from here on.
    pub fn is_as_new(&self, state: &State, now: Timestamp) -> bool {
        match (self, state) {
            (Self::Gcra(policy), State::Gcra(state)) => policy.is_as_new(*state, now),
            (Self::IntervalBucket(policy), State::IntervalBucket(state)) => policy.is_as_new(*state, now),
            (Self::LeakyQueue(policy), State::LeakyQueue(state)) => policy.is_as_new(*state, now),
            (Self::FixedWindow(policy), State::FixedWindow(state)) => policy.is_as_new(*state, now),
            (Self::SlidingLog(policy), State::SlidingLog(state)) => policy.is_as_new(state, now),
            (Self::TwoCounters(policy), State::TwoCounters(state)) => policy.is_as_new(*state, now),
            (Self::SubWindows(policy), State::SubWindows(state)) => policy.is_as_new(state, now),
            (Self::Lockout(policy), State::Lockout(state)) => policy.is_as_new(*state, now),
            (Self::LongQuota(policy), State::LongQuota(state)) => policy.is_as_new(*state, now),
            (Self::Concurrency(policy), State::Concurrency(state)) => policy.is_as_new(state, now),
            _ => true,
        }
    }

    /// Whether a key that was told `decision` is locked out: it has nothing left, although its window may be over.
    pub fn is_locked(&self, decision: &Decision) -> bool {
        let Self::Lockout(policy) = self else { return false };
        !policy.lock_time().is_zero() && decision.remaining() == 0
    }

    /// The most cost admitted at one instant from rest: `q` of `RateLimit-Policy`.
    pub const fn quota(&self) -> Cost {
        match self {
            Self::Gcra(policy) => policy.burst_capacity(),
            Self::IntervalBucket(policy) => policy.capacity(),
            Self::LeakyQueue(policy) => policy.meter().burst_capacity(),
            Self::FixedWindow(policy) => policy.limit(),
            Self::SlidingLog(policy) => policy.limit(),
            Self::TwoCounters(policy) => policy.limit(),
            Self::SubWindows(policy) => policy.limit(),
            Self::Lockout(policy) => policy.max(),
            Self::LongQuota(policy) => policy.limit(),
            Self::Concurrency(policy) => policy.permits(),
        }
    }

    /// Time in which the whole quota comes back, rounded up: `w` of `RateLimit-Policy`. The longest day or month of a
    /// long quota, the life of a permit.
    pub fn window(&self) -> Duration {
        match self {
            Self::Gcra(policy) => policy.window(),
            Self::IntervalBucket(policy) => policy.window(),
            Self::LeakyQueue(policy) => policy.meter().window(),
            Self::FixedWindow(policy) => policy.window(),
            Self::SlidingLog(policy) => policy.window(),
            Self::TwoCounters(policy) => policy.window(),
            Self::SubWindows(policy) => policy.window(),
            Self::Lockout(policy) => policy.window(),
            Self::LongQuota(policy) => policy.calendar().longest(),
            Self::Concurrency(policy) => policy.life(),
        }
    }

    /// Time from a decision until `remaining` is higher, zero when it cannot be: `t` of `RateLimit`. Sliding windows and
    /// permits may have more sooner, because a decision does not tell when their oldest parts leave.
    pub fn more_after(&self, decision: &Decision) -> Duration {
        let used = self.quota().saturating_sub(decision.remaining());
        match self {
            Self::Gcra(policy) => policy.more_after(decision),
            Self::LeakyQueue(policy) => policy.meter().more_after(decision),
            Self::IntervalBucket(policy) => policy.more_after(used, decision.reset_after()),
            _ => match *decision {
                Decision::Denied { retry_after: Some(wait), reset_after, .. } => wait.min(reset_after),
                Decision::Allowed { reset_after, .. } | Decision::Denied { reset_after, .. } => reset_after,
            },
        }
    }

    /// Whether a refusal changes the state and must be stored: a lock begins with one.
    pub(super) const fn stores_refusals(&self) -> bool {
        matches!(self, Self::Lockout(_))
    }

    /// What `previous` counted as in use, taken at `now`.
    fn take_over(&self, previous: &Self, state: State, now: Timestamp, how: Inheritance) -> State {
        let new = self.new_state();
        if matches!((self, previous), (Self::Concurrency(_), _) | (_, Self::Concurrency(_))) {
            return new;
        }
        let remaining = previous.check(state, now, 0).decision.remaining();
        let used = previous.quota().saturating_sub(remaining);
        let carried = how.carry(used, previous.quota(), self.quota());
        self.check(new, now, carried).state
    }
}
