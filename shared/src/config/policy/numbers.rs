//! The numbers of a policy in the units that people write: `_ms`, `_s`, `day`.

use crate::config::section::{Section, Value};
use crate::config::words::sustained;
use crate::limiter::calendar::Calendar;
use crate::limiter::compact::CompactLockout;
use crate::limiter::gcra::GcraPolicy;
use crate::limiter::{Cost, Policy, PolicyError, PolicySettings as Settings};
use crate::time::micros;
use core::ops::RangeInclusive;
use core::time::Duration;

/// The limiter that a table describes, in one of three forms:
///
/// - `lockout = "true|3|1|30"`, the compact lockout;
/// - `at_most = 60`, `window_s = 60`: a bound that holds in any window, see [`at_most`];
/// - `algorithm = "..."` with its numbers; GCRA where it is left out.
///
/// The flag says whether a compact lockout is enabled; the other forms always are.
pub(super) fn read(section: &mut Section<'_>) -> Option<(Policy, bool)> {
    if let Some(value) = section.optional("lockout") {
        let compact = value.parsed(str::parse::<CompactLockout>)?;
        return Some((lockout_of(&compact, &value)?, compact.enabled));
    }
    let policy = if let Some(value) = section.optional("at_most") {
        let limit = value.number(LIMITS).map(Cost::from);
        let window = section.span("window_ms", "window_s", SPAN_MS_MAX);
        let burst = section.optional("burst_capacity").map(|value| value.number(COSTS).map(Cost::from));
        made(section, at_most(limit?, window?, burst.unwrap_or_default()))
    } else {
        let algorithm = section.optional("algorithm");
        let algorithm = algorithm.map_or(Some(Algorithm::Gcra), |value| value.parsed(Algorithm::parse))?;
        let settings = algorithm.read(section)?;
        made(section, Policy::try_from(settings))
    }?;
    Some((policy, true))
}

/// A policy that admits at most `limit` in any interval as long as `window`, hard.
///
/// With a burst it is GCRA, whose burst and rate fill the limit together. Without one all of the limit may come at once:
/// a log of each admission where the limit is small, sub-windows where it is not.
///
/// # Errors
/// [`PolicyError`] where the numbers cannot be kept exactly.
pub fn at_most(limit: Cost, window: Duration, burst: Option<Cost>) -> Result<Policy, PolicyError> {
    let window_us = micros(window);
    match burst {
        Some(burst) => GcraPolicy::at_most_in_any(limit, window, burst).map(Policy::Gcra),
        None if limit <= LOGGED_MAX => Settings::SlidingLog { limit, window_us }.try_into(),
        None => Settings::SlidingSubWindows { limit, window_us, sub_windows: SUB_WINDOWS }.try_into(),
    }
}

/// The limiter of a compact lockout; `None` where an error was noted.
pub(in crate::config) fn lockout_of(compact: &CompactLockout, value: &Value<'_>) -> Option<Policy> {
    if compact.max == 0 {
        value.error(
            "max (part 2 of 4) is 0, so nobody could ever pass; write at least 1, or false to switch it off",
        );
        return None;
    }
    let policy = compact.policy().map(Policy::Lockout);
    let policy = policy.map_err(|error| value.error(error.to_string())).ok()?;
    if never_limits(&policy) {
        value.error(NEVER_LIMITS);
        return None;
    }
    Some(policy)
}

#[derive(Clone, Copy)]
enum Algorithm {
    Gcra,
    IntervalBucket,
    LeakyQueue,
    FixedWindow,
    SlidingLog,
    TwoCounters,
    SubWindows,
    Lockout,
    LongQuota,
    Concurrency,
}

impl Algorithm {
    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "gcra" | "token_bucket" | "leaky_meter" => Ok(Self::Gcra),
            "interval_bucket" => Ok(Self::IntervalBucket),
            "leaky_queue" => Ok(Self::LeakyQueue),
            "fixed_window" => Ok(Self::FixedWindow),
            "sliding_log" => Ok(Self::SlidingLog),
            "sliding_two_counters" => Ok(Self::TwoCounters),
            "sliding_sub_windows" => Ok(Self::SubWindows),
            "lockout" => Ok(Self::Lockout),
            "long_quota" => Ok(Self::LongQuota),
            "concurrency" => Ok(Self::Concurrency),
            _ => Err(
                "write gcra (also token_bucket, leaky_meter), interval_bucket, leaky_queue, fixed_window, sliding_log, \
                 sliding_two_counters, sliding_sub_windows, lockout, long_quota or concurrency",
            ),
        }
    }

    /// Reads every number even after an error, so that all errors are told.
    fn read(self, section: &mut Section<'_>) -> Option<Settings> {
        match self {
            Self::Gcra => {
                let burst_capacity = section.number("burst_capacity", COSTS).into();
                let rate = section.number("rate", COSTS).into();
                Some(Settings::Gcra { burst_capacity, rate, period_us: period(section)? })
            }
            Self::IntervalBucket => {
                let capacity = section.number("capacity", COSTS).into();
                let refill = section.number("refill", COSTS).into();
                Some(Settings::IntervalBucket { capacity, refill, period_us: period(section)? })
            }
            Self::LeakyQueue => {
                let rate = section.number("rate", COSTS).into();
                let max_waiting = section.number("max_waiting", COSTS).into();
                Some(Settings::LeakyQueue { rate, period_us: period(section)?, max_waiting })
            }
            Self::FixedWindow => {
                let limit = limit(section);
                let aligned = section.optional("aligned").map_or(Some(false), |value| value.boolean());
                Some(Settings::FixedWindow { limit, window_us: window(section)?, aligned: aligned? })
            }
            Self::SlidingLog => {
                Some(Settings::SlidingLog { limit: limit(section), window_us: window(section)? })
            }
            Self::TwoCounters => {
                Some(Settings::SlidingTwoCounters { limit: limit(section), window_us: window(section)? })
            }
            Self::SubWindows => {
                let limit = limit(section);
                let sub_windows = section.number_or("sub_windows", 1..=64, SUB_WINDOWS_DEFAULT).into();
                Some(Settings::SlidingSubWindows { limit, window_us: window(section)?, sub_windows })
            }
            Self::Lockout => {
                let max = section.number("max", LIMITS).into();
                let window_us = window(section);
                let lock = section.span_or_zero("lock_ms", "lock_s", SPAN_MS_MAX);
                Some(Settings::Lockout { max, window_us: window_us?, lock_us: micros(lock?) })
            }
            Self::LongQuota => {
                let limit = limit(section);
                let calendar = section.required("per", "\"day\" or \"month\"");
                let calendar = calendar.and_then(|value| value.parsed(parse_calendar));
                let zone = section.optional("zone").map_or(Some("UTC"), |value| value.text())?;
                Some(Settings::LongQuota { limit, calendar: calendar?, zone: zone_for_here(zone).to_owned() })
            }
            Self::Concurrency => {
                let permits = section.number("permits", 1..=1024).into();
                let life_us = section.span("life_ms", "life_s", SPAN_MS_MAX).map(micros)?;
                Some(Settings::Concurrency { permits, life_us })
            }
        }
    }
}

/// The limiter, or an error of the table as a whole.
fn made(section: &Section<'_>, policy: Result<Policy, PolicyError>) -> Option<Policy> {
    let policy = policy.map_err(|error| section.error(error.to_string())).ok()?;
    if never_limits(&policy) {
        section.error(NEVER_LIMITS);
        return None;
    }
    Some(policy)
}

/// Whether more comes back each second than any one home can be asked for.
fn never_limits(policy: &Policy) -> bool {
    sustained(policy).is_some_and(|(cost, time)| {
        u128::from(cost).saturating_mul(1_000_000) > time.as_micros().saturating_mul(PER_SECOND_MAX)
    })
}

fn limit(section: &mut Section<'_>) -> Cost {
    section.number("limit", LIMITS).into()
}

fn window(section: &mut Section<'_>) -> Option<u64> {
    section.span("window_ms", "window_s", SPAN_MS_MAX).map(micros)
}

fn period(section: &mut Section<'_>) -> Option<u64> {
    section.span("period_ms", "period_s", SPAN_MS_MAX).map(micros)
}

/// A host without zones begins with the file as it was deployed, and counts days of UTC until a server that has them tells it
/// of their clocks; that server has refused names that are none.
fn zone_for_here(name: &str) -> &str {
    if cfg!(feature = "zones") || name.starts_with('@') { name } else { "UTC" }
}

fn parse_calendar(text: &str) -> Result<Calendar, &'static str> {
    match text {
        "day" => Ok(Calendar::Day),
        "month" => Ok(Calendar::Month),
        _ => Err("write \"day\" or \"month\": other spans are windows in seconds"),
    }
}

pub(super) const COSTS: RangeInclusive<u32> = 1..=1_000_000;
const LIMITS: RangeInclusive<u32> = 1..=1_000_000_000;

/// 31 days.
pub(super) const SPAN_MS_MAX: u32 = 31 * 86_400_000;

/// Up to this limit, `at_most` without a burst keeps each admission: 128 bytes a key.
const LOGGED_MAX: Cost = 16;
const SUB_WINDOWS: u64 = 10;
const SUB_WINDOWS_DEFAULT: u32 = 10;

/// What no single home reaches, whatever the machine.
const PER_SECOND_MAX: u128 = 1_000_000;
const NEVER_LIMITS: &str =
    "more than 1,000,000 a second would pass, which no key reaches, so this never limits; lower it";
