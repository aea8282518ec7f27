//! What the answers of one stage mean for the request.

use super::{Home, Limit};
use crate::config::{KeyPart, OnStoreFailure, PolicyMode, PolicyWords};
use crate::http::ratelimit::{LimitFields, QuotaReport, RateLimitFields, rate_limit_fields};
use crate::http::reason::Reason;
use crate::limiter::check::Charge;
use crate::limiter::key::KeyHash;
use crate::limiter::{Decision, Policy};
use core::time::Duration;

/// What one stage says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<'a> {
    /// What refuses the request; `None`: it goes on.
    pub refusal: Option<Bound<'a>>,
    /// Policies in shadow that would have refused it; to be counted and logged, never shown.
    pub would_refuse: Vec<&'a str>,
    /// Limits whose home did not answer and that stood open for it; to be counted.
    pub unanswered: usize,
    /// How long to hold the request before it goes on: the longest that a leaky queue asked for.
    pub delay: Duration,
    /// `RateLimit` and `RateLimit-Policy` of every enforced limit that answered.
    pub fields: RateLimitFields,
}

/// What refuses a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound<'a> {
    /// The policy that waits longest.
    pub policy: &'a str,
    /// Its key.
    pub key: KeyHash,
    /// Where the key's state lives.
    pub home: Home<'a>,
    /// What it counts by.
    pub counts_by: &'a [KeyPart],
    /// What the refusal is called.
    pub reason: Reason,
    /// Time until the same request could pass; `None` if it never can, or nobody knows.
    pub retry_after: Option<Duration>,
    /// What a buyer reads, where the policy has words of its own.
    pub words: &'a PolicyWords,
    /// `RateLimit` and `RateLimit-Policy` of everything that answered.
    pub fields: RateLimitFields,
}

/// What these decisions on these limits mean.
///
/// `None` for a limit means that its home did not answer, or was not asked: it is open, because a fault of ours must not
/// turn buyers away, unless its policy says `closed`. For `local`, the host puts its own limiter's decision here.
/// `told` is how the site tells of limits.
pub fn judge<'a>(told: LimitFields, limits: &[Limit<'a>], decisions: &[Option<Decision>]) -> Verdict<'a> {
    let mut verdict = Verdict {
        refusal: None,
        would_refuse: Vec::new(),
        unanswered: 0,
        delay: Duration::ZERO,
        fields: rate_limit_fields(told, &[]),
    };
    let mut decided: Vec<(&Limit<'a>, Decision)> = Vec::new();
    let mut closed = None;
    for (limit, decision) in limits.iter().zip(decisions) {
        match (limit.mode, decision) {
            (PolicyMode::Enforced, Some(decision)) => decided.push((limit, *decision)),
            (PolicyMode::Enforced, None) if limit.on_store_failure == OnStoreFailure::Closed => {
                closed = closed.or(Some(limit));
            }
            (PolicyMode::Enforced, None) => verdict.unanswered = verdict.unanswered.saturating_add(1),
            (PolicyMode::Shadow, Some(Decision::Denied { .. })) => verdict.would_refuse.push(limit.name),
            (PolicyMode::Shadow | PolicyMode::Off, _) => {}
        }
    }
    let reports: Vec<QuotaReport<'_>> = decided
        .iter()
        .map(|(limit, decision)| QuotaReport { name: limit.name, policy: &limit.charge.policy, decision })
        .collect();
    verdict.fields = rate_limit_fields(told, &reports);
    verdict.delay = decided.iter().map(|(_, decision)| delay(decision)).max().unwrap_or_default();
    verdict.refusal = binding(&decided, &verdict.fields).or_else(|| {
        let Limit { name: policy, counts_by, home, charge: Charge { key, .. }, .. } = *closed?;
        let fields = verdict.fields.clone();
        // Nothing of the policy's: its words are for whoever did too much.
        let words = &PolicyWords::NONE;
        Some(Bound {
            policy,
            key,
            home,
            counts_by,
            reason: Reason::LimiterUnavailable,
            retry_after: None,
            words,
            fields,
        })
    });
    verdict
}

/// What refuses a request before anybody is asked: refusals that the host remembers.
pub fn refused_already<'a>(
    told: LimitFields,
    limits: &[Limit<'a>],
    remembered: &[Option<Decision>],
) -> Option<Bound<'a>> {
    let is_enforced = |limit: &Limit<'_>| limit.mode == PolicyMode::Enforced;
    let known =
        limits.iter().zip(remembered).filter(|(limit, decision)| is_enforced(limit) && decision.is_some());
    let (limits, decisions): (Vec<Limit<'a>>, Vec<Option<Decision>>) =
        known.map(|(limit, decision)| (*limit, *decision)).unzip();
    judge(told, &limits, &decisions).refusal
}

/// The refusal that waits longest, the first of equals; one that can never pass waits longest of all.
fn binding<'a>(decided: &[(&Limit<'a>, Decision)], fields: &RateLimitFields) -> Option<Bound<'a>> {
    let mut bound: Option<(&Limit<'a>, Option<Duration>)> = None;
    for (limit, decision) in decided {
        let Decision::Denied { retry_after, .. } = *decision else { continue };
        let wait = |retry_after: Option<Duration>| retry_after.unwrap_or(Duration::MAX);
        if bound.is_none_or(|(_, found)| wait(retry_after) > wait(found)) {
            bound = Some((limit, retry_after));
        }
    }
    let (limit, retry_after) = bound?;
    let reason = if retry_after.is_some() { limit.reason } else { Reason::CostTooHigh };
    let Limit { name: policy, counts_by, home, words, charge: Charge { key, .. }, .. } = *limit;
    Some(Bound { policy, key, home, counts_by, reason, retry_after, words, fields: fields.clone() })
}

/// Decisions as a buyer is told them. Requests end long before the lives of their permits: who found none free comes again within
/// a second. (Who asks the limit service is told the life itself: only they know how long their work takes.)
pub fn permits_end_soon(limits: &[Limit<'_>], decisions: &[Option<Decision>]) -> Vec<Option<Decision>> {
    let as_told = |(limit, decision): (&Limit<'_>, &Option<Decision>)| match (limit.charge.policy, *decision)
    {
        (
            Policy::Concurrency(_),
            Some(Decision::Denied { remaining, retry_after: Some(wait), reset_after }),
        ) => {
            let retry_after = Some(wait.min(PERMIT_AGAIN_AFTER));
            Some(Decision::Denied { remaining, retry_after, reset_after })
        }
        (_, decision) => decision,
    };
    limits.iter().zip(decisions).map(as_told).collect()
}

fn delay(decision: &Decision) -> Duration {
    match *decision {
        Decision::Allowed { delay, .. } => delay,
        Decision::Denied { .. } => Duration::ZERO,
    }
}

/// When whoever found no permit free may try again.
const PERMIT_AGAIN_AFTER: Duration = Duration::from_secs(1);
