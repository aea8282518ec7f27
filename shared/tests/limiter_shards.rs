//! One table for many threads: what it promises holds between them, and a shard is a table like any other.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;
use shared::limiter::check::{Charge, CheckRequest};
use shared::limiter::concurrency::{ConcurrencyPolicy, Holder};
use shared::limiter::gcra::GcraPolicy;
use shared::limiter::key::{LocalKeys, TableSeed};
use shared::limiter::table::{LimiterTable, ShardedTable};
use shared::limiter::{Cost, Policy};
use shared::time::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const SEED: TableSeed = TableSeed([7; 16]);

fn hourly(burst: Cost) -> Policy {
    Policy::Gcra(GcraPolicy::new(burst, burst, Duration::from_hours(1)).unwrap())
}

fn charge(policy: Policy, identity: u64, cost: Cost) -> Charge {
    let keys = LocalKeys::new(SEED, "shop", "cart").unwrap();
    Charge::new(policy, keys.hash(&identity.to_be_bytes()).unwrap(), cost)
}

fn at_ms(millis: u64) -> Timestamp {
    Timestamp::from_millis(1_764_480_000_000 + millis)
}

fn request(charges: &[Charge]) -> CheckRequest {
    CheckRequest::new(charges.to_vec()).unwrap()
}

#[test]
fn of_twenty_threads_exactly_ten_pass_a_limit_of_ten() {
    for identity in 0..50 {
        let (table, passed) = (ShardedTable::new(1_000, SEED), AtomicU64::new(0));
        let one = charge(hourly(10), identity, 1);
        thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    if table.check_one(&one, at_ms(0)).is_allowed() {
                        passed.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(passed.into_inner(), 10);
    }
}

#[test]
fn threads_that_want_the_same_shards_in_any_order_take_all_or_nothing() {
    const EACH: u64 = 400;
    let table = ShardedTable::new(10_000, SEED);
    let shop = charge(hourly(1_000), u64::MAX, 1);
    let passed = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (table, passed) = (&table, &passed);
            scope.spawn(move || {
                for number in 0..EACH {
                    // A person of this thread, a person of all threads, and the shop, in changing order.
                    let own = charge(hourly(1_000), thread, 1);
                    let other = charge(hourly(10_000), 100 + number % 7, 1);
                    let charges = if thread % 2 == 0 { [own, other, shop] } else { [shop, other, own] };
                    if table.check(&request(&charges), at_ms(0)).refusal().is_none() {
                        passed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let left = |charge: Charge| {
        table.peek(&request(&[Charge { cost: 0, ..charge }]), at_ms(0)).decisions[0].remaining()
    };
    assert_eq!(passed.into_inner(), 1_000, "the shop's quota");
    assert_eq!(left(shop), 0);
    let taken = |policy: Policy, identity| policy.quota() - left(charge(policy, identity, 0));
    assert_eq!((0..4).map(|thread| taken(hourly(1_000), thread)).sum::<u64>(), 1_000);
    assert_eq!((100..107).map(|number| taken(hourly(10_000), number)).sum::<u64>(), 1_000);
}

#[test]
fn everything_else_reaches_the_shard_of_its_key() {
    let table = ShardedTable::new(1_000, SEED);
    let (rate, slot) = (charge(hourly(10), 1, 6), charge(permits(1), 2, 1));
    let [ann, bob] = [1, 2].map(|holder| Holder([holder; 16]));
    assert!(table.check(&request(&[rate, slot]).held_by(ann), at_ms(0)).refusal().is_none());
    assert_eq!((table.len(), table.is_empty(), table.unrecorded_checks()), (2, false, 0));
    assert!(table.check(&request(&[slot]).held_by(bob), at_ms(0)).refusal().is_some());
    table.give(&slot, ann, at_ms(0));
    assert!(table.check(&request(&[slot]).held_by(bob), at_ms(0)).refusal().is_none());
    let remaining = || table.state(rate.key, at_ms(0)).unwrap().decision.remaining();
    table.refund(&Charge { cost: 1, ..rate }, at_ms(0), at_ms(0));
    assert_eq!(remaining(), 5);
    table.replenish(&Charge { cost: 2, ..rate }, at_ms(0));
    assert_eq!(remaining(), 7);
    let record = table.record(rate.key).unwrap();
    assert!(table.reset(rate.key) && !table.reset(rate.key));
    assert_eq!(table.record(rate.key), None);
    table.restore(record, at_ms(0));
    assert_eq!(remaining(), 7);
    assert_eq!(table.sweep(1_000, at_ms(3_600_000)), 2);
    assert!(table.is_empty());
}

fn permits(permits: Cost) -> Policy {
    Policy::Concurrency(ConcurrencyPolicy::new(permits, Duration::from_secs(30)).unwrap())
}

proptest! {
    #[test]
    fn shards_with_room_equal_one_table(
        steps in prop::collection::vec((0..2_000_000_u64, prop::collection::btree_map(0..60_u64, 0..8_u64, 1..8)), 1..120),
    ) {
        let (shards, mut table, mut millis) = (ShardedTable::new(16_000, SEED), LimiterTable::new(1_000, SEED), 0);
        for (step_ms, costs) in steps {
            millis += step_ms;
            let charges: Vec<Charge> =
                costs.iter().map(|(identity, cost)| charge(hourly(3 + identity % 5), *identity, *cost)).collect();
            let asked = request(&charges);
            prop_assert_eq!(shards.peek(&asked, at_ms(millis)), table.peek(&asked, at_ms(millis)));
            prop_assert_eq!(shards.check(&asked, at_ms(millis)), table.check(&asked, at_ms(millis)));
        }
    }
}
