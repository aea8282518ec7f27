//! Policies in words, as `fairgate check` and the operator's list of routes tell them.

use super::{KeyPart, PolicyConfig, PolicyKey, PolicyMode};
use crate::limiter::calendar::Calendar;
use crate::limiter::fixed_window::WindowStart;
use crate::limiter::{Cost, Policy};
use core::fmt;
use core::time::Duration;

impl PolicyConfig {
    /// The policy in one sentence: its name, what it counts by, what it admits, and the most that passes in any window.
    ///
    /// `device: each device: 10 at once, then 5 each 1 s; in any 1 s at most 15.`
    pub fn in_words(&self) -> String {
        let limiter = Words(&self.limiter);
        let mut words = format!("{}: {}: {limiter}", self.name, key_in_words(&self.key));
        if !self.sku_limiters.is_empty() {
            let skus = self.sku_limiters.len();
            words.extend(["; ", &skus.to_string(), " SKUs have numbers of their own"]);
        }
        match self.mode {
            PolicyMode::Off => words.push_str(" (off: nothing is counted)"),
            PolicyMode::Shadow => words.push_str(" (shadow: it counts, and refuses nobody)"),
            PolicyMode::Enforced => {}
        }
        words.push('.');
        words
    }
}

/// Who shares one count.
pub(super) fn key_in_words(key: &PolicyKey) -> String {
    let word = |part: &KeyPart| match part {
        KeyPart::Site => "over all shops",
        KeyPart::Shop => "the shop",
        KeyPart::Client => "API client",
        KeyPart::Member => "member (who is not known: device, else address)",
        KeyPart::Device => "device",
        KeyPart::Ip => "address",
        KeyPart::Sku => "SKU",
        KeyPart::Route => "route",
    };
    match key.parts() {
        [KeyPart::Site] => "everybody on the site together".to_owned(),
        [KeyPart::Shop] => "everybody in the shop together".to_owned(),
        [KeyPart::Site, rest @ ..] => {
            format!("each {}, over all shops", rest.iter().map(word).collect::<Vec<_>>().join(" and "))
        }
        [KeyPart::Shop, rest @ ..] | rest => {
            format!("each {}", rest.iter().map(word).collect::<Vec<_>>().join(" and "))
        }
    }
}

/// A limiter in words.
pub(super) struct Words<'a>(pub(super) &'a Policy);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (most, window) = most_in_any_window(self.0);
        let window = span(window);
        match self.0 {
            Policy::Gcra(policy) => {
                let (rate, period) = per_unit(policy.rate(), policy.period());
                let (burst, period) = (policy.burst_capacity(), span(period));
                write!(f, "{burst} at once, then {rate} each {period}; in any {window} at most {most}")
            }
            Policy::IntervalBucket(policy) => write!(
                f,
                "{} at once, and {} come back at the end of each {}; in any {window} at most {most}",
                policy.capacity(),
                policy.refill(),
                span(policy.period()),
            ),
            Policy::LeakyQueue(policy) => {
                let (rate, period) = per_unit(policy.rate(), policy.meter().period());
                let (waiting, period) = (policy.meter().burst_capacity().saturating_sub(1), span(period));
                write!(
                    f,
                    "{rate} go on each {period}, at most {waiting} wait for their time; \
                     in any {window} at most {most} go on",
                )
            }
            Policy::FixedWindow(policy) => {
                let begins = match policy.start() {
                    WindowStart::Aligned => "of the clock",
                    WindowStart::FirstHit => "that begins with the first request",
                };
                write!(f, "{} in each {window} {begins}; in any {window} at most {most}", policy.limit())
            }
            Policy::SlidingLog(_) | Policy::SubWindows(_) => {
                write!(f, "in any {window} at most {most}, exactly")
            }
            Policy::TwoCounters(policy) => {
                write!(f, "about {} in any {window}; at worst {most}", policy.limit())
            }
            Policy::Lockout(policy) => {
                write!(f, "{} in each {window} of the clock, ", policy.max())?;
                if policy.lock_time().is_zero() {
                    f.write_str("then refused until it ends")?;
                } else {
                    write!(f, "then locked for {}", span(policy.lock_time()))?;
                }
                write!(f, "; in any {window} at most {most}")
            }
            Policy::LongQuota(policy) => {
                let (calendar, longest) = match policy.calendar() {
                    Calendar::Day => ("day", "24 hours"),
                    Calendar::Month => ("month", "30 days"),
                };
                let (limit, zone) = (policy.limit(), policy.zone().name());
                write!(f, "{limit} each {calendar} of {zone}; in any {longest} at most {most}")
            }
            Policy::Concurrency(policy) => {
                write!(f, "{} at the same time, each for at most {window}", policy.permits())
            }
        }
    }
}

/// The most that passes in any window of the policy's length, and that length.
fn most_in_any_window(policy: &Policy) -> (Cost, Duration) {
    match policy {
        Policy::Gcra(gcra) => {
            let (rate, period) = per_unit(gcra.rate(), gcra.period());
            (gcra.burst_capacity().saturating_add(rate), period)
        }
        Policy::IntervalBucket(bucket) => {
            (bucket.capacity().saturating_add(bucket.refill()), bucket.period())
        }
        // They go on evenly: one more than the rate where one stands on either edge.
        Policy::LeakyQueue(queue) => {
            let (rate, period) = per_unit(queue.rate(), queue.meter().period());
            (rate.saturating_add(1), period)
        }
        Policy::FixedWindow(_) | Policy::TwoCounters(_) | Policy::Lockout(_) | Policy::LongQuota(_) => {
            (policy.quota().saturating_mul(2), policy.window())
        }
        Policy::SlidingLog(_) | Policy::SubWindows(_) | Policy::Concurrency(_) => {
            (policy.quota(), policy.window())
        }
    }
}

/// What comes back in the long run: cost and the time it takes. `None` for permits, which come back when they are given.
pub(super) fn sustained(policy: &Policy) -> Option<(Cost, Duration)> {
    match policy {
        Policy::Gcra(gcra) => Some(per_unit(gcra.rate(), gcra.period())),
        Policy::IntervalBucket(bucket) => Some((bucket.refill(), bucket.period())),
        Policy::LeakyQueue(queue) => Some(per_unit(queue.rate(), queue.meter().period())),
        Policy::Concurrency(_) => None,
        _ => Some((policy.quota(), policy.window())),
    }
}

/// A rate in the smallest unit of time in which it is whole: policies keep it in lowest terms, which nobody wrote.
fn per_unit(rate: Cost, period: Duration) -> (Cost, Duration) {
    let units = [1, 60, 3_600, 86_400].map(Duration::from_secs);
    let whole = units.into_iter().find_map(|unit| {
        let scaled = u128::from(rate).saturating_mul(unit.as_micros());
        let is_whole = scaled.checked_rem(period.as_micros()) == Some(0);
        let rate = Cost::try_from(scaled.checked_div(period.as_micros())?).ok()?;
        is_whole.then_some((rate, unit))
    });
    whole.unwrap_or((rate, period))
}

/// A span in the largest unit that holds it whole.
pub(super) fn span(span: Duration) -> String {
    let micros = span.as_micros();
    let units: [(u128, &str); 5] =
        [(86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms")];
    for (unit, name) in units {
        if let (Some(whole), Some(0)) = (micros.checked_div(unit), micros.checked_rem(unit))
            && whole > 0
        {
            return format!("{whole} {name}");
        }
    }
    format!("{micros} µs")
}
