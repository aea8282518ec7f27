//! A policy in plain numbers, as configuration, vectors and the wire spell it.

use super::calendar::Calendar;
use super::concurrency::ConcurrencyPolicy;
use super::fixed_window::{FixedWindowPolicy, WindowStart};
use super::gcra::GcraPolicy;
use super::interval_bucket::IntervalBucketPolicy;
use super::leaky_queue::LeakyQueuePolicy;
use super::lockout::LockoutPolicy;
use super::long_quota::LongQuotaPolicy;
use super::sliding_log::SlidingLogPolicy;
use super::sub_windows::SubWindowsPolicy;
use super::two_counters::TwoCountersPolicy;
use super::zone::Zone;
use super::{Cost, Policy, PolicyError};
use crate::time::micros;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// The numbers of one policy, not yet checked. Spans are microseconds.
///
/// ```
/// use shared::limiter::{Policy, PolicySettings};
/// let settings = r#"{"fixed_window": {"limit": 60, "window_us": 60000000, "aligned": true}}"#;
/// let policy = Policy::try_from(serde_json::from_str::<PolicySettings>(settings).unwrap()).unwrap();
/// assert_eq!(policy.quota(), 60);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PolicySettings {
    /// See [`GcraPolicy::new`].
    #[serde(alias = "token_bucket", alias = "leaky_meter")]
    Gcra {
        /// Most cost at one instant from rest.
        burst_capacity: Cost,
        /// Cost that comes back each period.
        rate: u64,
        /// What the rate refers to.
        period_us: u64,
    },
    /// See [`IntervalBucketPolicy::new`].
    IntervalBucket {
        /// Most cost at one instant from rest.
        capacity: Cost,
        /// Cost that the end of each period gives back.
        refill: u64,
        /// The time between two refills.
        period_us: u64,
    },
    /// See [`LeakyQueuePolicy::new`].
    LeakyQueue {
        /// Cost that goes on each period.
        rate: u64,
        /// What the rate refers to.
        period_us: u64,
        /// Most cost held at once.
        max_waiting: Cost,
    },
    /// See [`FixedWindowPolicy::new`].
    FixedWindow {
        /// Most cost in one window.
        limit: Cost,
        /// The length of a window.
        window_us: u64,
        /// Whether windows begin at their multiples since 1970; else at the first admission.
        aligned: bool,
    },
    /// See [`SlidingLogPolicy::new`].
    SlidingLog {
        /// Most cost in any window.
        limit: Cost,
        /// The length of the window.
        window_us: u64,
    },
    /// See [`TwoCountersPolicy::new`].
    SlidingTwoCounters {
        /// Most cost in a window, about.
        limit: Cost,
        /// The length of the window.
        window_us: u64,
    },
    /// See [`SubWindowsPolicy::new`].
    SlidingSubWindows {
        /// Most cost in any window.
        limit: Cost,
        /// The length of the window.
        window_us: u64,
        /// Parts of the window.
        sub_windows: u64,
    },
    /// See [`LockoutPolicy::new`].
    Lockout {
        /// Most cost in one window.
        max: Cost,
        /// The length of a window.
        window_us: u64,
        /// The length of a lock, 0 for none.
        lock_us: u64,
    },
    /// See [`LongQuotaPolicy::new`].
    LongQuota {
        /// Most cost in one period.
        limit: Cost,
        /// What a period is.
        calendar: Calendar,
        /// An IANA name, or `UTC`.
        zone: String,
    },
    /// See [`ConcurrencyPolicy::new`].
    Concurrency {
        /// Most that is held at once.
        permits: Cost,
        /// The longest time that one is held.
        life_us: u64,
    },
}

impl TryFrom<PolicySettings> for Policy {
    type Error = PolicyError;

    fn try_from(settings: PolicySettings) -> Result<Self, PolicyError> {
        use PolicySettings as Settings;
        let span = Duration::from_micros;
        Ok(match settings {
            Settings::Gcra { burst_capacity, rate, period_us } => {
                Self::Gcra(GcraPolicy::new(burst_capacity, rate, span(period_us))?)
            }
            Settings::IntervalBucket { capacity, refill, period_us } => {
                Self::IntervalBucket(IntervalBucketPolicy::new(capacity, refill, span(period_us))?)
            }
            Settings::LeakyQueue { rate, period_us, max_waiting } => {
                Self::LeakyQueue(LeakyQueuePolicy::new(rate, span(period_us), max_waiting)?)
            }
            Settings::FixedWindow { limit, window_us, aligned } => {
                let start = if aligned { WindowStart::Aligned } else { WindowStart::FirstHit };
                Self::FixedWindow(FixedWindowPolicy::new(limit, span(window_us), start)?)
            }
            Settings::SlidingLog { limit, window_us } => {
                Self::SlidingLog(SlidingLogPolicy::new(limit, span(window_us))?)
            }
            Settings::SlidingTwoCounters { limit, window_us } => {
                Self::TwoCounters(TwoCountersPolicy::new(limit, span(window_us))?)
            }
            Settings::SlidingSubWindows { limit, window_us, sub_windows } => {
                Self::SubWindows(SubWindowsPolicy::new(limit, span(window_us), sub_windows)?)
            }
            Settings::Lockout { max, window_us, lock_us } => {
                Self::Lockout(LockoutPolicy::new(max, span(window_us), span(lock_us))?)
            }
            Settings::LongQuota { limit, calendar, zone } => {
                Self::LongQuota(LongQuotaPolicy::new(limit, calendar, Zone::parse(&zone)?))
            }
            Settings::Concurrency { permits, life_us } => {
                Self::Concurrency(ConcurrencyPolicy::new(permits, span(life_us))?)
            }
        })
    }
}

impl From<Policy> for PolicySettings {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Gcra(policy) => Self::Gcra {
                burst_capacity: policy.burst_capacity(),
                rate: policy.rate(),
                period_us: micros(policy.period()),
            },
            Policy::IntervalBucket(policy) => Self::IntervalBucket {
                capacity: policy.capacity(),
                refill: policy.refill(),
                period_us: micros(policy.period()),
            },
            Policy::LeakyQueue(policy) => Self::LeakyQueue {
                rate: policy.rate(),
                period_us: micros(policy.meter().period()),
                max_waiting: policy.meter().burst_capacity().saturating_sub(1),
            },
            Policy::FixedWindow(policy) => Self::FixedWindow {
                limit: policy.limit(),
                window_us: micros(policy.window()),
                aligned: policy.start() == WindowStart::Aligned,
            },
            Policy::SlidingLog(policy) => {
                Self::SlidingLog { limit: policy.limit(), window_us: micros(policy.window()) }
            }
            Policy::TwoCounters(policy) => {
                Self::SlidingTwoCounters { limit: policy.limit(), window_us: micros(policy.window()) }
            }
            Policy::SubWindows(policy) => Self::SlidingSubWindows {
                limit: policy.limit(),
                window_us: micros(policy.window()),
                sub_windows: policy.sub_windows(),
            },
            Policy::Lockout(policy) => Self::Lockout {
                max: policy.max(),
                window_us: micros(policy.window()),
                lock_us: micros(policy.lock_time()),
            },
            Policy::LongQuota(policy) => Self::LongQuota {
                limit: policy.limit(),
                calendar: policy.calendar(),
                zone: policy.zone().name().into_owned(),
            },
            Policy::Concurrency(policy) => {
                Self::Concurrency { permits: policy.permits(), life_us: micros(policy.life()) }
            }
        }
    }
}
