//! `[join]` and `[poll]`: the budgets of Fairgate's own calls.

use super::policy::{LimitChoice, ListOf, Policies};
use super::section::Section;
use crate::limiter::Policy;
use crate::limiter::gcra::GcraPolicy;
use core::time::Duration;

/// Limits on joining a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinConfig {
    /// What a join must satisfy, all of it.
    pub limits: Vec<LimitChoice>,
}

/// Budget of one device's polls, counted inside each isolate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollConfig {
    /// Most polls at one instant from rest: 1 to 1,000,000, 20 by default.
    pub burst_capacity: u32,
    /// Polls per [`period`](Self::period): 1 to 1,000,000, 2 by default.
    pub rate: u32,
    /// The time `rate` refers to: 1 ms to one day, 1 s by default.
    pub period: Duration,
    /// The limiter that these numbers make.
    pub limiter: Policy,
}

impl PollConfig {
    pub(super) fn read(mut section: Section<'_>) -> Option<Self> {
        let burst_capacity = section.number_or("burst_capacity", COSTS, 20);
        let rate = section.number_or("rate", COSTS, 2);
        let period = Duration::from_millis(section.number_or("period_ms", PERIODS_MS, 1000).into());
        let limiter = GcraPolicy::new(burst_capacity.into(), rate.into(), period).map(Policy::Gcra);
        // The ranges leave no numbers without a limiter; should one widen, the file is refused and no limit is lost.
        let limiter = limiter.map_err(|error| section.error(error.to_string())).ok();
        section.finish();
        Some(Self { burst_capacity, rate, period, limiter: limiter? })
    }
}

impl JoinConfig {
    /// Without limits of its own a join is limited by the built-in policies, never by none.
    pub(super) fn read(mut section: Section<'_>, policies: &Policies) -> Self {
        let limits = if let Some(value) = section.optional("limits") {
            policies.read_limits(&value, ListOf::Joins)
        } else {
            let built_in = ["join-device", "join-ip"].iter().filter_map(|name| policies.find(name));
            built_in.map(LimitChoice::of).collect()
        };
        section.finish();
        Self { limits }
    }
}

const COSTS: core::ops::RangeInclusive<u32> = 1..=1_000_000;
const PERIODS_MS: core::ops::RangeInclusive<u32> = 1..=86_400_000;
