//! What a check came to, and how it is told.

use super::asked::Asked;
use data_encoding::HEXLOWER;
use shared::{
    config::PolicyMode,
    gate::{Limit, Verdict, judge},
    http::{
        ratelimit::{LimitFields, RateLimitFields},
        reason::Reason,
    },
    limiter::{Cost, Decision, Policy, concurrency::Holder},
    time::{Timestamp, micros},
    wire::limits::{CheckResult, DecidedBy, LimitTold},
};
use std::time::Duration;

/// Limits that were asked, and what they said.
pub(super) struct Said<'a> {
    pub(super) limits: Vec<Limit<'a>>,
    pub(super) decisions: Vec<Option<Decision>>,
    /// When the first of them was decided.
    pub(super) now: Timestamp,
    pub(super) is_fallback: bool,
    /// How the site tells of limits.
    told: LimitFields,
}

/// A check or a peek with everything that is told of it.
pub struct Outcome {
    pub result: CheckResult,
    pub fields: RateLimitFields,
    pub retry_after: Option<Duration>,
}

impl<'a> Said<'a> {
    /// Nothing yet.
    pub(super) fn in_answer_to(asked: &Asked<'_>) -> Self {
        let (limits, decisions, now) = (Vec::new(), Vec::new(), Timestamp::default());
        Self { limits, decisions, now, is_fallback: false, told: asked.limit_fields }
    }

    pub(super) fn verdict(&self) -> Verdict<'a> {
        judge(self.told, &self.limits, &self.decisions)
    }

    pub(super) fn add(&mut self, limits: Vec<Limit<'a>>, answered: super::home::Answered) {
        if self.limits.is_empty() {
            self.now = answered.now;
        }
        self.limits.extend(limits);
        self.decisions.extend(answered.decisions);
        self.is_fallback |= !answered.by_store;
    }

    /// A permit's key that refuses for now and not for ever, if that is all that refuses.
    pub(super) fn permit_waited_for(&self) -> Option<(usize, Duration)> {
        let denied =
            self.limits.iter().zip(&self.decisions).enumerate().filter_map(|(index, (limit, decision))| {
                match decision {
                    Some(Decision::Denied { retry_after, .. }) if limit.mode == PolicyMode::Enforced => {
                        Some((index, limit, *retry_after))
                    }
                    _ => None,
                }
            });
        let mut found = None;
        for (index, limit, retry_after) in denied {
            match (&limit.charge.policy, retry_after) {
                (Policy::Concurrency(_), Some(wait)) => found = Some((index, wait)),
                _ => return None,
            }
        }
        found
    }

    /// Tells it.
    pub(super) fn outcome(&self, passed_over: Vec<String>, receipt: Option<String>) -> Outcome {
        let verdict = self.verdict();
        let refusal = verdict.refusal.as_ref();
        let retry_after = refusal.and_then(|bound| bound.retry_after);
        let holds_permit = |limit: &Limit<'_>| matches!(limit.charge.policy, Policy::Concurrency(_));
        let may_change = self.is_fallback || self.limits.iter().any(holds_permit);
        let remembered = match (refusal, retry_after) {
            (Some(_), Some(wait)) if !may_change => wait.min(REMEMBERED_MAX),
            (Some(bound), None) if bound.reason == Reason::CostTooHigh => REMEMBERED_MAX,
            _ => Duration::ZERO,
        };
        let decided_by = match (self.limits.is_empty(), self.is_fallback) {
            (true, _) => DecidedBy::Nobody,
            (false, true) => DecidedBy::Fallback,
            (false, false) => DecidedBy::Store,
        };
        let told =
            self.limits.iter().zip(&self.decisions).map(|(limit, decision)| told(limit, decision.as_ref()));
        let result = CheckResult {
            allowed: refusal.is_none(),
            code: refusal.map(|bound| bound.reason),
            policy: refusal.map(|bound| bound.policy.to_owned()),
            retry_after_us: retry_after.map(micros),
            remember_us: micros(remembered),
            delay_us: micros(verdict.delay),
            decided_at_us: self.now.as_micros(),
            decided_by,
            holds_permit: receipt.is_some() && self.limits.iter().any(holds_permit),
            receipt,
            rate_limit: verdict.fields.rate_limit.clone(),
            rate_limit_policy: verdict.fields.rate_limit_policy.clone(),
            limits: told.collect(),
            passed_over,
        };
        Outcome { result, fields: verdict.fields, retry_after }
    }
}

/// What is known of a request that a queue of waiting callers keeps out: nothing is left for it.
pub(super) fn kept_out(decision: Decision) -> Decision {
    let reset_after = decision.reset_after().max(Duration::from_millis(1));
    Decision::Denied { remaining: 0, retry_after: Some(reset_after), reset_after }
}

fn told(limit: &Limit<'_>, decision: Option<&Decision>) -> LimitTold {
    let retry_after = decision.filter(|decision| !decision.is_allowed()).and_then(Decision::retry_after);
    LimitTold {
        policy: limit.name.to_owned(),
        enforced: limit.mode == PolicyMode::Enforced,
        key: HEXLOWER.encode(&limit.charge.key.0),
        allowed: decision.map(Decision::is_allowed),
        quota: limit.charge.policy.quota(),
        remaining: decision.map_or(0, Decision::remaining),
        retry_after_us: retry_after.map(micros),
        reset_after_us: decision.map_or(0, |decision| micros(decision.reset_after())),
    }
}

/// Who holds the permits of a check: what the caller said, or nobody else could know.
pub(super) fn holder_or_random(told: Option<Holder>) -> Option<Holder> {
    told.or_else(|| {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        Some(Holder(bytes))
    })
}

/// Cost 0 is a peek, which takes nothing that could be given back.
pub(super) const fn takes(cost: Cost) -> bool {
    cost > 0
}

/// As long as a deny cache keeps a refusal.
const REMEMBERED_MAX: Duration = shared::limiter::deny_cache::LIFE_MAX;
