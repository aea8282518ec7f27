//! Generated histories: every decision, every stored state and every expiry equal to those of `shared`.

use super::histories::{Deed, History, KEYS, Step, history};
use super::stored::Twins;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use shared::limiter::check::{Charge, CheckRequest};
use shared::limiter::concurrency::Holder;
use shared::limiter::key::Key;
use shared::limiter::{Cost, Inheritance, Policy};
use shared::time::{Timestamp, micros};
use tests::redis::RedisServer;
use tokio::runtime::Runtime;

#[test]
fn every_history_is_the_same_on_redis_as_in_shared() {
    for program in RedisServer::programs() {
        let runtime = Runtime::new().unwrap();
        let server = runtime.block_on(RedisServer::start_program(program, &[])).unwrap();
        let twins = runtime.block_on(Twins::connect(&server, Timestamp::default()));
        let twins = std::cell::RefCell::new((twins, 0_u32));
        let mut runner =
            TestRunner::new(Config { cases: HISTORIES, failure_persistence: None, ..Config::default() });
        let told = runner.run(&history(), |history| {
            let (twins, nth) = &mut *twins.borrow_mut();
            *nth += 1;
            twins.begin(format!("shop-{nth}"), history.start);
            runtime.block_on(follow(twins, &history)).map_err(TestCaseError::fail)
        });
        assert!(told.is_ok(), "{program}: {}", told.unwrap_err());
        let lasting = runtime.block_on(server.keys_without_expiry()).unwrap();
        assert!(lasting.is_empty(), "{program}: {lasting:?} would stay for ever");
    }
}

/// Tells a history to both twins and compares them after each step.
async fn follow(twins: &mut Twins, history: &History) -> Result<(), String> {
    let mut counted_by = [0, 1, 2].map(|key| (key % history.policies.len(), Inheritance::Keep));
    for (nth, step) in history.steps.iter().enumerate() {
        let longest_us =
            counted_by.iter().map(|(policy, _)| micros(history.policies[*policy].window())).max();
        twins.set_clock(moved(twins.now, step, longest_us.unwrap_or(0)));
        if let Deed::Change { key, policy, inheritance } = &step.deed {
            counted_by[*key] = (policy % history.policies.len(), *inheritance);
        }
        let charge = |key: usize, cost: Cost| {
            let (policy, inheritance) = counted_by[key];
            let hash =
                Key { service: "shop", action: "cart", identity: &[u8::try_from(key).unwrap()] }.hash();
            Charge { inheritance, ..Charge::new(history.policies[policy], hash.unwrap(), cost) }
        };
        let request = |costs: &[(usize, u64, u64)], holder: u8| {
            let cost = |key: usize, ppm: u64, units: u64| {
                let quota = u128::from(charge(key, 0).policy.quota());
                u64::try_from(quota * u128::from(ppm) / 1_000_000 + u128::from(units)).unwrap_or(u64::MAX)
            };
            let charges =
                costs.iter().map(|(key, ppm, units)| charge(*key, cost(*key, *ppm, *units))).collect();
            let request = CheckRequest::new(charges).unwrap();
            if holder == 0 { request } else { request.held_by(Holder([holder; 16])) }
        };
        match &step.deed {
            Deed::Check { costs, holder } => same(nth, &twins.check(&request(costs, *holder)).await)?,
            Deed::Peek { costs, holder } => same(nth, &twins.peek(&request(costs, *holder)).await)?,
            Deed::Refund { key, cost, ago_ppm } => {
                let charge = charge(*key, *cost);
                let ago_us = share(micros(charge.policy.window()), *ago_ppm);
                let taken_at = Timestamp::from_micros(twins.now.as_micros().saturating_sub(ago_us));
                twins.refund(&charge, taken_at).await;
            }
            Deed::Replenish { key, cost } => twins.replenish(&charge(*key, *cost)).await,
            Deed::Give { key, holder } => twins.give(&charge(*key, 0), Holder([*holder; 16])).await,
            Deed::Reset { key } => twins.reset(&charge(*key, 0)).await,
            Deed::Expire { key } => twins.expire(charge(*key, 0).key).await,
            Deed::Change { .. } => {}
        }
        for key in 0..KEYS {
            let charge = charge(key, 0);
            let compared = twins.compare(charge.key).await;
            compared.map_err(|why| format!("step {nth}, key {key}, {:?}: {why}", charge.policy))?;
        }
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(nth: usize, [want, got]: &[T; 2]) -> Result<(), String> {
    if want == got { Ok(()) } else { Err(format!("step {nth}: Redis says {got:?}, shared {want:?}")) }
}

fn moved(now: Timestamp, step: &Step, window_us: u64) -> Timestamp {
    let by_us = i64::try_from(share(window_us, step.moved_ppm.unsigned_abs())).unwrap_or(i64::MAX);
    let by_us = by_us.saturating_mul(step.moved_ppm.signum()).saturating_add(step.moved_us);
    Timestamp::from_micros(now.as_micros().saturating_add_signed(by_us).min(END_OF_TIME_US))
}

fn share(window_us: u64, ppm: u64) -> u64 {
    u64::try_from(u128::from(window_us) * u128::from(ppm) / 1_000_000).unwrap_or(u64::MAX)
}

#[test]
fn what_redis_cannot_keep_exactly_is_refused_at_configuration() {
    use queue_server::limits::redis::RedisLimits;
    use shared::limiter::PolicySettings as Settings;
    let accepts = |settings: Settings| RedisLimits::keeps(&Policy::try_from(settings).unwrap()).is_ok();
    let edge = (1_u64 << 52) - 1;
    let gcra = |burst_capacity, rate, period_us| Settings::Gcra { burst_capacity, rate, period_us };
    for (most, one_past_it) in [
        (gcra(edge, 1, 1), gcra(edge + 1, 1, 1)),
        (gcra(1, edge, edge - 1), gcra(1, edge + 2, edge + 1)),
        (gcra(1, 1, (1 << 53) - 2), gcra(1, 1, (1 << 53) - 1)),
        (
            Settings::IntervalBucket { capacity: 1, refill: edge, period_us: 1 },
            Settings::IntervalBucket { capacity: 1, refill: edge + 1, period_us: 1 },
        ),
        (
            Settings::FixedWindow { limit: edge, window_us: (1 << 53) - 1, aligned: true },
            Settings::FixedWindow { limit: edge + 1, window_us: 1, aligned: true },
        ),
        (
            Settings::SlidingTwoCounters { limit: edge, window_us: edge },
            Settings::SlidingTwoCounters { limit: 1, window_us: edge + 1 },
        ),
        (
            Settings::Lockout { max: edge, window_us: 1, lock_us: (1 << 53) - 1 },
            Settings::Lockout { max: edge + 1, window_us: 1, lock_us: 1 },
        ),
    ] {
        assert!(accepts(most.clone()), "{most:?}");
        assert!(!accepts(one_past_it.clone()), "{one_past_it:?}");
    }
    let gcra = Policy::try_from(gcra(1 << 60, 1, 1)).unwrap();
    let told = RedisLimits::keeps(&gcra).unwrap_err().to_string();
    assert!(told.starts_with("the quota is beyond what Redis counts exactly (4503599627370495)"), "{told}");
}

const HISTORIES: u32 = 400;
/// A second before the last moment that can be told, in the year 2255: there what expires later does not expire.
const END_OF_TIME_US: u64 = Timestamp::MAX.as_micros() - 1_000_000;
