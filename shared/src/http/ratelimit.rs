//! `RateLimit`, `RateLimit-Policy` and `Retry-After` of a reply.
//!
//! The fields are those of draft-ietf-httpapi-ratelimit-headers-10, or of a revision that renames parameters. Its `t` is
//! the time until more is available, which is not our `reset_after`. They go with allowed replies too.

use crate::limiter::{Cost, Decision, Policy};
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

/// Which fields tell limits, and how they are spelled: `ratelimit_fields` and `x_ratelimit` of `[site]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitFields {
    /// The parameters of `RateLimit`.
    pub draft: Draft,
    /// Whether `X-RateLimit-*` go along, for clients that know nothing newer.
    pub x_rate_limit: bool,
}

/// How the parameters of `RateLimit` are spelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Draft {
    /// draft-ietf-httpapi-ratelimit-headers-10: `r` remaining, `t` time.
    #[default]
    Draft10,
    /// A revision after it: `a` available, `w` window. What it adds is optional, and left out.
    Renamed,
}

impl Draft {
    /// Reads the word of the configuration.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "draft-10" => Ok(Self::Draft10),
            "renamed" => Ok(Self::Renamed),
            _ => Err("write \"draft-10\" (r, t), or \"renamed\" (a, w)"),
        }
    }
}

/// `X-RateLimit-Limit`, `-Remaining` and `-Reset`: the tightest policy alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XRateLimit {
    /// The most cost at one instant from rest.
    pub limit: Cost,
    /// Cost still admissible.
    pub remaining: Cost,
    /// Seconds until the quota is whole, rounded up; at least 1 on a refusal.
    pub reset_s: u64,
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
    /// The `X-RateLimit-*` of the tightest; `None` when nothing was asked, or [`LimitFields`] does not want them.
    pub x_rate_limit: Option<XRateLimit>,
    /// Names of the policies that refused, as `violated-policies` of the problem; what binds first.
    pub violated_policies: Vec<String>,
}

impl RateLimitFields {
    /// Names in lower case and values, without `Retry-After`, which not only limits have. No limits: no fields.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        if self.rate_limit.is_empty() {
            return Vec::new();
        }
        let mut headers = vec![
            ("ratelimit", self.rate_limit.clone()),
            ("ratelimit-policy", self.rate_limit_policy.clone()),
        ];
        if let Some(tightest) = self.x_rate_limit {
            headers.push(("x-ratelimit-limit", tightest.limit.to_string()));
            headers.push(("x-ratelimit-remaining", tightest.remaining.to_string()));
            headers.push(("x-ratelimit-reset", tightest.reset_s.to_string()));
        }
        headers
    }
}

/// The fields for what these policies said to one request.
pub fn rate_limit_fields(told: LimitFields, reports: &[QuotaReport<'_>]) -> RateLimitFields {
    let mut tightest_first: Vec<&QuotaReport<'_>> = Vec::new();
    for report in reports {
        let is_before = |other: &&QuotaReport<'_>| tightness(other.decision) <= tightness(report.decision);
        tightest_first.insert(tightest_first.partition_point(is_before), report);
    }
    let refused = tightest_first.iter().filter(|report| !report.decision.is_allowed());
    let mut fields = RateLimitFields {
        rate_limit: String::new(),
        rate_limit_policy: String::new(),
        retry_after_s: None,
        x_rate_limit: tightest_first
            .first()
            .filter(|_| told.x_rate_limit)
            .map(|tightest| x_rate_limit(tightest)),
        violated_policies: refused.map(|report| report.name.to_owned()).collect(),
    };
    for report in &tightest_first {
        push_item(&mut fields.rate_limit, report.name, &limit_parameters(told.draft, report));
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

fn limit_parameters(draft: Draft, report: &QuotaReport<'_>) -> String {
    let (available, time) = match draft {
        Draft::Draft10 => ('r', 't'),
        Draft::Renamed => ('a', 'w'),
    };
    let remaining = report.decision.remaining();
    match report.policy.more_after(report.decision) {
        Duration::ZERO => format!("{available}={remaining}"),
        wait => format!("{available}={remaining};{time}={}", whole_seconds(wait)),
    }
}

fn x_rate_limit(report: &QuotaReport<'_>) -> XRateLimit {
    let reset_s = whole_seconds(report.decision.reset_after());
    let reset_s = if report.decision.is_allowed() { reset_s } else { reset_s.max(1) };
    XRateLimit { limit: report.policy.quota(), remaining: report.decision.remaining(), reset_s }
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
        let fields = rate_limit_fields(LimitFields::default(), &reports);
        assert_eq!((&*fields.rate_limit, &*fields.rate_limit_policy), (rate_limit, rate_limit_policy));
        assert_eq!(fields.retry_after_s, retry_after_s);
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
        let fields = rate_limit_fields(LimitFields { x_rate_limit: true, ..LimitFields::default() }, &[]);
        assert_eq!((fields.headers(), fields.x_rate_limit, fields.violated_policies), (vec![], None, vec![]));
    }

    /// Every field of a refusal by one of two policies, and of an allowed request, as they are in `tests/vectors`.
    #[test]
    fn each_draft_has_its_golden_file() {
        let (device, ip) = (policy(10, 5, 1), policy(200, 100, 60));
        let golden = [
            (Draft::Draft10, include_str!("../../tests/vectors/ratelimit_draft10.txt")),
            (Draft::Renamed, include_str!("../../tests/vectors/ratelimit_renamed.txt")),
        ];
        for (draft, golden) in golden {
            let mut written = String::new();
            for costs in [&[10_u64, 1][..], &[4]] {
                let decisions = [decide(&ip, &[1]), decide(&device, costs)];
                let reports = [
                    QuotaReport { name: "ip", policy: &ip, decision: &decisions[0] },
                    QuotaReport { name: "device", policy: &device, decision: &decisions[1] },
                ];
                let fields = rate_limit_fields(LimitFields { draft, x_rate_limit: true }, &reports);
                for (index, (name, value)) in fields.headers().into_iter().enumerate() {
                    if let (2, Some(seconds)) = (index, fields.retry_after_s) {
                        writeln!(written, "retry-after: {seconds}").unwrap();
                    }
                    writeln!(written, "{name}: {value}").unwrap();
                }
                writeln!(written, "violated-policies: {:?}\n", fields.violated_policies).unwrap();
            }
            assert_eq!(written, golden, "{draft:?}");
        }
    }

    #[test]
    fn a_reset_is_never_now_on_a_refusal() {
        let off = policy(0, 1, 1);
        let decision = decide(&off, &[1]);
        let report = QuotaReport { name: "off", policy: &off, decision: &decision };
        assert_eq!(rate_limit_fields(LimitFields::default(), &[report]).x_rate_limit, None);
        let told = LimitFields { x_rate_limit: true, ..LimitFields::default() };
        let x_rate_limit = rate_limit_fields(told, &[report]).x_rate_limit;
        assert_eq!(x_rate_limit, Some(XRateLimit { limit: 0, remaining: 0, reset_s: 1 }));
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
