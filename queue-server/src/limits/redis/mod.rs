//! Limits on Redis or Valkey: every decision is one call of one script, equal to [`shared::limiter`] without tolerance.
//!
//! The scripts in `lua/` are a transcription; `tests/tests/parity` proves it. Redis' own clock counts, and everything that
//! is stored goes by itself when it is as new. A policy whose numbers a Lua number does not hold exactly is refused.

mod address;
mod bytes;
mod key;
mod link;
mod reply;
mod script;
mod stored;

pub use address::AddressError;
pub use bytes::BeyondRedis;
pub use stored::decode;

use super::store::{Answer, LimitStore, LimitStoreError, Timed};
use address::Address;
use async_trait::async_trait;
use bytes::{cost_of, double, policy_bytes};
use link::{Link, LinkError};
use redis::{Cmd, ErrorKind, RedisError, ServerErrorKind, Value};
use reply::{Reply, Said, decisions};
use script::{Call, Known, Prelude, Script, Scripts};
use shared::limiter::check::{CHARGES_MAX, Charge, CheckReply, CheckRequest};
use shared::limiter::concurrency::Holder;
use shared::limiter::key::KeyHash;
use shared::limiter::table::KeyState;
use shared::limiter::{Inheritance, Policy};
use shared::time::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Limiter states on Redis.
pub struct RedisLimits {
    link: Link,
    prefix: String,
    clock: ScriptClock,
    scripts: Scripts,
    /// What Redis' clock showed last, in microseconds: around it lie the periods that a long quota is sent with.
    seen_us: AtomicU64,
}

/// Whose time the scripts go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptClock {
    /// That of Redis: the only one in production.
    Server,
    /// The caller's, for histories of any year; every expiry is put off by `ahead`, so that Redis keeps the keys meanwhile.
    Told { now: Timestamp, ahead: Duration },
}

/// The time limit of a call, all its repetitions included.
pub const BUDGET: Duration = Duration::from_millis(50);

/// What stands before every key.
pub const PREFIX: &str = "fairgate";

impl RedisLimits {
    /// Begins to connect to the Redis of `url`; until then calls fail at once. For the forms of a URL see the README.
    pub fn open(url: &str, budget: Duration) -> Result<Self, AddressError> {
        let link = Link::open(Address::parse(url, budget)?, budget);
        let scripts = Scripts::default();
        let seen_us = AtomicU64::new(0);
        Ok(Self { link, prefix: PREFIX.to_owned(), clock: ScriptClock::Server, scripts, seen_us })
    }

    /// The same store by another clock.
    #[must_use]
    pub fn with_clock(self, clock: ScriptClock) -> Self {
        Self { clock, ..self }
    }

    /// Moves the clock of a store that is told.
    pub fn tell(&mut self, clock: ScriptClock) {
        self.clock = clock;
    }

    /// Whether Redis can keep this policy exactly; asked where a configuration is read.
    pub fn accepts(policy: &Policy) -> Result<(), BeyondRedis> {
        policy_bytes(policy).map(|_| ())
    }

    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.link.is_up()
    }

    /// The name of a key in Redis.
    pub fn redis_key(&self, shop: &str, key: KeyHash) -> String {
        key::redis_key(&self.prefix, shop, key)
    }

    /// Runs a script until it decides: with all algorithms where a policy has changed, and with the periods that a long
    /// quota asks for.
    async fn call(&self, call: Call, shop: &str, asked: Asked<'_>) -> Answer<Said> {
        let call = self.call_unlimited(call, shop, asked);
        let answered = tokio::time::timeout(self.link.budget(), call).await;
        answered.unwrap_or_else(|_| {
            self.link.silent();
            Err(LimitStoreError::Unavailable)
        })
    }

    async fn call_unlimited(&self, call: Call, shop: &str, asked: Asked<'_>) -> Answer<Said> {
        let mut known = match call {
            Call::Check | Call::Peek => Known::of(asked.charges.iter().map(|charge| &charge.policy)),
            Call::Refund | Call::Replenish | Call::Give | Call::Reset | Call::State => Known::All,
        };
        let seen = Timestamp::from_micros(self.seen_us.load(Ordering::Relaxed));
        let mut moments = [seen; CHARGES_MAX];
        let keys: Vec<String> = asked.charges.iter().map(|charge| self.redis_key(shop, charge.key)).collect();
        for _ in 0..TRIES_MAX {
            let script = self.scripts.get(call, self.prelude(), known);
            let arguments = self.arguments(call, &asked, &moments)?;
            let value = self.run(&script, &keys, &arguments).await?;
            let reply = Reply::read(value).ok_or_else(|| misconfigured("not a reply of our scripts"))?;
            self.seen_us.store(reply.now.as_micros(), Ordering::Relaxed);
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

    /// By its name; with its text where Redis has forgotten it, and that cannot fail for the same reason.
    async fn run(
        &self,
        script: &Script,
        keys: &[String],
        arguments: &[Vec<u8>],
    ) -> Result<Value, LimitStoreError> {
        let command = |verb: &str, what: &str| {
            let mut command = redis::cmd(verb);
            command.arg(what).arg(keys.len()).arg(keys).arg(arguments);
            command
        };
        match self.send(&command("EVALSHA", &script.sha1)).await {
            Err(LinkError::Refused(error)) if error.kind() == NO_SCRIPT => {
                self.send(&command("EVAL", &script.source)).await.map_err(unanswered)
            }
            sent => sent.map_err(unanswered),
        }
    }

    async fn send(&self, command: &Cmd) -> Result<Value, LinkError> {
        self.link.send(command).await
    }

    fn prelude(&self) -> Prelude {
        match self.clock {
            ScriptClock::Server => Prelude::Server,
            ScriptClock::Told { .. } => Prelude::Told,
        }
    }

    /// As `lua/keys.lua` says.
    fn arguments(
        &self,
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
                        [period.start, period.end, next.end]
                            .into_iter()
                            .flat_map(|at| double(at.as_micros())),
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
        if let ScriptClock::Told { now, ahead } = self.clock {
            arguments.push(decimal(now.as_micros()));
            arguments.push(ahead.as_millis().to_string().into_bytes());
        }
        Ok(arguments)
    }

    async fn decide(&self, call: Call, shop: &str, request: &CheckRequest) -> Answer<CheckReply> {
        let charges = request.charges();
        if charges.is_empty() {
            let now = Timestamp::from_micros(self.seen_us.load(Ordering::Relaxed));
            return Ok(Timed { value: CheckReply { decisions: Vec::new() }, now });
        }
        let asked = Asked { charges, holder: request.holder(), taken_at: None };
        let answer = self.call(call, shop, asked).await?;
        let reply = match answer.value {
            Said::Decided(numbers) => decisions(&numbers),
            _ => None,
        };
        let reply = reply.filter(|reply| reply.decisions.len() == charges.len());
        let value = reply.ok_or_else(|| misconfigured("not the decisions of our scripts"))?;
        Ok(Timed { value, now: answer.now })
    }

    async fn change(&self, call: Call, shop: &str, asked: Asked<'_>) -> Answer<()> {
        if asked.charges.is_empty() {
            let now = Timestamp::from_micros(self.seen_us.load(Ordering::Relaxed));
            return Ok(Timed { value: (), now });
        }
        let answer = self.call(call, shop, asked).await?;
        Ok(Timed { value: (), now: answer.now })
    }
}

/// What a call is about.
#[derive(Clone, Copy)]
struct Asked<'a> {
    charges: &'a [Charge],
    holder: Option<Holder>,
    taken_at: Option<Timestamp>,
}

#[async_trait]
impl LimitStore for RedisLimits {
    async fn check(&self, shop: &str, request: &CheckRequest) -> Answer<CheckReply> {
        self.decide(Call::Check, shop, request).await
    }

    async fn peek(&self, shop: &str, request: &CheckRequest) -> Answer<CheckReply> {
        self.decide(Call::Peek, shop, request).await
    }

    async fn refund(&self, shop: &str, charges: &[Charge], taken_at: Timestamp) -> Answer<()> {
        let mut answer =
            self.change(Call::Refund, shop, Asked { charges: &[], holder: None, taken_at: None }).await;
        for charges in charges.chunks(CHARGES_MAX) {
            answer = self
                .change(Call::Refund, shop, Asked { charges, holder: None, taken_at: Some(taken_at) })
                .await;
            if answer.is_err() {
                break;
            }
        }
        answer
    }

    async fn replenish(&self, shop: &str, charge: &Charge) -> Answer<()> {
        let charges = std::slice::from_ref(charge);
        self.change(Call::Replenish, shop, Asked { charges, holder: None, taken_at: None }).await
    }

    async fn reset(&self, shop: &str, charge: &Charge) -> Answer<()> {
        let charges = std::slice::from_ref(charge);
        self.change(Call::Reset, shop, Asked { charges, holder: None, taken_at: None }).await
    }

    async fn give(&self, shop: &str, charge: &Charge, holder: Holder) -> Answer<()> {
        let charges = std::slice::from_ref(charge);
        self.change(Call::Give, shop, Asked { charges, holder: Some(holder), taken_at: None }).await
    }

    async fn state(&self, shop: &str, charge: &Charge) -> Answer<Option<KeyState>> {
        let charges = std::slice::from_ref(charge);
        let answer = self.call(Call::State, shop, Asked { charges, holder: None, taken_at: None }).await?;
        let Said::Value(bytes) = answer.value else { return Err(misconfigured("not a stored state")) };
        if bytes.is_empty() {
            return Ok(Timed { value: None, now: answer.now });
        }
        let (policy, state) = decode(&bytes).ok_or_else(|| misconfigured("not a stored state"))?;
        let looked = policy.check(state, answer.now, 0);
        let value = Some(KeyState { policy, decision: looked.decision, expiry: looked.expiry });
        Ok(Timed { value, now: answer.now })
    }
}

fn decimal(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

fn misconfigured(why: &str) -> LimitStoreError {
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

const NO_SCRIPT: ErrorKind = ErrorKind::Server(ServerErrorKind::NoScript);

/// One for each charge that may need its calendar, twice at most when a period ends meanwhile; one for changed policies.
const TRIES_MAX: usize = 2 * CHARGES_MAX + 2;
