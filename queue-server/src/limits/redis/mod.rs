#![doc = include_str!("README.md")]

mod ask;
mod bytes;
mod gather;
mod key;
mod reply;
mod script;
mod stored;

pub use crate::redis::AddressError;
pub use bytes::BeyondRedis;
pub use stored::decode;

use super::store::{Answer, LimitStore, Timed};
use crate::redis::{Address, Link};
use ask::{Asked, misconfigured};
use async_trait::async_trait;
use bytes::policy_bytes;
use gather::{Gathering, may_gather};
use reply::{Said, decisions};
use script::{Call, Known, Scripts};
use shared::limiter::Policy;
use shared::limiter::check::{CHARGES_MAX, Charge, CheckReply, CheckRequest};
use shared::limiter::concurrency::Holder;
use shared::limiter::key::KeyHash;
use shared::limiter::table::KeyState;
use shared::time::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Limiter states on Redis. Clones share all but the clock that they are told.
#[derive(Clone)]
pub struct RedisLimits {
    link: Link,
    clock: ScriptClock,
    scripts: Arc<Scripts>,
    gathering: Arc<Gathering>,
    /// What Redis' clock showed last, in microseconds: around it lie the periods that a long quota is sent with.
    seen_us: Arc<AtomicU64>,
}

/// Whose time the scripts go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptClock {
    /// That of Redis: the only one in production.
    Server,
    /// The caller's, for histories of any year; every expiry is put off by `ahead`, so that Redis keeps the keys meanwhile.
    Told { now: Timestamp, ahead: Duration },
}

impl RedisLimits {
    /// Begins to connect to the Redis of `url`, in the runtime that this is called in; until it is connected calls fail at
    /// once. `budget` is the time limit of a call, all its repetitions included.
    pub fn open(url: &str, budget: Duration) -> Result<Self, AddressError> {
        let link = Link::open(Address::parse(url, budget)?, budget);
        let (scripts, gathering, seen_us) = (Arc::default(), Arc::default(), Arc::default());
        Ok(Self { link, clock: ScriptClock::Server, scripts, gathering, seen_us })
    }

    /// Moves the clock of a store that is told.
    pub fn tell(&mut self, clock: ScriptClock) {
        self.clock = clock;
    }

    /// Whether Redis keeps this policy exactly.
    pub fn keeps(policy: &Policy) -> Result<(), BeyondRedis> {
        policy_bytes(policy).map(drop)
    }

    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.link.is_up()
    }

    /// The name of a key in Redis.
    pub fn redis_key(&self, shop: &str, key: KeyHash) -> String {
        key::redis_key(shop, key)
    }

    async fn decide(
        &self,
        call: Call,
        known: Known,
        shop: &str,
        request: &CheckRequest,
    ) -> Answer<CheckReply> {
        let charges = request.charges();
        if charges.is_empty() {
            return Ok(Timed { value: CheckReply { decisions: Vec::new() }, now: self.seen() });
        }
        let asked = Asked { holder: request.holder(), ..Asked::about(charges) };
        let answer = self.call(call, known, shop, asked).await?;
        let reply = match answer.value {
            Said::Decided(numbers) => decisions(&numbers),
            _ => None,
        };
        let reply = reply.filter(|reply| reply.decisions.len() == charges.len());
        let value = reply.ok_or_else(|| misconfigured("not the decisions of our scripts"))?;
        Ok(Timed { value, now: answer.now })
    }

    async fn change(&self, call: Call, shop: &str, asked: Asked<'_>) -> Answer<()> {
        let answer = self.call(call, Known::All, shop, asked).await?;
        Ok(Timed { value: (), now: answer.now })
    }

    /// What Redis' clock showed last.
    fn seen(&self) -> Timestamp {
        Timestamp::from_micros(self.seen_us.load(Ordering::Relaxed))
    }
}

#[async_trait]
impl LimitStore for RedisLimits {
    fn accepts(&self, policy: &Policy) -> Result<(), String> {
        Self::keeps(policy).map_err(|beyond| beyond.to_string())
    }

    async fn check(&self, shop: &str, request: &CheckRequest) -> Answer<CheckReply> {
        if !may_gather(request) {
            return self.decide(Call::Check, Known::by(request), shop, request).await;
        }
        let Timed { value, now } = self.check_gathered(shop, request).await?;
        match value {
            Some(value) => Ok(Timed { value, now }),
            // Another policy counted some key last.
            None => self.decide(Call::Check, Known::All, shop, request).await,
        }
    }

    async fn peek(&self, shop: &str, request: &CheckRequest) -> Answer<CheckReply> {
        self.decide(Call::Peek, Known::by(request), shop, request).await
    }

    async fn refund(&self, shop: &str, charges: &[Charge], taken_at: Timestamp) -> Answer<()> {
        let mut now = self.seen();
        for charges in charges.chunks(CHARGES_MAX) {
            let asked = Asked { taken_at: Some(taken_at), ..Asked::about(charges) };
            now = self.change(Call::Refund, shop, asked).await?.now;
        }
        Ok(Timed { value: (), now })
    }

    async fn replenish(&self, shop: &str, charge: &Charge) -> Answer<()> {
        self.change(Call::Replenish, shop, Asked::about(std::slice::from_ref(charge))).await
    }

    async fn reset(&self, shop: &str, charge: &Charge) -> Answer<()> {
        self.change(Call::Reset, shop, Asked::about(std::slice::from_ref(charge))).await
    }

    async fn give(&self, shop: &str, charge: &Charge, holder: Holder) -> Answer<()> {
        let asked = Asked { holder: Some(holder), ..Asked::about(std::slice::from_ref(charge)) };
        self.change(Call::Give, shop, asked).await
    }

    async fn state(&self, shop: &str, charge: &Charge) -> Answer<Option<KeyState>> {
        let answer =
            self.call(Call::State, Known::All, shop, Asked::about(std::slice::from_ref(charge))).await?;
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
