//! GCRA, also offered as token bucket and leaky meter: one engine under three names.
//!
//! In any interval `t`, however the calls fall and however the clock steps back, a key is admitted at most
//! `burst_capacity + rate * t`. Arithmetic is exact: a unit of cost comes back every `period / rate`, a fraction that is
//! kept in lowest terms and never divided out. The debt of a key is counted in parts: `period` (of the reduced fraction)
//! parts are one unit of cost, and `rate` parts come back each microsecond.
//! So 700,000,000 per second stays 700 parts each microsecond.

use super::error::whole_micros;
use super::{Cost, Decision, Inheritance, PolicyError, Transition};
use crate::time::{Timestamp, micros};
use core::num::NonZeroU64;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Settings of one GCRA limiter, valid by construction.
///
/// ```
/// use shared::{limiter::{Decision, gcra::{GcraPolicy, GcraState}}, time::Timestamp};
/// use std::time::Duration;
/// let policy = GcraPolicy::new(10, 5, Duration::from_secs(1)).unwrap();
/// let now = Timestamp::from_micros(0);
/// let first = policy.check(GcraState::NEW, now, 8);
/// let reset_after = Duration::from_millis(1600);
/// assert_eq!(first.decision, Decision::Allowed { remaining: 2, reset_after, delay: Duration::ZERO });
/// let second = policy.check(first.state, now, 5).decision;
/// let wait = Some(Duration::from_millis(600));
/// assert_eq!(second, Decision::Denied { remaining: 2, retry_after: wait, reset_after });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Settings", into = "Settings")]
pub struct GcraPolicy {
    /// 0 denies everything.
    burst_capacity: Cost,
    /// Parts that come back each microsecond.
    rate: NonZeroU64,
    /// Parts of one unit of cost; `burst_capacity * period` fits 64 bits.
    period: NonZeroU64,
}

/// What GCRA remembers of one key: two numbers, as much as two timestamps.
///
/// The theoretical arrival time of the literature is `last_admitted + debt / rate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GcraState {
    /// Parts not yet come back at `last_admitted`.
    debt: u64,
    /// When cost was last taken: time never runs before it. Refusals, peeks and refunds leave it.
    last_admitted: Timestamp,
}

impl GcraPolicy {
    /// A policy that admits `burst_capacity` at one instant from rest, and `rate` more each `period`.
    ///
    /// A burst or a rate of 0 denies every cost above 0 for ever (`retry_after: None`, `remaining: 0`).
    ///
    /// # Errors
    /// [`PolicyError`] where the settings cannot be kept exactly: never a rounded policy instead.
    pub fn new(burst_capacity: Cost, rate: u64, period: Duration) -> Result<Self, PolicyError> {
        let period_us = whole_micros(period)?.get();
        let divisor = greatest_common_divisor(rate, period_us);
        let reduced = |whole: u64| whole.checked_div(divisor).and_then(NonZeroU64::new);
        let (Some(rate), Some(period)) = (reduced(rate), reduced(period_us)) else {
            return Ok(Self::DENY_ALL);
        };
        if burst_capacity == 0 {
            return Ok(Self::DENY_ALL);
        }
        burst_capacity.checked_mul(period.get()).ok_or(PolicyError::BeyondResolution)?;
        Ok(Self { burst_capacity, rate, period })
    }

    /// The policy that admits at most `limit` in any interval as long as `window`, `burst_capacity` of it at once.
    ///
    /// Burst = limit would give up to twice the limit in one window; here `burst_capacity + rate * window = limit`.
    ///
    /// # Errors
    /// [`PolicyError::BurstFillsLimit`] unless `1 <= burst_capacity < limit`; otherwise as [`GcraPolicy::new`].
    ///
    /// ```
    /// use shared::limiter::gcra::GcraPolicy;
    /// use std::time::Duration;
    /// let minute = Duration::from_secs(60);
    /// assert_eq!(GcraPolicy::at_most_in_any(60, minute, 10), GcraPolicy::new(10, 50, minute));
    /// ```
    pub fn at_most_in_any(limit: Cost, window: Duration, burst_capacity: Cost) -> Result<Self, PolicyError> {
        match limit.checked_sub(burst_capacity) {
            Some(rate) if rate > 0 && burst_capacity > 0 => Self::new(burst_capacity, rate, window),
            _ => Err(PolicyError::BurstFillsLimit),
        }
    }

    /// Decides whether `cost` may pass at `now`, which counts as no earlier than the last admission.
    ///
    /// A wait is counted from there: after a step back of the clock the key stands still for at most the step.
    pub fn check(&self, mut state: GcraState, now: Timestamp, cost: Cost) -> Transition<GcraState> {
        let now = now.max(state.last_admitted);
        let decision = self.take(&mut state, now, cost);
        Transition { decision, state, expiry: now.saturating_add(decision.reset_after()) }
    }

    /// [`check`](Self::check) of a state that lies where it is kept.
    #[inline]
    pub(super) fn take(&self, state: &mut GcraState, now: Timestamp, cost: Cost) -> Decision {
        let now = now.max(state.last_admitted);
        let debt = self.debt_at(*state, now);
        if cost > self.burst_capacity {
            return self.denied(debt, None);
        }
        // Fits: cost is at most burst_capacity here.
        let parts = cost.wrapping_mul(self.period.get());
        let free = self.full().saturating_sub(debt);
        if parts > free {
            return self.denied(debt, Some(self.time_for(parts.saturating_sub(free))));
        }
        let debt = debt.saturating_add(parts);
        if cost > 0 {
            *state = GcraState { debt, last_admitted: now };
        }
        let (remaining, reset_after) = (self.units_free(debt), self.time_for(debt));
        Decision::Allowed { remaining, reset_after, delay: Duration::ZERO }
    }

    /// Gives back `cost` that was taken at `taken_at`, less what has come back of it by itself since.
    ///
    /// Never above the maximum, and never more than the key would have without that cost: whatever is not given back
    /// still keeps `burst_capacity + rate * t`.
    #[must_use]
    pub fn refund(&self, state: GcraState, now: Timestamp, cost: Cost, taken_at: Timestamp) -> GcraState {
        let now = now.max(state.last_admitted);
        let taken = cost.min(self.burst_capacity).saturating_mul(self.period.get());
        let returned = taken.saturating_sub(self.parts_in(now.since(taken_at)));
        GcraState { debt: state.debt.saturating_sub(returned), ..state }
    }

    /// The state of a key that `previous` counted until `now`: what has not come back under that policy stays in use, as
    /// `how` says and as far as this burst holds it. Rounded against the key, by less than one part.
    #[must_use]
    pub fn inherit(&self, previous: &Self, state: GcraState, now: Timestamp, how: Inheritance) -> GcraState {
        let now = now.max(state.last_admitted);
        let used = u128::from(previous.debt_at(state, now));
        let scaled = |to: u64, from: u64| used.saturating_mul(to.into()).div_ceil(u128::from(from.max(1)));
        let debt = match how {
            Inheritance::Keep => scaled(self.period.get(), previous.period.get()),
            Inheritance::Proportional => scaled(self.full(), previous.full()),
            Inheritance::Reset => 0,
        };
        let debt = u64::try_from(debt).unwrap_or(u64::MAX).min(self.full());
        GcraState { debt, last_admitted: now }
    }

    /// Whether `state` decides like [`GcraState::NEW`] from `now` on.
    pub fn is_as_new(&self, state: GcraState, now: Timestamp) -> bool {
        now >= state.last_admitted && self.debt_at(state, now) == 0
    }

    /// The most cost admitted at one instant from rest; 0 when the policy denies everything.
    pub const fn burst_capacity(&self) -> Cost {
        self.burst_capacity
    }

    /// Cost that comes back each [`period`](Self::period), in lowest terms.
    pub const fn rate(&self) -> u64 {
        self.rate.get()
    }

    /// The time in which `rate` comes back, in lowest terms.
    pub const fn period(&self) -> Duration {
        Duration::from_micros(self.period.get())
    }

    /// Time in which a spent burst comes back whole, rounded up; zero when the policy denies everything.
    pub fn window(&self) -> Duration {
        self.time_for(self.full())
    }

    /// Time from `decision` until one more unit is free, rounded up, at most 1 µs late; zero at the maximum.
    pub fn more_after(&self, decision: &Decision) -> Duration {
        let Some(used) = self.burst_capacity.checked_sub(decision.remaining()).filter(|used| *used > 0)
        else {
            return Duration::ZERO;
        };
        let later_units = used.saturating_sub(1).saturating_mul(self.period.get());
        decision.reset_after().saturating_sub(Duration::from_micros(later_units / self.rate))
    }

    /// A policy whose burst or rate is 0. The rate and the period only keep the divisions defined.
    const DENY_ALL: Self = Self { burst_capacity: 0, rate: NonZeroU64::MIN, period: NonZeroU64::MIN };

    #[inline]
    fn denied(&self, debt: u64, retry_after: Option<Duration>) -> Decision {
        let (remaining, reset_after) = (self.units_free(debt), self.time_for(debt));
        Decision::Denied { remaining, retry_after, reset_after }
    }

    /// Parts of the whole burst; fits by [`GcraPolicy::new`].
    #[inline]
    const fn full(&self) -> u64 {
        self.burst_capacity.wrapping_mul(self.period.get())
    }

    /// Parts not come back at `now`, at most the whole burst.
    #[inline]
    fn debt_at(&self, state: GcraState, now: Timestamp) -> u64 {
        let passed_us = now.as_micros().saturating_sub(state.last_admitted.as_micros());
        // In lowest terms most rates are 1; and WebAssembly has no product that tells when it overflows.
        let returned =
            if self.rate.get() == 1 { passed_us } else { passed_us.saturating_mul(self.rate.get()) };
        state.debt.saturating_sub(returned).min(self.full())
    }

    /// Parts that come back in `span`; `u64::MAX`, which is any debt, where there are more.
    fn parts_in(&self, span: Duration) -> u64 {
        micros(span).saturating_mul(self.rate.get())
    }

    /// Time in which `parts` come back, rounded up: never too early, and 1 µs before it some are missing.
    #[inline]
    fn time_for(&self, parts: u64) -> Duration {
        // In lowest terms most rates are 1, and a division takes as long as the rest of a check.
        Duration::from_micros(if self.rate.get() == 1 { parts } else { parts.div_ceil(self.rate.get()) })
    }

    /// Whole units free beside `debt`, rounded down.
    #[inline]
    fn units_free(&self, debt: u64) -> Cost {
        let free = self.full().saturating_sub(debt);
        if free < self.period.get() { 0 } else { free / self.period }
    }
}

impl GcraState {
    /// The state of a key that was never seen: nothing taken.
    pub const NEW: Self = Self { debt: 0, last_admitted: Timestamp::from_micros(0) };
}

/// The form in which a policy travels; reading it checks it again.
#[derive(Serialize, Deserialize)]
struct Settings {
    burst_capacity: Cost,
    rate: u64,
    period_us: u64,
}

impl TryFrom<Settings> for GcraPolicy {
    type Error = PolicyError;
    fn try_from(settings: Settings) -> Result<Self, PolicyError> {
        Self::new(settings.burst_capacity, settings.rate, Duration::from_micros(settings.period_us))
    }
}

impl From<GcraPolicy> for Settings {
    fn from(policy: GcraPolicy) -> Self {
        let period_us = policy.period.get();
        Self { burst_capacity: policy.burst_capacity, rate: policy.rate(), period_us }
    }
}

/// Euclid's; `b` where `a` is 0.
fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while let Some(rest) = b.checked_rem(a) {
        (a, b) = (rest, a);
    }
    b
}
