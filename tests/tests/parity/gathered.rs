//! Many checks at once go to Redis together; each is decided as if it came alone.

use super::promises::{charge, connected, each, one};
use super::stored::{Twins, at_once};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use queue_server::limits::{LimitStore, LimitStoreError};
use shared::limiter::check::CheckRequest;
use shared::limiter::{Cost, Policy, PolicySettings};
use shared::time::Timestamp;
use tests::redis::RedisServer;

/// How much later than the last one a crowd comes, in microseconds, and what each of it asks for: costs by key.
type Crowd = (u64, Vec<Vec<(u8, Cost)>>);

fn crowds() -> impl Strategy<Value = Vec<Crowd>> {
    let cost = prop_oneof![1 => Just(0), 8 => 1..4_u64, 1 => Just(u64::MAX)];
    let check = prop::collection::btree_map(0..KEYS, cost, 1..4_usize)
        .prop_map(|costs| costs.into_iter().collect::<Vec<_>>());
    let crowd = (0..3_000_000_u64, prop::collection::vec(check, 1..150_usize));
    prop::collection::vec(crowd, 1..6_usize)
}

/// Of each key another one.
fn policy_of(key: u8) -> Policy {
    let (burst_capacity, rate) = [(10, 5), (3, 7), (100, 1), (1, 1), (20, 0)][usize::from(key)];
    PolicySettings::Gcra { burst_capacity, rate, period_us: 1_000_003 }.try_into().unwrap()
}

#[test]
fn a_crowd_is_decided_one_after_another() {
    for program in RedisServer::programs() {
        // One thread: whoever is spawned first asks first.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let server = runtime.block_on(RedisServer::start_program(program, &[])).unwrap();
        let twins = runtime.block_on(Twins::connect(&server, Timestamp::default()));
        let twins = std::cell::RefCell::new((twins, 0_u32));
        let mut runner =
            TestRunner::new(Config { cases: 60, failure_persistence: None, ..Config::default() });
        let told = runner.run(&crowds(), |crowds| {
            let (twins, nth) = &mut *twins.borrow_mut();
            *nth += 1;
            twins.begin(format!("shop-{nth}"), Timestamp::from_micros(START_US));
            runtime.block_on(follow(twins, &crowds)).map_err(TestCaseError::fail)
        });
        assert!(told.is_ok(), "{program}: {}", told.unwrap_err());
    }
}

async fn follow(twins: &mut Twins, crowds: &[Crowd]) -> Result<(), String> {
    for (later_us, crowd) in crowds {
        twins.set_clock(Timestamp::from_micros(twins.now.as_micros() + later_us));
        let requests: Vec<CheckRequest> = crowd
            .iter()
            .map(|costs| {
                let charges = costs.iter().map(|(key, cost)| charge(policy_of(*key), *key, *cost));
                CheckRequest::new(charges.collect()).unwrap()
            })
            .collect();
        let [want, got] = twins.check_at_once(&requests).await;
        for (nth, (want, got)) in want.iter().zip(&got).enumerate() {
            if want != got {
                return Err(format!("check {nth} of {}: Redis says {got:?}, shared {want:?}", crowd.len()));
            }
        }
        for key in 0..KEYS {
            let compared = twins.compare(charge(policy_of(key), key, 0).key).await;
            compared.map_err(|why| format!("key {key}: {why}"))?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_costs_few_calls_and_gets_exactly_its_limit() {
    let server = RedisServer::start().await.unwrap();
    let store = connected(&server).await;
    let requests = vec![one(charge(each(100)[0], 1, 1), 1); 1_000];
    let replies = at_once(&store, "shop", &requests).await;
    let passed = replies.iter().filter(|reply| reply.as_ref().unwrap().value.refusal().is_none()).count();
    assert_eq!(passed, 100);
    let [reads, scripts] = calls(&server, ["get", "evalsha"]).await;
    assert_eq!(reads, 1_000, "each check read its key");
    assert!(scripts < 500, "{scripts} calls for a thousand checks");
}

/// How often Redis has run these commands.
async fn calls<const N: usize>(server: &RedisServer, commands: [&str; N]) -> [u32; N] {
    let stats: String = server.ask(&["INFO", "commandstats"]).await.unwrap();
    commands.map(|name| {
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{name}:calls=")));
        line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
    })
}

#[tokio::test]
async fn a_key_that_another_policy_counted_is_decided_by_the_second_call() {
    let server = RedisServer::start().await.unwrap();
    let store = connected(&server).await;
    let [gcra, _, _, _, window, ..] = each(10);
    store.check("shop", &one(charge(window, 1, 10), 10)).await.unwrap();
    let refused = one(charge(gcra, 1, 1), 1);
    // What is refused leaves the key as it was counted; the first time Redis learns the scripts.
    for _ in 0..2 {
        store.check("shop", &refused).await.unwrap();
    }
    let [before] = calls(&server, ["evalsha"]).await;
    assert!(store.check("shop", &refused).await.unwrap().value.refusal().is_some());
    let [after] = calls(&server, ["evalsha"]).await;
    assert_eq!(after - before, 2);
}

#[tokio::test]
async fn one_whose_key_another_policy_counted_keeps_what_it_had_and_holds_up_nobody() {
    let server = RedisServer::start().await.unwrap();
    let store = connected(&server).await;
    let [gcra, _, _, _, window, ..] = each(10);
    let taken = store.check("shop", &one(charge(window, 1, 4), 1)).await.unwrap().value;
    assert_eq!(taken.decisions[0].remaining(), 6);
    let key = store.redis_key("shop", charge(gcra, 2, 1).key);
    let _: i64 = server.ask(&["RPUSH", &key, "somebody else's"]).await.unwrap();

    let mut requests = vec![one(charge(gcra, 3, 1), 1); 10];
    requests.extend(vec![one(charge(gcra, 1, 1), 1); 20]);
    requests.push(one(charge(gcra, 2, 1), 1));
    requests.extend(vec![one(charge(gcra, 4, 1), 1); 10]);
    let replies = at_once(&store, "shop", &requests).await;
    let passed = |range: std::ops::Range<usize>| {
        replies[range]
            .iter()
            .filter(|reply| reply.as_ref().is_ok_and(|reply| reply.value.refusal().is_none()))
            .count()
    };
    assert_eq!((passed(0..10), passed(10..30), passed(31..41)), (10, 6, 10));
    assert!(matches!(&replies[30], Err(LimitStoreError::Misconfigured(_))), "{:?}", replies[30]);
}

const KEYS: u8 = 5;
/// 2025-11-30T06:40:00Z.
const START_US: u64 = 1_764_484_800_000_000;
