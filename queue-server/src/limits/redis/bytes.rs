//! Policies and states as the scripts spell them: whole numbers in doubles, little end first.

use shared::limiter::calendar::Calendar;
use shared::limiter::{Cost, Policy, PolicySettings};
use shared::time::{Timestamp, micros};

/// Why Redis cannot keep a policy exactly. Its scripts count in doubles: every number stays below 2^53 with room to add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{number} is beyond what Redis counts exactly ({most}): round it, or keep this policy in process")]
pub struct BeyondRedis {
    /// What is too large.
    pub number: &'static str,
    /// The most that fits.
    pub most: u64,
}

/// The policy in the form of the scripts, whose header says what each file reads.
pub(super) fn policy_bytes(policy: &Policy) -> Result<Vec<u8>, BeyondRedis> {
    let quota = fits("the quota", policy.quota(), NUMBER_MAX)?;
    let (numbers, name) = match policy {
        Policy::Gcra(gcra) => (gcra_numbers(gcra.rate(), micros(gcra.period()), quota)?.to_vec(), None),
        Policy::LeakyQueue(queue) => {
            let meter = queue.meter();
            (gcra_numbers(meter.rate(), micros(meter.period()), quota)?.to_vec(), None)
        }
        Policy::IntervalBucket(bucket) => {
            (vec![fits("the refill", bucket.refill(), NUMBER_MAX)?, micros(bucket.period())], None)
        }
        Policy::FixedWindow(_) => match PolicySettings::from(*policy) {
            PolicySettings::FixedWindow { window_us, aligned, .. } => {
                (vec![window_us, u64::from(aligned)], None)
            }
            _ => (Vec::new(), None),
        },
        Policy::SlidingLog(log) => (vec![micros(log.window())], None),
        // Two windows must fit.
        Policy::TwoCounters(counters) => {
            (vec![fits("the window", micros(counters.window()), NUMBER_MAX)?], None)
        }
        Policy::SubWindows(windows) => (vec![micros(windows.window()), windows.sub_windows()], None),
        Policy::Lockout(lockout) => (vec![micros(lockout.window()), micros(lockout.lock_time())], None),
        Policy::LongQuota(quota) => (Vec::new(), Some((quota.calendar(), quota.zone().name()))),
        Policy::Concurrency(permits) => (vec![micros(permits.life())], None),
    };
    let mut bytes = vec![0, tag(policy)];
    bytes.extend(double(quota));
    bytes.extend(numbers.into_iter().flat_map(double));
    if let Some((calendar, zone)) = name {
        bytes.push(u8::from(calendar == Calendar::Month));
        bytes.extend(zone.as_bytes());
        bytes.push(0);
    }
    let length = u8::try_from(bytes.len()).unwrap_or(u8::MAX);
    bytes[0] = length;
    Ok(bytes)
}

/// What a cost is called with: more than the quota is all the same.
pub(super) fn cost_of(policy: &Policy, cost: Cost) -> Cost {
    cost.min(policy.quota().saturating_add(1))
}

/// The place of the algorithm in the scripts, from 1.
pub(super) const fn tag(policy: &Policy) -> u8 {
    match policy {
        Policy::Gcra(_) => 1,
        Policy::IntervalBucket(_) => 2,
        Policy::LeakyQueue(_) => 3,
        Policy::FixedWindow(_) => 4,
        Policy::SlidingLog(_) => 5,
        Policy::TwoCounters(_) => 6,
        Policy::SubWindows(_) => 7,
        Policy::Lockout(_) => 8,
        Policy::LongQuota(_) => 9,
        Policy::Concurrency(_) => 10,
    }
}

/// A whole number below 2^53 as the double that equals it.
#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "callers keep below 2^53")]
pub(super) fn double(number: u64) -> [u8; 8] {
    (number as f64).to_le_bytes()
}

/// Burst times period in whole microseconds of coming back, and the parts beyond them, behind rate and period.
fn gcra_numbers(rate: u64, period: u64, burst_capacity: Cost) -> Result<[u64; 4], BeyondRedis> {
    let rate = fits("the rate", rate, NUMBER_MAX)?;
    let full = u128::from(burst_capacity) * u128::from(period);
    let full_us = u64::try_from(full / u128::from(rate.max(1))).unwrap_or(u64::MAX);
    let full_us = fits("the time in which the burst comes back, in microseconds,", full_us, SPAN_MAX)?;
    let full_parts = u64::try_from(full % u128::from(rate.max(1))).unwrap_or(0);
    Ok([rate, period, full_us, full_parts])
}

fn fits(number: &'static str, value: u64, most: u64) -> Result<u64, BeyondRedis> {
    if value <= most { Ok(value) } else { Err(BeyondRedis { number, most }) }
}

/// Two of them can be added.
const NUMBER_MAX: u64 = (1 << 52) - 1;
/// As the clock.
const SPAN_MAX: u64 = Timestamp::MAX.as_micros() - 1;
