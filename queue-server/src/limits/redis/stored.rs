//! Reads what a script stored, for whoever asks about a key.

use serde_json::{Value, json};
use shared::limiter::calendar::Calendar;
use shared::limiter::{Policy, PolicySettings, State};

/// The policy that counted a key last, and the state of the key; `None` for other bytes.
pub fn decode(value: &[u8]) -> Option<(Policy, State)> {
    let length = usize::from(*value.first()?);
    let (policy, state) = value.split_at_checked(length)?;
    let settings = settings(policy)?;
    let policy = Policy::try_from(settings.clone()).ok()?;
    let state = state_json(&settings, state)?;
    Some((policy, serde_json::from_value(state).ok()?))
}

fn settings(policy: &[u8]) -> Option<PolicySettings> {
    let (&tag, rest) = policy.get(1..)?.split_first()?;
    let (quota, rest) = number(rest)?;
    if tag == 9 {
        let (&calendar, zone) = rest.split_first()?;
        let calendar = if calendar == 1 { Calendar::Month } else { Calendar::Day };
        let zone = std::str::from_utf8(zone.strip_suffix(&[0])?).ok()?.to_owned();
        return Some(PolicySettings::LongQuota { limit: quota, calendar, zone });
    }
    let numbers = numbers(rest)?;
    Some(match (tag, numbers.as_slice()) {
        (1, &[rate, period_us, _, _]) => PolicySettings::Gcra { burst_capacity: quota, rate, period_us },
        (2, &[refill, period_us]) => PolicySettings::IntervalBucket { capacity: quota, refill, period_us },
        // A queue that denies everything has no place for anybody, nor a rate.
        (3, &[rate, period_us, _, _]) => PolicySettings::LeakyQueue {
            rate: if quota == 0 { 0 } else { rate },
            period_us,
            max_waiting: quota.saturating_sub(1),
        },
        (4, &[window_us, aligned]) => {
            PolicySettings::FixedWindow { limit: quota, window_us, aligned: aligned == 1 }
        }
        (5, &[window_us]) => PolicySettings::SlidingLog { limit: quota, window_us },
        (6, &[window_us]) => PolicySettings::SlidingTwoCounters { limit: quota, window_us },
        (7, &[window_us, sub_windows]) => {
            PolicySettings::SlidingSubWindows { limit: quota, window_us, sub_windows }
        }
        (8, &[window_us, lock_us]) => PolicySettings::Lockout { max: quota, window_us, lock_us },
        (10, &[life_us]) => PolicySettings::Concurrency { permits: quota, life_us },
        _ => return None,
    })
}

/// The state in the form in which `shared` reads it.
fn state_json(settings: &PolicySettings, state: &[u8]) -> Option<Value> {
    if let PolicySettings::Concurrency { .. } = settings {
        return concurrency_json(state);
    }
    let numbers = numbers(state)?;
    Some(match (settings, numbers.as_slice()) {
        (PolicySettings::Gcra { rate, .. }, &[us, parts, at]) => {
            json!({"Gcra": gcra_json(*rate, us, parts, at)?})
        }
        (PolicySettings::LeakyQueue { rate, .. }, &[us, parts, at]) => {
            json!({"LeakyQueue": gcra_json(*rate, us, parts, at)?})
        }
        (PolicySettings::IntervalBucket { .. }, &[missing, full_until, at]) => {
            json!({"IntervalBucket": {"missing": missing, "full_until": full_until, "last_admitted": at}})
        }
        (PolicySettings::FixedWindow { .. }, &[used, first, at]) => {
            json!({"FixedWindow": {"used": used, "first_admitted": first, "last_admitted": at}})
        }
        (PolicySettings::SlidingLog { .. }, [at, admitted @ ..]) => {
            json!({"SlidingLog": {"admitted": admitted, "last_admitted": at}})
        }
        (PolicySettings::SlidingTwoCounters { .. }, &[previous, current, at]) => {
            json!({"TwoCounters": {"previous": previous, "current": current, "last_admitted": at}})
        }
        (PolicySettings::SlidingSubWindows { .. }, [at, counts @ ..]) => {
            json!({"SubWindows": {"counts": counts, "last_admitted": at}})
        }
        (PolicySettings::Lockout { .. }, &[used, at, locked_until]) => {
            json!({"Lockout": {"used": used, "last_admitted": at, "locked_until": locked_until}})
        }
        (PolicySettings::LongQuota { .. }, &[used, ends_at, at]) => {
            json!({"LongQuota": {"used": used, "ends_at": ends_at, "last_admitted": at}})
        }
        _ => return None,
    })
}

fn gcra_json(rate: u64, us: u64, parts: u64, at: u64) -> Option<Value> {
    let debt = us.checked_mul(rate.max(1))?.checked_add(parts)?;
    Some(json!({"debt": debt, "last_admitted": at}))
}

fn concurrency_json(state: &[u8]) -> Option<Value> {
    let (at, permits) = number(state)?;
    let (permits, rest) = permits.as_chunks::<PERMIT_BYTES>();
    let permit = |bytes: &[u8; PERMIT_BYTES]| {
        let (holder, rest) = bytes.split_first_chunk::<16>()?;
        let (cost, rest) = number(rest)?;
        let (ends_at, _) = number(rest)?;
        Some(json!({"holder": holder, "cost": cost, "ends_at": ends_at}))
    };
    let permits = permits.iter().map(permit).collect::<Option<Vec<_>>>()?;
    rest.is_empty().then(|| json!({"Concurrency": {"permits": permits, "last_admitted": at}}))
}

fn numbers(bytes: &[u8]) -> Option<Vec<u64>> {
    let (doubles, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| doubles.iter().map(|bytes| whole(*bytes)).collect())
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (double, rest) = bytes.split_first_chunk::<8>()?;
    Some((whole(*double), rest))
}

#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the scripts store whole numbers below 2^53, and anything else saturates"
)]
fn whole(double: [u8; 8]) -> u64 {
    f64::from_le_bytes(double) as u64
}

const PERMIT_BYTES: usize = 32;
