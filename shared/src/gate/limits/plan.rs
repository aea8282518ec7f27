//! The limits of a request, in the order in which they are asked.

use super::{Home, Limit, Subject};
use crate::config::{
    Config, KeyPart, LimitChoice, PolicyConfig, PolicyMode, RouteConfig, RouteKind, ShopConfig,
};
use crate::gate::Buyer;
use crate::http::reason::Reason;
use crate::limiter::Policy;
use crate::limiter::check::Charge;

/// A step of the request. What refuses most callers at the least price comes first; the whole site's owner, the busiest,
/// is asked last and only by what passed everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Keys of one caller: client, member, device, address. Sent together, each to its own home.
    Personal,
    /// Keys of the shop and of the SKU, all of them or none: the SKU must be known here.
    Shop,
    /// Keys of the whole site, all of them or none.
    Site,
}

impl Stage {
    /// The stages in their order.
    pub const ALL: [Self; 3] = [Self::Personal, Self::Shop, Self::Site];
}

/// What limits one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan<'a> {
    limits: Vec<&'a [LimitChoice]>,
}

impl<'a> Plan<'a> {
    /// The plan of a request to the shop: what its route, or else the shop, limits, and what the API client's plan does.
    /// Who bypasses is limited by nothing.
    pub fn of_request(shop: &'a ShopConfig, route: Option<&'a RouteConfig>, buyer: &Buyer<'a>) -> Self {
        let is_bypass = route.is_some_and(|route| route.kind == RouteKind::Bypass);
        if is_bypass || buyer.is_bypassed {
            return Self { limits: Vec::new() };
        }
        let limits = route.map_or(&shop.limits, |route| &route.limits);
        let client = buyer.client_of(shop).map(|client| client.limits.as_slice());
        Self { limits: [Some(limits.as_slice()), client].into_iter().flatten().collect() }
    }

    /// The plan of a join.
    pub fn of_join(config: &'a Config, buyer: &Buyer<'_>) -> Self {
        let limits = if buyer.is_bypassed { &[] } else { config.join.limits.as_slice() };
        Self { limits: vec![limits] }
    }

    /// The plan of these limits, whatever names them.
    pub fn of(limits: &'a [LimitChoice]) -> Self {
        Self { limits: vec![limits] }
    }

    /// Whether some policy of this plan counts by `part`, so that a host has to find out what it is.
    pub fn counts_by(&self, part: KeyPart) -> bool {
        let mut policies = self.limits.iter().copied().flatten().flat_map(|choice| &choice.policies);
        policies.any(|policy| policy.mode != PolicyMode::Off && policy.key.has(part))
    }

    /// Whether anything may limit such a request, whoever asks; where it is false, nobody need find out who asks.
    pub fn may_limit(config: &Config, shop: &ShopConfig, route: Option<&RouteConfig>) -> bool {
        let limits = route.map_or(&shop.limits, |route| &route.limits);
        let mut policies = limits.iter().flat_map(|choice| &choice.policies);
        policies.any(|policy| policy.mode != PolicyMode::Off) || config.callers.have_plans()
    }

    /// The limits of one stage for this subject. Empty: no home is asked. Policies that are off are not among them.
    pub fn limits(&self, stage: Stage, subject: &Subject<'a>) -> Vec<Limit<'a>> {
        let choices = self.limits.iter().copied().flatten();
        let limits = choices.filter_map(|choice| limit_of(chosen(choice, subject)?, subject));
        let limits = limits.filter(|limit| stage_of(limit.home) == stage);
        let mut by_home: Vec<Limit<'a>> = Vec::new();
        for limit in limits {
            // Devices before addresses: of equal waits the first one is named.
            let place = by_home.partition_point(|other| other.home <= limit.home);
            by_home.insert(place, limit);
        }
        by_home
    }
}

/// The policy of a choice that applies: the first whose key is known, else the last.
fn chosen<'a>(choice: &'a LimitChoice, subject: &Subject<'_>) -> Option<&'a PolicyConfig> {
    let mut policies = choice.policies.iter().map(AsRef::as_ref);
    let known = policies.clone().find(|policy: &&PolicyConfig| subject.knows(&policy.key));
    known.or_else(|| policies.next_back())
}

/// The limit of one policy for this subject; `None` where the policy is off, or passes the subject over.
pub fn limit_of<'a>(policy: &'a PolicyConfig, subject: &Subject<'a>) -> Option<Limit<'a>> {
    if policy.mode == PolicyMode::Off {
        return None;
    }
    let key = subject.key(&policy.name, &policy.key)?;
    let limiter = policy.limiter_for(subject.sku.as_ref());
    Some(Limit {
        name: &policy.name,
        mode: policy.mode,
        on_store_failure: policy.on_store_failure,
        reason: reason_of(policy, limiter),
        words: &policy.words,
        counts_by: policy.key.parts(),
        home: key.home,
        charge: Charge { inheritance: policy.inherit, ..Charge::new(*limiter, key.hash, 1) },
        lease: policy.lease,
    })
}

/// What a refusal by this policy is called: its caller's fault, or that of everybody in the shop together.
fn reason_of(policy: &PolicyConfig, limiter: &Policy) -> Reason {
    if policy.key.is_personal() {
        match limiter {
            Policy::Lockout(lockout) if !lockout.lock_time().is_zero() => Reason::Locked,
            _ => Reason::RateLimited,
        }
    } else if policy.key.has(KeyPart::Sku) {
        Reason::SkuBusy
    } else {
        Reason::ShopBusy
    }
}

fn stage_of(home: Home<'_>) -> Stage {
    match home {
        Home::Caller(..) | Home::Isolate => Stage::Personal,
        Home::Shop(_) => Stage::Shop,
        Home::Site => Stage::Site,
    }
}
