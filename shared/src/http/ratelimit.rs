//! `RateLimit`, `RateLimit-Policy` and `Retry-After` of a reply.
//!
//! The fields are those of draft-ietf-httpapi-ratelimit-headers-10. Its `t` is the time until more is available, which is
//! not our `reset_after`.

use crate::limiter::{Decision, Policy};
use core::cmp::Reverse;
use core::fmt::Write;
use core::time::Duration;

/// What one policy said to a request.
#[derive(Clone, Copy, Debug)]
pub struct QuotaReport<'a> {
    /// The policy's name in the configuration.
    pub name: &'a str,
    /// Its settings.
    pub policy: &'a Policy,
    /// What it decided.
    pub decision: &'a Decision,
}

/// Values of the fields; lists with the tightest policy first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimitFields {
    /// `RateLimit`: `"burst";r=50;t=30`. `t` is missing while the quota is whole, and where it never comes back.
    pub rate_limit: String,
    /// `RateLimit-Policy`: `"burst";q=100;w=60`.
    pub rate_limit_policy: String,
    /// `Retry-After` in seconds, at least 1; `None` when nothing was refused, or when the request can never pass.
    pub retry_after_s: Option<u64>,
}

/// The fields for what these policies said to one request.
pub fn rate_limit_fields(reports: &[QuotaReport<'_>]) -> RateLimitFields {
    let mut tightest_first: Vec<&QuotaReport<'_>> = reports.iter().collect();
    tightest_first.sort_by_key(|report| tightness(report.decision));
    let mut fields =
        RateLimitFields { rate_limit: String::new(), rate_limit_policy: String::new(), retry_after_s: None };
    for report in &tightest_first {
        push_item(&mut fields.rate_limit, report.name, &limit_parameters(report));
        push_item(&mut fields.rate_limit_policy, report.name, &policy_parameters(report.policy));
    }
    // The first is the binding refusal, if anything was refused.
    if let Some(Decision::Denied { retry_after: Some(wait), .. }) =
        tightest_first.first().map(|first| first.decision)
    {
        fields.retry_after_s = Some(retry_after_s(*wait));
    }
    fields
}

/// A wait in whole seconds for `Retry-After`: rounded up, and never 0, because 0 asks for a hot loop.
///
/// ```
/// use shared::http::ratelimit::retry_after_s;
/// use std::time::Duration;
/// assert_eq!(retry_after_s(Duration::from_millis(200)), 1);
/// assert_eq!(retry_after_s(Duration::from_millis(1900)), 2);
/// ```
pub fn retry_after_s(wait: Duration) -> u64 {
    whole_seconds(wait).max(1)
}

/// Sorts first what binds: refusals by the longest wait (never is longest), then the least remaining.
fn tightness(decision: &Decision) -> (bool, bool, Reverse<Duration>, u64) {
    match *decision {
        Decision::Denied { retry_after, remaining, .. } => {
            (false, retry_after.is_some(), Reverse(retry_after.unwrap_or(Duration::MAX)), remaining)
        }
        Decision::Allowed { remaining, .. } => (true, true, Reverse(Duration::ZERO), remaining),
    }
}

fn limit_parameters(report: &QuotaReport<'_>) -> String {
    let remaining = report.decision.remaining();
    match report.policy.more_after(report.decision) {
        Duration::ZERO => format!("r={remaining}"),
        wait => format!("r={remaining};t={}", whole_seconds(wait)),
    }
}

fn policy_parameters(policy: &Policy) -> String {
    format!("q={};w={}", policy.quota(), whole_seconds(policy.window()))
}

fn push_item(list: &mut String, name: &str, parameters: &str) {
    if !list.is_empty() {
        list.push_str(", ");
    }
    // Writing into a String cannot fail.
    let _ = write!(list, "\"{}\";{parameters}", structured_string(name));
}

/// The inside of a structured-field string (RFC 9651): quotes and backslashes escaped, other bytes it cannot hold as `?`.
fn structured_string(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\\' => escaped.extend(['\\', character]),
            ' '..='~' => escaped.push(character),
            _ => escaped.push('?'),
        }
    }
    escaped
}

/// Seconds, rounded up.
fn whole_seconds(span: Duration) -> u64 {
    span.as_secs().saturating_add(u64::from(span.subsec_nanos() > 0))
}
