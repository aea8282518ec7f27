//! Policies with small numbers, and calls on their time scale.

use proptest::prelude::*;
use shared::limiter::calendar::Calendar;
use shared::limiter::{Cost, Policy, PolicySettings};
use shared::time::{Timestamp, micros};

/// One call: the clock moves by `step_us`, back too, then `cost` is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) step_us: i64,
    pub(crate) cost: Cost,
}

/// Cost that passed, at the key's own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Admitted {
    pub(crate) at: Timestamp,
    pub(crate) cost: Cost,
}

/// The key's own time: the clock's, but never before the last admission.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyClock {
    pub(crate) host: Timestamp,
    pub(crate) last_admitted: Timestamp,
}

impl KeyClock {
    pub(crate) fn starting_at(host: Timestamp) -> Self {
        Self { host, last_admitted: Timestamp::default() }
    }

    pub(crate) fn step(&mut self, step_us: i64) -> Timestamp {
        self.host = Timestamp::from_micros(self.host.as_micros().saturating_add_signed(step_us));
        self.host.max(self.last_admitted)
    }
}

/// Any algorithm that takes no holder.
pub(crate) fn settings() -> impl Strategy<Value = PolicySettings> {
    let span_us =
        prop_oneof![Just(1), Just(7), Just(1_000), Just(1_000_000), Just(86_400_000_000), 1..5_000_000_u64];
    let lock_us = prop_oneof![Just(0), Just(1), 1..10_000_000_u64];
    (0..10_u8, 1..12_u64, 1..12_u64, span_us, lock_us, any::<bool>()).prop_map(
        |(algorithm, limit, other, span_us, lock_us, flag)| match algorithm {
            0 => PolicySettings::Gcra { burst_capacity: limit, rate: other, period_us: span_us },
            1 => PolicySettings::IntervalBucket { capacity: limit, refill: other, period_us: span_us },
            2 => PolicySettings::LeakyQueue { rate: other, period_us: span_us, max_waiting: limit - 1 },
            3 | 4 => PolicySettings::FixedWindow { limit, window_us: span_us, aligned: flag },
            5 => PolicySettings::SlidingLog { limit, window_us: span_us },
            6 => PolicySettings::SlidingTwoCounters { limit, window_us: span_us },
            7 => PolicySettings::SlidingSubWindows {
                limit,
                window_us: span_us,
                sub_windows: other.min(span_us),
            },
            8 => PolicySettings::Lockout { max: limit, window_us: span_us, lock_us },
            _ => {
                let calendar = if flag { Calendar::Day } else { Calendar::Month };
                PolicySettings::LongQuota { limit, calendar, zone: "UTC".to_owned() }
            }
        },
    )
}

pub(crate) fn policy() -> impl Strategy<Value = Policy> {
    settings().prop_map(|settings| settings.try_into().unwrap())
}

/// A policy, when its history starts, and calls: most within a few units, one in eight back in time.
pub(crate) fn history() -> impl Strategy<Value = (Policy, Timestamp, Vec<Call>)> {
    policy().prop_flat_map(|policy| {
        let window_us = micros(policy.window());
        let start = (0..3 * window_us).prop_map(|offset_us| Timestamp::from_micros(START_US + offset_us));
        (Just(policy), start, prop::collection::vec(call(&policy), 1..80))
    })
}

fn call(policy: &Policy) -> impl Strategy<Value = Call> + use<> {
    let window_us = i64::try_from(micros(policy.window())).unwrap();
    let unit_us = window_us / i64::try_from(policy.quota()).unwrap() + 2;
    let step_us = prop_oneof![
        3 => Just(0),
        3 => 0..unit_us * 2,
        1 => 0..window_us * 3 + 2,
        1 => -unit_us * 10..0,
    ];
    (step_us, 0..policy.quota() + 3).prop_map(|(step_us, cost)| Call { step_us, cost })
}

/// 2025-11-30T06:40:00Z, no boundary of anything but minutes.
pub(crate) const START_US: u64 = 1_764_484_800_000_000;
