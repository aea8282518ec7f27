//! The isolate's memory of refusals: a client that keeps knocking costs no call.

use crate::clock;
use crate::incoming::Incoming;
use shared::gate::Limit;
use shared::limiter::Decision;

/// The refusals that still stand.
pub(super) fn known(incoming: &Incoming, limits: &[Limit<'_>]) -> Vec<Option<Decision>> {
    let deny_cache = incoming.isolate.memory.limits.deny_cache.borrow();
    limits.iter().map(|limit| deny_cache.lookup(&limit.charge, incoming.now)).collect()
}

/// Remembers what a home has just refused.
pub(super) fn remember(incoming: &Incoming, limits: &[Limit<'_>], decisions: &[Option<Decision>]) {
    let mut deny_cache = incoming.isolate.memory.limits.deny_cache.borrow_mut();
    // Waits count from when the home answered, which was after the request came.
    let now = clock::now();
    for (limit, decision) in limits.iter().zip(decisions) {
        if let Some(decision) = decision {
            deny_cache.remember(&limit.charge, decision, now);
        }
    }
}
