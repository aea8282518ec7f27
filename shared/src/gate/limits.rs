//! Which keys a request is charged to, where their states live, and what a refusal says.

use super::Buyer;
use crate::config::{PolicyConfig, PolicyKey, PollConfig};
use crate::http::client::Ipv6Prefix;
use crate::http::ratelimit::{QuotaReport, RateLimitFields, rate_limit_fields};
use crate::limiter::Decision;
use crate::limiter::check::{Charge, CheckRequest};
use crate::limiter::key::Key;
use crate::token::Ticket;
use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One key of a request, the policy that counts it, and the home of its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit<'c> {
    /// Name of the policy.
    pub name: &'c str,
    /// Where the state lives.
    pub home: Home,
    /// What is taken there.
    pub charge: Charge,
}

/// One of 256 owners of states of one kind. All policies on one device, or on one address, share a home, so that a
/// request makes at most one call for its device and one for its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Home {
    kind: PolicyKey,
    shard: u8,
}

impl fmt::Display for Home {
    /// The name of the owner: `device-3f`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:02x}", self.kind.name(), self.shard)
    }
}

/// What refuses a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound<'c> {
    /// The policy that waits longest.
    pub policy: &'c str,
    /// Time until the same request could pass; `None` if it never can.
    pub retry_after: Option<Duration>,
    /// `RateLimit` and `RateLimit-Policy` of everything that was asked.
    pub fields: RateLimitFields,
}

/// What a request of `buyer` is charged to: devices first, addresses last. A policy on devices passes over a request
/// without one, which only its address then limits.
pub fn limits<'c>(shop_id: &str, policies: &'c [Arc<PolicyConfig>], buyer: &Buyer<'_>) -> Vec<Limit<'c>> {
    let address = buyer.address.identity(Ipv6Prefix::Bits64);
    let device = buyer.device.map(|device| device.0);
    let limit = |policy: &'c Arc<PolicyConfig>| {
        let identity = match policy.key {
            PolicyKey::Device => device.as_ref()?.as_slice(),
            PolicyKey::Ip => address.as_slice(),
        };
        let hash = |action| Key { service: shop_id, action, identity }.hash().ok();
        let [shard, ..] = hash(HOME_ACTION)?.0;
        let charge = Charge::new(policy.limiter, hash(&policy.name)?, 1);
        Some(Limit { name: &policy.name, home: Home { kind: policy.key, shard }, charge })
    };
    let of = |key| policies.iter().filter(move |policy| policy.key == key).filter_map(limit);
    of(PolicyKey::Device).chain(of(PolicyKey::Ip)).collect()
}

/// The limits by home, each with its place in the list.
pub fn by_home<'l, 'c>(limits: &'l [Limit<'c>]) -> BTreeMap<Home, Vec<(usize, &'l Limit<'c>)>> {
    let mut homes = BTreeMap::<Home, Vec<_>>::new();
    for (index, limit) in limits.iter().enumerate() {
        homes.entry(limit.home).or_default().push((index, limit));
    }
    homes
}

/// What refuses a request, by what its limits decided. `None` for a limit means that its home did not answer: that limit
/// is open, because a fault of ours must not turn buyers away.
pub fn bound<'c>(limits: &[Limit<'c>], decisions: &[Option<Decision>]) -> Option<Bound<'c>> {
    let decided: Vec<(&Limit<'c>, &Decision)> = limits
        .iter()
        .zip(decisions)
        .filter_map(|(limit, decision)| Some((limit, decision.as_ref()?)))
        .collect();
    let refusals = decided.iter().filter_map(|(limit, decision)| match decision {
        Decision::Denied { retry_after, .. } => Some((limit.name, *retry_after)),
        Decision::Allowed { .. } => None,
    });
    let (policy, retry_after) = refusals.max_by_key(|(_, wait)| wait.unwrap_or(Duration::MAX))?;
    let reports: Vec<QuotaReport<'_>> = decided
        .iter()
        .map(|(limit, decision)| QuotaReport { name: limit.name, policy: &limit.charge.policy, decision })
        .collect();
    Some(Bound { policy, retry_after, fields: rate_limit_fields(&reports) })
}

/// What a poll of this ticket's device is charged to, in the memory of the isolate that answers it.
pub fn poll_limit(
    poll: &PollConfig,
    shop_id: &str,
    ticket: &Ticket,
) -> Option<(Limit<'static>, CheckRequest)> {
    let key = Key { service: shop_id, action: POLL_ACTION, identity: &ticket.device.0 }.hash().ok()?;
    let charge = Charge::new(poll.limiter, key, 1);
    let home = Home { kind: PolicyKey::Device, shard: 0 };
    Some((Limit { name: POLL_ACTION, home, charge }, CheckRequest::new(vec![charge]).ok()?))
}

/// No policy can have this name, so homes never follow from a policy's own keys.
const HOME_ACTION: &str = "/home";

/// The name of the poll budget in `RateLimit-Policy`.
const POLL_ACTION: &str = "poll";
