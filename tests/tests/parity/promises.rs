//! What only a real server can show, by its own clock.

use super::stored::{PATIENCE, wait_until_connected};
use queue_server::limits::redis::RedisLimits;
use queue_server::limits::{LimitStore, LimitStoreError};
use redis::aio::MultiplexedConnection;
use shared::limiter::calendar::Calendar;
use shared::limiter::check::{Charge, CheckRequest};
use shared::limiter::concurrency::Holder;
use shared::limiter::key::Key;
use shared::limiter::{Cost, Policy, PolicySettings};
use shared::time::{Timestamp, micros};
use std::sync::Arc;
use tests::redis::RedisServer;
use tokio::task::JoinSet;

/// One policy of each algorithm with this limit, which nothing comes back of while a test runs.
pub(crate) fn each(limit: Cost) -> [Policy; 11] {
    let (window_us, period_us) = (86_400_000_000, 86_400_000_000);
    [
        PolicySettings::Gcra { burst_capacity: limit, rate: 1, period_us },
        PolicySettings::IntervalBucket { capacity: limit, refill: 1, period_us },
        PolicySettings::LeakyQueue { rate: 1, period_us, max_waiting: limit - 1 },
        PolicySettings::FixedWindow { limit, window_us: 30 * window_us, aligned: true },
        PolicySettings::FixedWindow { limit, window_us, aligned: false },
        PolicySettings::SlidingLog { limit, window_us },
        PolicySettings::SlidingTwoCounters { limit, window_us: 30 * window_us },
        PolicySettings::SlidingSubWindows { limit, window_us, sub_windows: 4 },
        PolicySettings::Lockout { max: limit, window_us: 30 * window_us, lock_us: window_us },
        PolicySettings::LongQuota { limit, calendar: Calendar::Month, zone: "UTC".to_owned() },
        PolicySettings::Concurrency { permits: limit, life_us: window_us },
    ]
    .map(|settings| settings.try_into().unwrap())
}

pub(crate) fn charge(policy: Policy, identity: u8, cost: Cost) -> Charge {
    let key = Key { service: "shop", action: "cart", identity: &[identity] };
    Charge::new(policy, key.hash().unwrap(), cost)
}

pub(crate) fn one(charge: Charge, holder: u8) -> CheckRequest {
    CheckRequest::new(vec![charge]).unwrap().held_by(Holder([holder; 16]))
}

pub(crate) async fn connected(server: &RedisServer) -> RedisLimits {
    let store = RedisLimits::open(&server.url(), PATIENCE).unwrap();
    wait_until_connected(&store).await;
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_at_once_against_ten_exactly_ten_pass() {
    let server = RedisServer::start().await.unwrap();
    let mut stores = Vec::new();
    for _ in 0..4 {
        stores.push(Arc::new(connected(&server).await));
    }
    for (nth, policy) in (0..).zip(each(10)) {
        let mut calls = JoinSet::new();
        for caller in 0..20 {
            let store = Arc::clone(&stores[usize::from(caller % 4)]);
            calls.spawn(async move {
                let request = one(charge(policy, nth, 1), caller + 1);
                store.check("shop", &request).await.unwrap().value.refusal().is_none()
            });
        }
        let passed = calls.join_all().await.into_iter().filter(|passed| *passed).count();
        assert_eq!(passed, 10, "{policy:?}");
    }
    assert_eq!(server.keys_without_expiry().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn several_keys_are_taken_together_or_not_at_all() {
    let server = RedisServer::start().await.unwrap();
    let store = connected(&server).await;
    let policies = each(10);
    let charges = |cost: Cost| -> Vec<Charge> {
        (0..8).map(|nth| charge(policies[usize::from(nth)], nth, cost)).collect()
    };
    let ask = async |charges: Vec<Charge>| {
        store.check("shop", &CheckRequest::new(charges).unwrap()).await.unwrap().value
    };
    assert_eq!(ask(charges(3)).await.refusal(), None);
    let mut too_much = charges(2);
    too_much[5].cost = 8;
    let refused = ask(too_much).await;
    assert_eq!(refused.refusal().unwrap().bound_by, 5);
    assert!(refused.decisions.iter().all(|decision| decision.remaining() == 7), "{refused:?}");
    let looked = ask(charges(0)).await;
    assert!(looked.decisions.iter().all(|decision| decision.remaining() == 7), "{looked:?}");
}

#[tokio::test]
async fn forgotten_scripts_change_no_answer() {
    let server = RedisServer::start().await.unwrap();
    let store = connected(&server).await;
    for nth in 0..10 {
        flush(&server).await;
        let reply = store.check("shop", &one(charge(each(10)[0], 1, 1), 1)).await.unwrap().value;
        assert_eq!(reply.decisions[0].remaining(), 9 - nth);
    }
    // They are forgotten again and again while calls are on their way.
    let forgetting = tokio::spawn(async move {
        for _ in 0..300 {
            flush(&server).await;
        }
        server
    });
    let mut calls = 0;
    while !forgetting.is_finished() {
        let (policy, identity) = (each(1000)[calls % 11], u8::try_from(calls % 11).unwrap() + 2);
        let reply = store.check("shop", &one(charge(policy, identity, 1), 1)).await;
        assert!(reply.is_ok(), "{policy:?}: {reply:?}");
        calls += 1;
    }
    assert!(calls > 20, "only {calls} calls");
}

async fn flush(server: &RedisServer) {
    let _: String = server.ask(&["SCRIPT", "FLUSH"]).await.unwrap();
}

async fn query<T: redis::FromRedisValue>(raw: &mut MultiplexedConnection, verb: &str, key: &str) -> T {
    redis::cmd(verb).arg(key).query_async(raw).await.unwrap()
}

/// How much longer a key stays than it is needed, below a second: keys of one window go one after another.
fn spread_ms(now: Timestamp) -> u64 {
    now.as_micros() % 1000
}

#[tokio::test]
async fn a_key_expires_when_it_is_as_new_and_a_lost_expiry_comes_back() {
    let server = RedisServer::start().await.unwrap();
    let store = connected(&server).await;
    let mut raw = server.connection().await.unwrap();
    for (nth, policy) in (0..).zip(each(10)) {
        let charge = charge(policy, nth, 7);
        let key = store.redis_key("shop", charge.key);
        let taken = store.check("shop", &one(charge, 1)).await.unwrap();
        let as_new = taken.now.saturating_add(taken.value.decisions[0].reset_after());
        let want_ms = as_new.as_micros().div_ceil(1000) + spread_ms(taken.now);
        assert_eq!(query::<u64>(&mut raw, "PEXPIRETIME", &key).await, want_ms, "{policy:?}");
        let before: Vec<u8> = query(&mut raw, "GET", &key).await;
        // A refused call, one that can never pass, and a look: none writes, and each finds the expiry gone.
        for cost in [5, 11, 0] {
            assert_eq!(query::<u64>(&mut raw, "PERSIST", &key).await, 1);
            let again = Charge { cost, ..charge };
            let reply = store.check("shop", &one(again, 2)).await.unwrap();
            let wait_us = micros(reply.value.decisions[0].reset_after());
            let repaired_ms = query::<u64>(&mut raw, "PEXPIRETIME", &key).await;
            let as_new_ms = (reply.now.as_micros() + wait_us).div_ceil(1000);
            assert_eq!(repaired_ms, as_new_ms + spread_ms(reply.now), "{policy:?}, {cost}");
            if !matches!(policy, Policy::Lockout(_)) {
                assert_eq!(query::<Vec<u8>>(&mut raw, "GET", &key).await, before, "{policy:?}, {cost}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_known_of_a_key_is_told_and_a_reset_forgets_it() {
    let server = RedisServer::start().await.unwrap();
    let store = connected(&server).await;
    for (nth, policy) in (0..).zip(each(10)) {
        let charge = charge(policy, nth, 4);
        assert_eq!(store.state("shop", &charge).await.unwrap().value, None);
        store.check("shop", &one(charge, 1)).await.unwrap();
        let known = store.state("shop", &charge).await.unwrap().value.unwrap();
        assert_eq!((known.policy, known.decision.remaining()), (policy, 6));
        let elsewhere = store.state("another", &charge).await.unwrap().value;
        assert_eq!(elsewhere, None, "shops have their own keys");
        store.reset("shop", &charge).await.unwrap();
        assert_eq!(store.state("shop", &charge).await.unwrap().value, None);
    }
}

#[tokio::test]
async fn what_is_no_state_of_ours_is_left_alone() {
    let server = RedisServer::start().await.unwrap();
    let store = connected(&server).await;
    let charge = charge(each(10)[0], 1, 1);
    let key = store.redis_key("shop", charge.key);
    let _: String = server.ask(&["SET", &key, "\x05\x63somebody else's", "EX", "60"]).await.unwrap();
    let refused = store.check("shop", &one(charge, 1)).await.unwrap_err();
    assert!(
        matches!(&refused, LimitStoreError::Misconfigured(why) if why.contains("not the state of a limiter")),
        "{refused}"
    );
    assert!(server.ask::<String>(&["GET", &key]).await.unwrap().contains("somebody else"));
}
