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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::gcra::GcraPolicy;
    use crate::time::Timestamp;

    fn policy(burst: u64, rate: u64, period_s: u64) -> Policy {
        Policy::Gcra(GcraPolicy::new(burst, rate, Duration::from_secs(period_s)).unwrap())
    }

    /// What `policy` says to the last of `costs`, all asked at one instant.
    fn decide(policy: &Policy, costs: &[u64]) -> Decision {
        let mut state = policy.new_state();
        let mut decision = policy.check(state.clone(), Timestamp::default(), 0).decision;
        for cost in costs {
            let transition = policy.check(state, Timestamp::default(), *cost);
            (state, decision) = (transition.state, transition.decision);
        }
        decision
    }

    fn check(
        asked: &[(&str, Policy, &[u64])],
        rate_limit: &str,
        rate_limit_policy: &str,
        retry_after_s: Option<u64>,
    ) {
        let decisions: Vec<Decision> = asked.iter().map(|(_, policy, costs)| decide(policy, costs)).collect();
        let reports: Vec<QuotaReport<'_>> = asked
            .iter()
            .zip(&decisions)
            .map(|((name, policy, _), decision)| QuotaReport { name, policy, decision })
            .collect();
        let want = RateLimitFields {
            rate_limit: rate_limit.to_owned(),
            rate_limit_policy: rate_limit_policy.to_owned(),
            retry_after_s,
        };
        assert_eq!(rate_limit_fields(&reports), want);
    }

    #[test]
    fn the_draft_examples() {
        let (burst, daily) = (policy(100, 100, 60), policy(1000, 1000, 86_400));
        check(
            &[("burst", burst, &[50]), ("daily", daily, &[1])],
            r#""burst";r=50;t=1, "daily";r=999;t=87"#,
            r#""burst";q=100;w=60, "daily";q=1000;w=86400"#,
            None,
        );
    }

    #[test]
    fn nothing_is_nothing() {
        check(&[], "", "", None);
    }

    #[test]
    fn a_whole_quota_has_no_time_to_wait_for() {
        check(&[("ip", policy(200, 100, 1), &[])], r#""ip";r=200"#, r#""ip";q=200;w=2"#, None);
    }

    #[test]
    fn a_refusal_comes_first_and_waits_a_second_at_least() {
        let (device, ip) = (policy(10, 5, 1), policy(200, 100, 1));
        check(
            &[("ip", ip, &[199]), ("device", device, &[10, 1])],
            r#""device";r=0;t=1, "ip";r=1;t=1"#,
            r#""device";q=10;w=2, "ip";q=200;w=2"#,
            Some(1),
        );
    }

    #[test]
    fn waits_round_up_and_the_longest_refusal_binds() {
        let (quick, slow) = (policy(2, 2, 1), policy(10, 10, 19));
        check(
            &[("quick", quick, &[2, 1]), ("slow", slow, &[10, 1])],
            r#""slow";r=0;t=2, "quick";r=0;t=1"#,
            r#""slow";q=10;w=19, "quick";q=2;w=1"#,
            Some(2),
        );
    }

    #[test]
    fn t_is_when_more_is_available_and_retry_after_when_this_cost_is() {
        check(&[("burst", policy(10, 1, 1), &[8, 5])], r#""burst";r=2;t=1"#, r#""burst";q=10;w=10"#, Some(3));
    }

    #[test]
    fn what_can_never_pass_has_no_retry_after() {
        let (device, ip) = (policy(10, 5, 1), policy(1, 1, 60));
        check(
            &[("ip", ip, &[1, 1]), ("device", device, &[11])],
            r#""device";r=10, "ip";r=0;t=60"#,
            r#""device";q=10;w=2, "ip";q=1;w=60"#,
            None,
        );
        check(&[("off", policy(0, 1, 1), &[1])], r#""off";r=0"#, r#""off";q=0;w=0"#, None);
    }

    #[test]
    fn names_are_structured_field_strings() {
        check(
            &[("a\"b\\c\u{e9}\n", policy(1, 1, 1), &[])],
            r#""a\"b\\c??";r=1"#,
            r#""a\"b\\c??";q=1;w=1"#,
            None,
        );
    }
}
