//! One key of a table: 48 bytes, whatever counts it.

use super::policies::PolicyId;
use crate::limiter::State;
use crate::limiter::concurrency::ConcurrencyState;
use crate::limiter::fixed_window::FixedWindowState;
use crate::limiter::gcra::GcraState;
use crate::limiter::interval_bucket::IntervalBucketState;
use crate::limiter::key::KeyHash;
use crate::limiter::lockout::LockoutState;
use crate::limiter::long_quota::LongQuotaState;
use crate::limiter::sliding_log::SlidingLogState;
use crate::limiter::sub_windows::SubWindowsState;
use crate::limiter::two_counters::TwoCountersState;

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: KeyHash,
    kept: Kept,
}

/// A [`State`] and who counts it. One enum, so that the policy lies where the state's tag leaves room.
#[derive(Debug)]
enum Kept {
    Gcra(PolicyId, GcraState),
    IntervalBucket(PolicyId, IntervalBucketState),
    LeakyQueue(PolicyId, GcraState),
    FixedWindow(PolicyId, FixedWindowState),
    SlidingLog(PolicyId, SlidingLogState),
    TwoCounters(PolicyId, TwoCountersState),
    SubWindows(PolicyId, SubWindowsState),
    Lockout(PolicyId, LockoutState),
    LongQuota(PolicyId, LongQuotaState),
    Concurrency(PolicyId, ConcurrencyState),
}

const _: () = assert!(size_of::<Entry>() <= 48, "the memory of a table is a promise");

impl Entry {
    pub(super) fn new(key: KeyHash, policy: PolicyId, state: State) -> Self {
        Self { key, kept: Kept::new(policy, state) }
    }

    pub(super) fn policy(&self) -> PolicyId {
        match &self.kept {
            Kept::Gcra(policy, _)
            | Kept::IntervalBucket(policy, _)
            | Kept::LeakyQueue(policy, _)
            | Kept::FixedWindow(policy, _)
            | Kept::SlidingLog(policy, _)
            | Kept::TwoCounters(policy, _)
            | Kept::SubWindows(policy, _)
            | Kept::Lockout(policy, _)
            | Kept::LongQuota(policy, _)
            | Kept::Concurrency(policy, _) => *policy,
        }
    }

    pub(super) fn state(&self) -> State {
        match &self.kept {
            Kept::Gcra(_, state) => State::Gcra(*state),
            Kept::IntervalBucket(_, state) => State::IntervalBucket(*state),
            Kept::LeakyQueue(_, state) => State::LeakyQueue(*state),
            Kept::FixedWindow(_, state) => State::FixedWindow(*state),
            Kept::SlidingLog(_, state) => State::SlidingLog(state.clone()),
            Kept::TwoCounters(_, state) => State::TwoCounters(*state),
            Kept::SubWindows(_, state) => State::SubWindows(state.clone()),
            Kept::Lockout(_, state) => State::Lockout(*state),
            Kept::LongQuota(_, state) => State::LongQuota(*state),
            Kept::Concurrency(_, state) => State::Concurrency(state.clone()),
        }
    }

    /// The state of a key that GCRA counts.
    pub(super) fn gcra(&self) -> Option<GcraState> {
        match self.kept {
            Kept::Gcra(_, state) => Some(state),
            _ => None,
        }
    }

    /// The policy and the state of a key that GCRA counts, to be changed in place.
    pub(super) fn gcra_mut(&mut self) -> Option<(PolicyId, &mut GcraState)> {
        match &mut self.kept {
            Kept::Gcra(policy, state) => Some((*policy, state)),
            _ => None,
        }
    }

    /// Writes another state, which `policy` counts from now on.
    pub(super) fn keep(&mut self, policy: PolicyId, state: State) {
        self.kept = Kept::new(policy, state);
    }
}

impl Kept {
    fn new(policy: PolicyId, state: State) -> Self {
        match state {
            State::Gcra(state) => Self::Gcra(policy, state),
            State::IntervalBucket(state) => Self::IntervalBucket(policy, state),
            State::LeakyQueue(state) => Self::LeakyQueue(policy, state),
            State::FixedWindow(state) => Self::FixedWindow(policy, state),
            State::SlidingLog(state) => Self::SlidingLog(policy, state),
            State::TwoCounters(state) => Self::TwoCounters(policy, state),
            State::SubWindows(state) => Self::SubWindows(policy, state),
            State::Lockout(state) => Self::Lockout(policy, state),
            State::LongQuota(state) => Self::LongQuota(policy, state),
            State::Concurrency(state) => Self::Concurrency(policy, state),
        }
    }
}
