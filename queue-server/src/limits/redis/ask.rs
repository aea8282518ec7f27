//! One call to Redis, repeated until its script decides.

use super::bytes::{cost_of, double, policy_bytes};
use super::reply::{Reply, Said};
use super::script::{Call, Known, Prelude};
use super::{RedisLimits, ScriptClock};
use crate::limits::store::{Answer, LimitStoreError, Timed};
use crate::redis::LinkError;
use redis::{ErrorKind, RedisError, ServerErrorKind};
use shared::limiter::check::{CHARGES_MAX, Charge};
use shared::limiter::concurrency::Holder;
use shared::limiter::{Inheritance, Policy};
use shared::time::Timestamp;
use std::sync::atomic::Ordering;

/// What a call is about.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) charges: &'a [Charge],
    pub(super) holder: Option<Holder>,
    pub(super) taken_at: Option<Timestamp>,
}

impl<'a> Asked<'a> {
    pub(super) fn about(charges: &'a [Charge]) -> Self {
        Self { charges, holder: None, taken_at: None }
    }
}

impl RedisLimits {
    /// Runs a script until it decides: first with the algorithms of `known`, with all where a policy has changed, and with
    /// the periods that a long quota asks for.
    pub(super) async fn call(&self, call: Call, known: Known, shop: &str, asked: Asked<'_>) -> Answer<Said> {
        self.in_time(self.call_unlimited(call, known, shop, asked)).await
    }

    /// What comes of a call within its budget.
    pub(super) async fn in_time<T>(&self, call: impl Future<Output = Answer<T>>) -> Answer<T> {
        let answered = tokio::time::timeout(self.link.budget(), call).await;
        answered.unwrap_or_else(|_| {
            self.link.silent();
            Err(LimitStoreError::Unavailable)
        })
    }

    async fn call_unlimited(
        &self,
        call: Call,
        mut known: Known,
        shop: &str,
        asked: Asked<'_>,
    ) -> Answer<Said> {
        let mut moments = [self.seen(); CHARGES_MAX];
        let keys: Vec<String> = asked.charges.iter().map(|charge| self.redis_key(shop, charge.key)).collect();
        for _ in 0..TRIES_MAX {
            let call_made = match asked.charges {
                [_] if call == Call::Check && known != Known::All => Call::CheckOne,
                _ => call,
            };
            let reply = self.run(call_made, known, &keys, arguments(call, &asked, &moments)?).await?;
            match reply.said {
                Said::Changed => known = Known::All,
                Said::Calendar { charge, moment } => {
                    *moments.get_mut(charge).ok_or_else(|| misconfigured("no such charge"))? = moment;
                }
                said => return Ok(Timed { value: said, now: reply.now }),
            }
        }
        Err(LimitStoreError::Unavailable)
    }

    /// Runs a script once.
    pub(super) async fn run(
        &self,
        call: Call,
        known: Known,
        keys: &[String],
        mut arguments: Vec<Vec<u8>>,
    ) -> Result<Reply, LimitStoreError> {
        let prelude = match self.clock {
            ScriptClock::Server => Prelude::Server,
            ScriptClock::Told { now, ahead } => {
                arguments.push(decimal(now.as_micros()));
                arguments.push(ahead.as_millis().to_string().into_bytes());
                Prelude::Told
            }
        };
        let script = self.scripts.get(call, prelude, known);
        let value = script.run(&self.link, keys, &arguments).await.map_err(unanswered)?;
        let reply = Reply::read(value).ok_or_else(|| misconfigured("not a reply of our scripts"))?;
        self.seen_us.store(reply.now.as_micros(), Ordering::Relaxed);
        Ok(reply)
    }
}

/// As `lua/call/check.lua` says.
fn arguments(
    call: Call,
    asked: &Asked<'_>,
    moments: &[Timestamp; CHARGES_MAX],
) -> Result<Vec<Vec<u8>>, LimitStoreError> {
    let mut arguments = Vec::with_capacity(2 * asked.charges.len() + 4);
    if !matches!(call, Call::Reset | Call::State) {
        let inherits = asked.charges.iter().map(|charge| match charge.inheritance {
            Inheritance::Keep => 0,
            Inheritance::Proportional => 1,
            Inheritance::Reset => 2,
        });
        arguments.push(inherits.chain(asked.holder.iter().flat_map(|holder| holder.0)).collect());
        for (charge, moment) in asked.charges.iter().zip(moments) {
            let mut policy =
                policy_bytes(&charge.policy).map_err(|error| misconfigured(&error.to_string()))?;
            if let Policy::LongQuota(quota) = charge.policy {
                let period = quota.calendar().period(quota.zone(), *moment);
                let next = quota.calendar().period(quota.zone(), period.end);
                policy.extend(
                    [period.start, period.end, next.end].into_iter().flat_map(|at| double(at.as_micros())),
                );
            }
            arguments.push(policy);
            arguments.push(decimal(match call {
                Call::Check | Call::Peek => cost_of(&charge.policy, charge.cost),
                _ => charge.cost.min(Timestamp::MAX.as_micros()),
            }));
        }
    }
    if let Some(taken_at) = asked.taken_at {
        arguments.push(decimal(taken_at.as_micros()));
    }
    Ok(arguments)
}

pub(super) fn decimal(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

pub(super) fn misconfigured(why: &str) -> LimitStoreError {
    LimitStoreError::Misconfigured(why.to_owned())
}

/// A server that is full, starting or without its cluster will be well again; one that knows no such command will not.
fn unanswered(error: LinkError) -> LimitStoreError {
    let LinkError::Refused(error) = error else { return LimitStoreError::Unavailable };
    if is_passing(&error) { LimitStoreError::Unavailable } else { misconfigured(&error.to_string()) }
}

fn is_passing(error: &RedisError) -> bool {
    use ServerErrorKind::{Ask, BusyLoading, ClusterDown, MasterDown, Moved, ReadOnly, TryAgain};
    match error.kind() {
        ErrorKind::Server(kind) => {
            matches!(kind, Ask | BusyLoading | ClusterDown | MasterDown | Moved | ReadOnly | TryAgain)
        }
        ErrorKind::ClusterConnectionNotFound | ErrorKind::Io => true,
        _ => matches!(error.code(), Some("OOM" | "BUSY" | "NOREPLICAS" | "MISCONF")),
    }
}

/// One for each charge that may need its calendar, twice at most when a period ends meanwhile; one for changed policies.
const TRIES_MAX: usize = 2 * CHARGES_MAX + 2;
