//! Policies of every algorithm, with small numbers and with those at the edge of what Redis accepts, and what happens to
//! a few keys under them.

use proptest::prelude::*;
use queue_server::limits::redis::RedisLimits;
use shared::limiter::calendar::Calendar;
use shared::limiter::{Inheritance, Policy, PolicySettings};
use shared::time::{Timestamp, micros};

/// One thing that happens to the keys, after the clock has moved by `moved_ppm` of the longest window, back too, and by
/// `moved_us`.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) moved_ppm: i64,
    pub(crate) moved_us: i64,
    pub(crate) deed: Deed,
}

#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// Costs are in parts per million of the quota, and units.
    Check {
        costs: Vec<(usize, u64, u64)>,
        holder: u8,
    },
    Peek {
        costs: Vec<(usize, u64, u64)>,
        holder: u8,
    },
    /// Of what was taken so long ago, in parts per million of the window.
    Refund {
        key: usize,
        cost: u64,
        ago_ppm: u64,
    },
    Replenish {
        key: usize,
        cost: u64,
    },
    Give {
        key: usize,
        holder: u8,
    },
    Reset {
        key: usize,
    },
    /// Another policy counts from here on.
    Change {
        key: usize,
        policy: usize,
        inheritance: Inheritance,
    },
    /// Redis' own expiry, where it is due.
    Expire {
        key: usize,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) start: Timestamp,
    pub(crate) policies: Vec<Policy>,
    pub(crate) steps: Vec<Step>,
}

/// How many keys a history is about.
pub(crate) const KEYS: usize = 3;

pub(crate) fn history() -> impl Strategy<Value = History> {
    let policies = prop::collection::vec(policy(), 2..5);
    (policies, 0..1_000_000_u64, prop::collection::vec(step(), 1..60)).prop_map(
        |(policies, start_ppm, steps)| {
            let window_us = policies.iter().map(|policy| micros(policy.window())).max().unwrap_or(0);
            let offset_us = u128::from(window_us.min(START_US)) * u128::from(start_ppm) / 1_000_000;
            let start = Timestamp::from_micros(START_US + u64::try_from(offset_us).unwrap());
            History { start, policies, steps }
        },
    )
}

/// A policy that Redis accepts.
pub(crate) fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![4 => settings(small()), 1 => settings(large()), 1 => settings(brim_full())].prop_filter_map(
        "Redis accepts it",
        |settings| {
            let policy = Policy::try_from(settings).ok()?;
            RedisLimits::keeps(&policy).ok().map(|()| policy)
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let moved_ppm =
        prop_oneof![4 => Just(0), 4 => 0..300_000_i64, 1 => 300_000..3_000_000_i64, 1 => -400_000..0_i64];
    (moved_ppm, -2..100_i64, deed()).prop_map(|(moved_ppm, moved_us, deed)| Step {
        moved_ppm,
        moved_us,
        deed,
    })
}

fn deed() -> impl Strategy<Value = Deed> {
    let cost = || prop_oneof![1 => Just((0, 0)), 3 => Just((0, 1)), 3 => (0..500_000_u64, 0..2_u64), 2 => (0..1_200_000_u64, 0..3_u64), 1 => Just((0, u64::MAX))];
    let costs = move || {
        prop::collection::btree_map(0..KEYS, cost(), 1..=KEYS).prop_map(|costs| {
            costs.into_iter().map(|(key, (ppm, units))| (key, ppm, units)).collect::<Vec<_>>()
        })
    };
    let inheritance =
        prop_oneof![Just(Inheritance::Keep), Just(Inheritance::Proportional), Just(Inheritance::Reset)];
    let amount = || prop_oneof![4 => 0..5_u64, 1 => any::<u64>()];
    prop_oneof![
        12 => (costs(), 0..4_u8).prop_map(|(costs, holder)| Deed::Check { costs, holder }),
        3 => (costs(), 0..4_u8).prop_map(|(costs, holder)| Deed::Peek { costs, holder }),
        3 => (0..KEYS, amount(), 0..2_000_000_u64).prop_map(|(key, cost, ago_ppm)| Deed::Refund { key, cost, ago_ppm }),
        1 => (0..KEYS, amount()).prop_map(|(key, cost)| Deed::Replenish { key, cost }),
        2 => (0..KEYS, 0..4_u8).prop_map(|(key, holder)| Deed::Give { key, holder }),
        1 => (0..KEYS).prop_map(|key| Deed::Reset { key }),
        2 => (0..KEYS, 0..5_usize, inheritance).prop_map(|(key, policy, inheritance)| Deed::Change { key, policy, inheritance }),
        3 => (0..KEYS).prop_map(|key| Deed::Expire { key }),
    ]
}

fn small() -> impl Strategy<Value = (u64, u64, u64)> {
    let span_us =
        prop_oneof![Just(1), Just(7), Just(1_000), Just(1_000_000), Just(86_400_000_000), 1..5_000_000_u64];
    (0..12_u64, 0..12_u64, span_us)
}

/// Whole numbers up to the edges: primes, odd ones, those with few factors in common.
fn large() -> impl Strategy<Value = (u64, u64, u64)> {
    let edge = prop_oneof![
        Just((1_u64 << 52) - 1),
        Just((1 << 52) - 2),
        Just(4_503_599_627_370_449),
        Just(999_999_999_989),
        Just(999_983),
        1..1_u64 << 52,
        1..1_u64 << 40,
        1..1_u64 << 26,
    ];
    let span_us = prop_oneof![
        Just((1_u64 << 53) - 1),
        Just((1 << 52) - 1),
        Just(9_007_199_254_740_881),
        Just(86_400_000_000),
        Just(31_557_600_000_001),
        1..1_u64 << 53,
        1..1_u64 << 40,
        1..1_u64 << 26,
    ];
    (edge.clone(), edge, span_us)
}

/// Bursts that come back in about 2^53 parts, where doubles stop being exact: from there on a longer script counts.
fn brim_full() -> impl Strategy<Value = (u64, u64, u64)> {
    (2..1_u64 << 26, 0..4_u64, 1..1_u64 << 30)
        .prop_map(|(span_us, less, other)| (((1 << 53) / span_us).saturating_sub(less), other, span_us))
}

fn settings(numbers: impl Strategy<Value = (u64, u64, u64)>) -> impl Strategy<Value = PolicySettings> {
    (0..12_u8, numbers, 0..65_u64, any::<bool>()).prop_map(
        |(algorithm, (limit, other, span_us), few, flag)| match algorithm {
            0..=2 => PolicySettings::Gcra { burst_capacity: limit, rate: other, period_us: span_us },
            3 => PolicySettings::IntervalBucket { capacity: limit, refill: other, period_us: span_us },
            4 => PolicySettings::LeakyQueue { rate: other, period_us: span_us, max_waiting: limit },
            5 => PolicySettings::FixedWindow { limit, window_us: span_us, aligned: flag },
            6 => PolicySettings::SlidingLog { limit: limit.min(4096), window_us: span_us },
            7 => PolicySettings::SlidingTwoCounters { limit, window_us: span_us },
            8 => PolicySettings::SlidingSubWindows {
                limit,
                window_us: span_us,
                sub_windows: few.clamp(1, span_us),
            },
            9 => PolicySettings::Lockout {
                max: limit,
                window_us: span_us,
                lock_us: if flag { other } else { 0 },
            },
            10 => {
                let calendar = if flag { Calendar::Day } else { Calendar::Month };
                let zone = if few % 2 == 0 { "UTC" } else { "America/New_York" };
                PolicySettings::LongQuota { limit, calendar, zone: zone.to_owned() }
            }
            _ => PolicySettings::Concurrency { permits: limit.min(1024), life_us: span_us },
        },
    )
}

/// 2025-11-30T06:40:00Z.
const START_US: u64 = 1_764_484_800_000_000;
