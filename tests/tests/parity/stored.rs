//! What lies in Redis beside what `shared` says should.

use super::ledger::Ledger;
use queue_server::limits::redis::{RedisLimits, ScriptClock, decode};
use queue_server::limits::{Answer, LimitStore};
use redis::aio::MultiplexedConnection;
use shared::limiter::check::{Charge, CheckReply, CheckRequest};
use shared::limiter::concurrency::Holder;
use shared::limiter::key::KeyHash;
use shared::time::Timestamp;
use std::time::Duration;
use tests::redis::RedisServer;

/// A ledger and a store on Redis that are told the same.
pub(crate) struct Twins {
    pub(crate) ledger: Ledger,
    pub(crate) store: RedisLimits,
    pub(crate) shop: String,
    pub(crate) now: Timestamp,
    raw: MultiplexedConnection,
}

impl Twins {
    /// With a time limit that no machine needs, because a late answer is no wrong one.
    pub(crate) async fn connect(server: &RedisServer, now: Timestamp) -> Self {
        let store = RedisLimits::open(&server.url(), PATIENCE).unwrap();
        wait_until_connected(&store).await;
        let raw = server.connection().await.unwrap();
        let mut twins = Self { ledger: Ledger::default(), store, shop: "shop".to_owned(), now, raw };
        twins.set_clock(now);
        twins
    }

    /// Another history, of keys that nobody has seen.
    pub(crate) fn begin(&mut self, shop: String, now: Timestamp) {
        (self.ledger, self.shop) = (Ledger::default(), shop);
        self.set_clock(now);
    }

    pub(crate) fn set_clock(&mut self, now: Timestamp) {
        self.now = now;
        self.store.tell(ScriptClock::Told { now, ahead: AHEAD });
    }

    pub(crate) async fn check(&mut self, request: &CheckRequest) -> [CheckReply; 2] {
        let want = self.ledger.check(request, self.now);
        [want, self.timed(self.store.check(&self.shop, request).await)]
    }

    /// All of these at once; the twin that is a ledger takes them one after another.
    pub(crate) async fn check_at_once(&mut self, requests: &[CheckRequest]) -> [Vec<CheckReply>; 2] {
        let want = requests.iter().map(|request| self.ledger.check(request, self.now)).collect();
        let answers = at_once(&self.store, &self.shop, requests).await;
        [want, answers.into_iter().map(|answer| self.timed(answer)).collect()]
    }

    pub(crate) async fn peek(&mut self, request: &CheckRequest) -> [CheckReply; 2] {
        let want = self.ledger.peek(request, self.now);
        [want, self.timed(self.store.peek(&self.shop, request).await)]
    }

    pub(crate) async fn refund(&mut self, charge: &Charge, taken_at: Timestamp) {
        self.ledger.refund(charge, taken_at, self.now);
        self.timed(self.store.refund(&self.shop, &[*charge], taken_at).await);
    }

    pub(crate) async fn replenish(&mut self, charge: &Charge) {
        self.ledger.replenish(charge, self.now);
        self.timed(self.store.replenish(&self.shop, charge).await);
    }

    pub(crate) async fn give(&mut self, charge: &Charge, holder: Holder) {
        self.ledger.give(charge, holder, self.now);
        self.timed(self.store.give(&self.shop, charge, holder).await);
    }

    pub(crate) async fn reset(&mut self, charge: &Charge) {
        self.ledger.entries.remove(&charge.key);
        self.timed(self.store.reset(&self.shop, charge).await);
    }

    /// Redis' own expiry by the told clock.
    pub(crate) async fn expire(&mut self, key: KeyHash) {
        let name = self.store.redis_key(&self.shop, key);
        let expiry_ms: i64 = redis::cmd("PEXPIRETIME").arg(&name).query_async(&mut self.raw).await.unwrap();
        if expiry_ms >= 0 && expiry_ms - ahead_ms() <= i64::try_from(self.now.as_millis()).unwrap() {
            let _: i64 = redis::cmd("DEL").arg(&name).query_async(&mut self.raw).await.unwrap();
        }
    }

    /// Compares what is stored of a key, and until when; what Redis has forgotten the ledger forgets, if it may.
    pub(crate) async fn compare(&mut self, key: KeyHash) -> Result<(), String> {
        let name = self.store.redis_key(&self.shop, key);
        let mut both = redis::pipe();
        both.cmd("GET").arg(&name).cmd("PEXPIRETIME").arg(&name);
        let (value, expiry_ms): (Option<Vec<u8>>, i64) = both.query_async(&mut self.raw).await.unwrap();
        let entry = self.ledger.entries.get(&key).cloned();
        let (value, (policy, state)) = match (value, entry) {
            (None, None) => return Ok(()),
            (None, Some((policy, state))) => {
                self.ledger.entries.remove(&key);
                let is_as_new = policy.is_as_new(&state, self.now);
                return if is_as_new { Ok(()) } else { Err(format!("forgotten: {state:?}")) };
            }
            (Some(value), None) => return Err(format!("nobody took {:?}", decode(&value))),
            (Some(value), Some(entry)) => (value, entry),
        };
        let stored = decode(&value).ok_or("not a state")?;
        if stored != (policy, state.clone()) {
            return Err(format!("stored {stored:?}, not {:?}", (policy, state)));
        }
        let expiry = policy.check(state.clone(), self.now, 0).expiry;
        let stored_ms = expiry_ms - ahead_ms();
        let want_ms = i64::try_from(expiry.as_micros().div_ceil(1000)).unwrap();
        let is_over = policy.is_as_new(&state, self.now)
            && u64::try_from(stored_ms).is_ok_and(|ms| ms <= self.now.as_millis() + 1);
        if stored_ms == want_ms || is_over {
            Ok(())
        } else {
            Err(format!("expires at {stored_ms}, not {want_ms} ms: {state:?}"))
        }
    }

    fn timed<T>(&self, answer: Answer<T>) -> T {
        let answer = answer.unwrap();
        assert_eq!(answer.now, self.now, "the clock is the script's");
        answer.value
    }
}

/// Asks all of it at once. On one thread whoever comes first asks first.
pub(crate) async fn at_once(
    store: &RedisLimits,
    shop: &str,
    requests: &[CheckRequest],
) -> Vec<Answer<CheckReply>> {
    let calls = requests.iter().map(|request| {
        let (store, shop, request) = (store.clone(), shop.to_owned(), request.clone());
        tokio::spawn(async move { store.check(&shop, &request).await })
    });
    let mut answers = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        answers.push(call.await.unwrap());
    }
    answers
}

pub(crate) async fn wait_until_connected(store: &RedisLimits) {
    for _ in 0..2_000 {
        if store.is_connected() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("Redis does not answer");
}

fn ahead_ms() -> i64 {
    i64::try_from(AHEAD.as_millis()).unwrap()
}

/// A hundred years: every history lies behind.
const AHEAD: Duration = Duration::from_secs(100 * 365 * 86_400);
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
