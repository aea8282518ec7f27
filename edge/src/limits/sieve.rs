//! Cloudflare's own rate limit as a first sieve, where the binding exists: it counts in each data centre and loosely, so
//! nothing relies on it. It keeps the crudest floods from the objects.

use crate::incoming::Incoming;
use crate::refusal::Refusal;
use shared::config::KeyPart;
use shared::gate::{Home, Limit};
use shared::http::client::Network;
use shared::http::reason::Reason;
use worker::console_warn;

/// Refuses an address that is far too fast, if this stage limits addresses.
pub(super) async fn check(incoming: &Incoming, limits: &[Limit<'_>]) -> Result<(), Refusal> {
    let is_by_address =
        |limit: &Limit<'_>| limit.is_enforced() && matches!(limit.home, Home::Caller(KeyPart::Ip, _));
    if !limits.iter().any(is_by_address) {
        return Ok(());
    }
    let Ok(sieve) = incoming.env.rate_limiter(BINDING) else { return Ok(()) };
    let prefix = incoming.isolate.config.site.ipv6_prefix;
    let Network([kind, network @ ..]) = incoming.address.network(prefix);
    match sieve.limit(format!("{kind}-{:x}", u64::from_be_bytes(network))).await {
        Ok(outcome) if !outcome.success => Err(Reason::RateLimited.into()),
        Ok(_) => Ok(()),
        Err(error) => {
            console_warn!("the sieve did not answer: {error}");
            Ok(())
        }
    }
}

const BINDING: &str = "SIEVE";
