//! Which policies may stand in which list.

use super::{KeyPart, LimitChoice, PolicyConfig};
use crate::config::section::Value;
use crate::limiter::Policy;
use core::time::Duration;

/// Whose list of limits it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) enum ListOf {
    Site,
    Shop,
    GatedRoute,
    OpenRoute,
    Joins,
    Plan,
}

/// Notes an error for each policy that could not do here what its name promises.
pub(super) fn refuse_unfit(value: &Value<'_>, limits: &[LimitChoice], list: ListOf) {
    for policy in limits.iter().flat_map(|choice| &choice.policies) {
        if let Some(reason) = unfit(policy, list) {
            value.error(format!("{} {reason}", policy.name));
        }
    }
    for choice in limits {
        let Some((_, earlier)) = choice.policies.split_last() else { continue };
        if let Some(policy) = earlier.iter().find(|policy| is_always_known(policy, list)) {
            value.error(format!("{} always applies, so what stands behind it never does", policy.name));
        }
    }
    let by_client = limits.iter().flat_map(|choice| &choice.policies);
    let by_client = by_client.filter(|policy| policy.key.has(KeyPart::Client)).count();
    if by_client > BY_CLIENT_MAX {
        value.error(format!("at most {BY_CLIENT_MAX} limits count by client; got {by_client}"));
    }
}

fn unfit(policy: &PolicyConfig, list: ListOf) -> Option<String> {
    let has = |part| policy.key.has(part);
    if matches!(policy.limiter, Policy::Concurrency(_)) && list == ListOf::Joins {
        return Some("hands out permits, and a join is over at once: limit joins by a rate".to_owned());
    }
    if has(KeyPart::Site) && list != ListOf::Site {
        let reason = "counts over all shops, so it has another home than a shop's keys and cannot be taken with them, \
                      all or none; put it into the limits of [site]";
        return Some(reason.to_owned());
    }
    if has(KeyPart::Sku) && matches!(list, ListOf::OpenRoute | ListOf::Joins | ListOf::Plan) {
        return Some(
            "counts by SKU, and no SKU is known here; write where the route's SKU stands".to_owned(),
        );
    }
    if !has(KeyPart::Client) && list == ListOf::Plan {
        return Some("does not count by client, so the clients of this plan would share it".to_owned());
    }
    let limiters = [&policy.limiter].into_iter().chain(policy.sku_limiters.values());
    let held = limiters.filter_map(held_for).max();
    let held = held.filter(|held| *held > HELD_MAX)?;
    Some(format!("may hold a request for {} s; at most {} s are waited", held.as_secs(), HELD_MAX.as_secs()))
}

/// How long a leaky queue holds its last place.
fn held_for(policy: &Policy) -> Option<Duration> {
    match policy {
        Policy::LeakyQueue(queue) => Some(queue.meter().window()),
        _ => None,
    }
}

/// Whether no request lacks this policy's key.
fn is_always_known(policy: &PolicyConfig, list: ListOf) -> bool {
    policy.key.parts().iter().all(|part| match part {
        KeyPart::Site | KeyPart::Shop | KeyPart::Ip | KeyPart::Route => true,
        KeyPart::Sku => list == ListOf::GatedRoute,
        KeyPart::Client | KeyPart::Member | KeyPart::Device => false,
    })
}

/// A plan has as many again, and all of one client's are one check.
const BY_CLIENT_MAX: usize = 4;

/// Longer than this nobody keeps a request open.
const HELD_MAX: Duration = Duration::from_secs(10);
