//! A breaker: while a dependency fails, calls to it are not made, but for one probe at a time.
//!
//! It opens when at least [`FAILURES_MIN`] calls of the last [`WINDOW`] failed and they are at least half of its calls. It
//! stays open for [`OPEN_MIN`], twice as long after each probe that fails, at most [`OPEN_MAX`]. A probe is leased: when
//! its answer does not come within [`PROBE_LIFE`], another call becomes the probe. An answer that belongs to a time before
//! the breaker last changed counts for nothing.

use crate::time::Timestamp;
use core::time::Duration;

/// Failures from which on the breaker may open.
pub const FAILURES_MIN: u32 = 5;

/// The time in which failures are counted.
pub const WINDOW: Duration = Duration::from_secs(1);

/// How long the breaker is open at first.
pub const OPEN_MIN: Duration = Duration::from_millis(250);

/// The longest time between two probes.
pub const OPEN_MAX: Duration = Duration::from_secs(5);

/// How long a probe may take.
pub const PROBE_LIFE: Duration = Duration::from_millis(500);

/// Whether a dependency is called.
///
/// ```
/// use shared::guard::breaker::{Breaker, FAILURES_MIN, OPEN_MIN};
/// use shared::time::Timestamp;
/// let (mut breaker, now) = (Breaker::default(), Timestamp::from_micros(7_000_000));
/// for _ in 0..FAILURES_MIN {
///     let call = breaker.begin(now).unwrap();
///     breaker.end(call, false, now);
/// }
/// assert!(breaker.begin(now).is_none());
/// let probe = breaker.begin(now.saturating_add(OPEN_MIN)).unwrap();
/// breaker.end(probe, true, now.saturating_add(OPEN_MIN));
/// assert!(breaker.begin(now.saturating_add(OPEN_MIN)).is_some());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Breaker {
    state: State,
    /// Counts changes of the state, so that late answers are known.
    generation: u64,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Closed { window_start: Timestamp, calls: u32, failures: u32 },
    Open { until: Timestamp, opened_for: Duration },
    HalfOpen { probe_until: Timestamp, opened_for: Duration },
}

/// A call that was let through. Its outcome is told with [`Breaker::end`], if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permission {
    generation: u64,
}

impl Default for State {
    fn default() -> Self {
        Self::Closed { window_start: Timestamp::default(), calls: 0, failures: 0 }
    }
}

impl Breaker {
    /// Asks to call; `None`: do without the dependency.
    pub fn begin(&mut self, now: Timestamp) -> Option<Permission> {
        match self.state {
            State::Closed { .. } => {}
            State::Open { until, .. } if now < until => return None,
            State::HalfOpen { probe_until, .. } if now < probe_until => return None,
            State::Open { opened_for, .. } | State::HalfOpen { opened_for, .. } => {
                self.change(State::HalfOpen { probe_until: now.saturating_add(PROBE_LIFE), opened_for });
            }
        }
        Some(Permission { generation: self.generation })
    }

    /// Tells how a call ended. Whoever cannot tell, because nobody waited for the answer, need not.
    pub fn end(&mut self, call: Permission, is_good: bool, now: Timestamp) {
        if call.generation != self.generation {
            return;
        }
        match self.state {
            State::Closed { window_start, calls, failures } => {
                let is_over = now.since(window_start) >= WINDOW;
                let (calls, failures) = if is_over { (0, 0) } else { (calls, failures) };
                let window_start = if is_over { now } else { window_start };
                let calls = calls.saturating_add(1);
                let failures = failures.saturating_add(u32::from(!is_good));
                if failures >= FAILURES_MIN && failures.saturating_mul(2) >= calls {
                    self.open(OPEN_MIN, now);
                } else {
                    self.state = State::Closed { window_start, calls, failures };
                }
            }
            State::HalfOpen { .. } if is_good => self.change(State::default()),
            State::HalfOpen { opened_for, .. } => self.open(opened_for.saturating_mul(2).min(OPEN_MAX), now),
            State::Open { .. } => {}
        }
    }

    /// Whether calls are made as usual.
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed { .. })
    }

    fn open(&mut self, opened_for: Duration, now: Timestamp) {
        self.change(State::Open { until: now.saturating_add(opened_for), opened_for });
    }

    fn change(&mut self, state: State) {
        self.state = state;
        self.generation = self.generation.saturating_add(1);
    }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "a test may panic")]
mod tests {
    use super::*;

    fn at_ms(millis: u64) -> Timestamp {
        Timestamp::from_millis(1_764_460_800_000 + millis)
    }

    fn call(breaker: &mut Breaker, is_good: bool, millis: u64) {
        if let Some(permission) = breaker.begin(at_ms(millis)) {
            breaker.end(permission, is_good, at_ms(millis));
        }
    }

    fn opened() -> Breaker {
        let mut breaker = Breaker::default();
        (0..5).for_each(|_| call(&mut breaker, false, 0));
        breaker
    }

    #[test]
    fn it_opens_on_a_share_of_failures_and_not_on_a_count() {
        let mut busy = Breaker::default();
        (0..100).for_each(|_| call(&mut busy, true, 0));
        (0..50).for_each(|_| call(&mut busy, false, 0));
        assert!(busy.is_closed());
        let mut few = Breaker::default();
        (0..4).for_each(|_| call(&mut few, false, 0));
        assert!(few.is_closed());
        call(&mut few, false, 1_000);
        assert!(few.is_closed(), "the failures of the second before are forgotten");
        assert!(!opened().is_closed());
    }

    #[test]
    fn one_probe_at_a_time_and_a_lost_one_is_replaced() {
        let mut breaker = opened();
        assert_eq!(breaker.begin(at_ms(249)), None);
        let lost = breaker.begin(at_ms(250)).unwrap();
        assert_eq!(breaker.begin(at_ms(749)), None);
        let second = breaker.begin(at_ms(750)).unwrap();
        breaker.end(lost, true, at_ms(760));
        assert!(!breaker.is_closed(), "the answer of a probe that was given up counts for nothing");
        breaker.end(second, true, at_ms(770));
        assert!(breaker.is_closed());
    }

    #[test]
    fn it_stays_open_twice_as_long_after_each_failed_probe() {
        let mut breaker = opened();
        let mut now_ms = 0;
        for open_ms in [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000] {
            assert_eq!(breaker.begin(at_ms(now_ms + open_ms - 1)), None, "{open_ms}");
            now_ms += open_ms;
            call(&mut breaker, false, now_ms);
        }
    }

    #[test]
    fn late_answers_from_before_count_for_nothing() {
        let mut breaker = Breaker::default();
        let slow = breaker.begin(at_ms(0)).unwrap();
        (0..5).for_each(|_| call(&mut breaker, false, 0));
        breaker.end(slow, true, at_ms(10));
        assert!(!breaker.is_closed());
    }
}
