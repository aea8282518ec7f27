//! Leaky queue: requests go on one by one, spaced by `period / rate`, and each is told how long to be held.
//!
//! With a cost of 1, at most `1 + rate * t` go on in any interval `t`; a larger cost goes on whole and keeps the way busy
//! for as long as its units would. It is [GCRA](super::gcra) with a burst of `max_waiting + 1`, whose debt is the delay:
//! so at most `max_waiting + 1 + rate * t` are accepted.

use super::gcra::{GcraPolicy, GcraState};
use super::{Cost, Decision, Inheritance, PolicyError, Transition};
use crate::time::Timestamp;
use core::time::Duration;

/// Settings of one leaky queue.
///
/// ```
/// use shared::limiter::{Decision, gcra::GcraState, leaky_queue::LeakyQueuePolicy};
/// use shared::time::Timestamp;
/// use std::time::Duration;
/// let policy = LeakyQueuePolicy::new(10, Duration::from_secs(1), 1).unwrap();
/// let now = Timestamp::from_micros(0);
/// let first = policy.check(GcraState::NEW, now, 1);
/// let second = policy.check(first.state, now, 1);
/// let held = Duration::from_millis(100);
/// assert_eq!(second.decision, Decision::Allowed { remaining: 0, reset_after: 2 * held, delay: held });
/// assert_eq!(policy.check(second.state, now, 1).decision.retry_after(), Some(held));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeakyQueuePolicy {
    /// Its burst is the unit that is on its way, and those that wait.
    meter: GcraPolicy,
}

impl LeakyQueuePolicy {
    /// A policy that lets `rate` go on each `period`, and holds at most `max_waiting` at once.
    ///
    /// A rate of 0 denies every cost above 0 for ever; `max_waiting` of 0 holds nobody.
    ///
    /// # Errors
    /// [`PolicyError`] as [`GcraPolicy::new`] with a burst of `max_waiting + 1`.
    pub fn new(rate: u64, period: Duration, max_waiting: Cost) -> Result<Self, PolicyError> {
        let accepted = max_waiting.checked_add(1).ok_or(PolicyError::BeyondResolution)?;
        Ok(Self { meter: GcraPolicy::new(accepted, rate, period)? })
    }

    /// Decides whether `cost` may join at `now`, which counts as no earlier than the last admission, and how long it is
    /// held: until all before it have gone on.
    pub fn check(&self, state: GcraState, now: Timestamp, cost: Cost) -> Transition<GcraState> {
        let mut transition = self.meter.check(state, now, cost);
        if let Decision::Allowed { delay, .. } = &mut transition.decision {
            *delay = self.meter.check(state, now, 0).decision.reset_after();
        }
        transition
    }

    /// Gives nothing back: others were told their times by the place that this cost had, and the spacing is the promise.
    #[must_use]
    pub fn refund(&self, state: GcraState) -> GcraState {
        state
    }

    /// The state of a key that `previous` counted until `now`.
    #[must_use]
    pub fn inherit(&self, previous: &Self, state: GcraState, now: Timestamp, how: Inheritance) -> GcraState {
        self.meter.inherit(&previous.meter, state, now, how)
    }

    /// Whether `state` decides like [`GcraState::NEW`] from `now` on.
    pub fn is_as_new(&self, state: GcraState, now: Timestamp) -> bool {
        self.meter.is_as_new(state, now)
    }

    /// Cost that goes on each period of the meter; 0 when the policy denies everything.
    pub const fn rate(&self) -> u64 {
        if self.meter.burst_capacity() == 0 { 0 } else { self.meter.rate() }
    }

    /// The meter that knows the places taken: a GCRA policy with a burst of `max_waiting + 1`.
    pub const fn meter(&self) -> &GcraPolicy {
        &self.meter
    }
}
