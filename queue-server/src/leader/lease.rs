//! The lease on leading, as it lies in Redis.

use crate::redis::{Link, LinkError, Script};
use redis::Value;
use std::time::Duration;

/// Until another server may lead after the last renewal.
pub(crate) const LEASE: Duration = Duration::from_millis(1_200);

/// Where it lies: both keys share a hash tag.
#[derive(Clone, Debug)]
pub(crate) struct LeaseKeys {
    lease: String,
    last: String,
}

/// Asks for it.
pub(crate) struct Lease {
    link: Link,
    keys: LeaseKeys,
    lead: Script,
    resign: Script,
}

/// What a server asks with.
pub(super) struct Claim<'a> {
    pub(super) id: &'a str,
    pub(super) address: &'a str,
    pub(super) held: u64,
    pub(super) seen: u64,
    pub(super) takes: bool,
}

/// Who has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    Caller {
        term: u64,
    },
    Other {
        term: u64,
        address: String,
        rest: Duration,
    },
    /// Nobody, after the server at this address; it is empty where nobody ever led.
    Nobody {
        term: u64,
        last_address: String,
    },
}

/// Whether a lease could be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LeaseTaken {
    Taken { term: u64 },
    Held { address: String },
}

/// Why nobody knows who has it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeaseError {
    #[error("Redis did not answer")]
    Gone,
    #[error("Redis refuses: {0}")]
    Refused(redis::RedisError),
    #[error("Redis holds something else under the keys of the lease")]
    NotALease,
}

impl LeaseKeys {
    pub(crate) fn new(prefix: &str) -> Self {
        // An event's name has no `~`, so no event's keys are meant.
        let key = |name: &str| format!("{prefix}1:{{~lead}}:{name}");
        Self { lease: key("lease"), last: key("last") }
    }
}

impl Lease {
    pub(crate) fn new(link: Link, keys: LeaseKeys) -> Self {
        let script = |source: &str| Script::new(source.to_owned());
        let lead = script(include_str!("lua/lead.lua"));
        Self { link, keys, lead, resign: script(include_str!("lua/resign.lua")) }
    }

    /// Takes or renews it, or tells who has it.
    pub(super) async fn lead(&self, claim: &Claim<'_>) -> Result<Holder, LeaseError> {
        let LeaseKeys { lease, last } = self.keys.clone();
        let arguments = [
            claim.id.to_owned(),
            claim.address.to_owned(),
            claim.held.to_string(),
            claim.seen.to_string(),
            LEASE.as_millis().to_string(),
            REMEMBERED.as_millis().to_string(),
            u8::from(claim.takes).to_string(),
        ];
        let value = self.run(&self.lead, &[lease, last], &arguments).await?;
        let read = redis::from_redis_value::<(u8, u64, String, i64)>(value);
        let (who, term, address, ms) = read.map_err(|_| LeaseError::NotALease)?;
        Ok(match who {
            1 => Holder::Caller { term },
            0 => {
                let rest = Duration::from_millis(u64::try_from(ms).unwrap_or_default());
                Holder::Other { term, address, rest }
            }
            _ => Holder::Nobody { term, last_address: address },
        })
    }

    /// Takes it for a short work of its own, if nobody has it.
    pub(crate) async fn take(&self, id: &str, address: &str) -> Result<LeaseTaken, LeaseError> {
        let claim = Claim { id, address, held: 0, seen: 0, takes: true };
        Ok(match self.lead(&claim).await? {
            Holder::Caller { term } => LeaseTaken::Taken { term },
            Holder::Other { address, .. } | Holder::Nobody { last_address: address, .. } => {
                LeaseTaken::Held { address }
            }
        })
    }

    /// Gives it up, so that another server need not wait until it has run out.
    pub(crate) async fn resign(&self, id: &str) {
        // Where this fails it runs out.
        let _ = self.run(&self.resign, std::slice::from_ref(&self.keys.lease), &[id.to_owned()]).await;
    }

    async fn run(&self, script: &Script, keys: &[String], arguments: &[String]) -> Result<Value, LeaseError> {
        let ran = tokio::time::timeout(ANSWER_MAX, script.run(&self.link, keys, arguments)).await;
        match ran {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(LinkError::Gone)) => Err(LeaseError::Gone),
            Ok(Err(LinkError::Refused(error))) => Err(LeaseError::Refused(error)),
            Err(_) => {
                self.link.silent();
                Err(LeaseError::Gone)
            }
        }
    }
}

const ANSWER_MAX: Duration = Duration::from_millis(150);
/// Who led last is remembered for longer than any event's records, so that no term comes twice beside them.
const REMEMBERED: Duration = Duration::from_hours(24 * 60);
