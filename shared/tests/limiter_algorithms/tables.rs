//! Keys of every algorithm in one table: what was told stays true, locks are stored, permits come back.

use super::histories::settings;
use proptest::prelude::*;
use shared::limiter::check::{Charge, CheckReply, CheckRequest};
use shared::limiter::concurrency::Holder;
use shared::limiter::deny_cache::DenyCache;
use shared::limiter::key::{Key, TableSeed};
use shared::limiter::table::LimiterTable;
use shared::limiter::{Cost, Decision, Inheritance, Policy, PolicySettings, State};
use shared::time::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

const SEED: TableSeed = TableSeed([7; 16]);

fn charge(policy: Policy, identity: u64, cost: Cost) -> Charge {
    let key = Key { service: "shop", action: "cart", identity: &identity.to_be_bytes() };
    Charge::new(policy, key.hash().unwrap(), cost)
}

fn at_ms(millis: u64) -> Timestamp {
    Timestamp::from_millis(1_764_460_800_000 + millis)
}

fn check(table: &mut LimiterTable, charges: &[Charge], now: Timestamp) -> CheckReply {
    table.check(&CheckRequest::new(charges.to_vec()).unwrap(), now)
}

fn lockout(max: Cost, lock_s: u64) -> Policy {
    PolicySettings::Lockout { max, window_us: 1_000_000, lock_us: lock_s * 1_000_000 }.try_into().unwrap()
}

fn per_second(limit: Cost) -> Policy {
    PolicySettings::Gcra { burst_capacity: limit, rate: limit, period_us: 1_000_000 }.try_into().unwrap()
}

#[test]
fn a_lock_that_begins_in_a_table_is_stored() {
    let mut table = LimiterTable::new(10, SEED);
    let one = charge(lockout(3, 30), 1, 1);
    let passed = (0..3).filter(|_| check(&mut table, &[one], at_ms(0)).refusal().is_none()).count();
    assert_eq!(passed, 3);
    let waits = [0, 1_000, 29_999]
        .map(|ms| check(&mut table, &[one], at_ms(ms)).refusal().unwrap().retry_after.unwrap());
    assert_eq!(waits, [30_000, 29_000, 1].map(Duration::from_millis));
    assert_eq!(check(&mut table, &[one], at_ms(30_000)).decisions[0].remaining(), 2);
    assert!(
        check(&mut table, &[charge(lockout(3, 30), 2, 1)], at_ms(0)).refusal().is_none(),
        "other keys are theirs"
    );
}

#[test]
fn a_lock_begins_by_its_own_refusal_and_takes_nothing_from_the_others() {
    let mut table = LimiterTable::new(10, SEED);
    let (member, shop) = (charge(lockout(1, 30), 1, 1), charge(per_second(10), 2, 1));
    assert!(check(&mut table, &[member, shop], at_ms(0)).refusal().is_none());
    // The shop refuses, so the member's call counts for nothing; its own count is not full.
    let too_much = Charge { cost: 10, ..shop };
    let other = charge(lockout(1, 30), 3, 1);
    assert_eq!(check(&mut table, &[other, too_much], at_ms(0)).refusal().unwrap().bound_by, 1);
    assert!(check(&mut table, &[other], at_ms(0)).refusal().is_none());
    // The member's own refusal locks it, and the shop has lost nothing by it.
    for _ in 0..20 {
        assert_eq!(check(&mut table, &[member, shop], at_ms(0)).refusal().unwrap().bound_by, 0);
    }
    assert_eq!(check(&mut table, &[Charge { cost: 0, ..shop }], at_ms(0)).decisions[0].remaining(), 9);
    assert!(check(&mut table, &[member], at_ms(29_999)).refusal().is_some());
}

#[test]
fn a_flood_frees_nobody_who_is_locked() {
    let mut table = LimiterTable::new(1_000, SEED);
    let locked = charge(lockout(1, 3_600), u64::MAX, 1);
    assert!(check(&mut table, &[locked], at_ms(0)).refusal().is_none());
    assert!(check(&mut table, &[locked], at_ms(0)).refusal().is_some());
    for made_up in 0..100_000_u64 {
        check(&mut table, &[charge(lockout(3, 30), made_up, 1)], at_ms(made_up));
        assert!(table.len() <= 1_000);
    }
    let wait = check(&mut table, &[locked], at_ms(100_000)).refusal().unwrap().retry_after;
    assert_eq!(wait, Some(Duration::from_secs(3_500)));
}

#[test]
fn permits_are_taken_with_all_or_nothing_and_given_back_by_their_holder() {
    let mut table = LimiterTable::new(10, SEED);
    let permits: Policy = PolicySettings::Concurrency { permits: 2, life_us: 30_000_000 }.try_into().unwrap();
    let (slot, rate) = (charge(permits, 1, 1), charge(per_second(10), 2, 1));
    let ask = |table: &mut LimiterTable, holder: u8, rate: Charge| {
        let request = CheckRequest::new(vec![slot, rate]).unwrap().held_by(Holder([holder; 16]));
        let read = CheckRequest::from_bytes(&request.to_bytes().unwrap()).unwrap();
        assert_eq!(read, request);
        table.check(&read, at_ms(0)).refusal().map(|refusal| refusal.bound_by)
    };
    assert_eq!(ask(&mut table, 1, Charge { cost: 11, ..rate }), Some(1), "and no permit is held for it");
    assert_eq!([1, 2, 3].map(|holder| ask(&mut table, holder, rate)), [None, None, Some(0)]);
    table.give(&slot, Holder([9; 16]), at_ms(0));
    assert_eq!(ask(&mut table, 3, rate), Some(0));
    table.give(&slot, Holder([1; 16]), at_ms(0));
    assert_eq!([3, 4].map(|holder| ask(&mut table, holder, rate)), [None, Some(0)]);
    assert_eq!(check(&mut table, &[Charge { cost: 0, ..rate }], at_ms(0)).decisions[0].remaining(), 7);
    assert!(check(&mut table, &[slot], at_ms(0)).refusal().is_some(), "nobody holds nothing");
}

#[test]
fn a_refused_permit_is_not_remembered_because_it_may_be_given_back() {
    let mut cache = DenyCache::new(4, SEED);
    let denied = Decision::Denied {
        remaining: 0,
        retry_after: Some(Duration::from_secs(3)),
        reset_after: Duration::from_secs(3),
    };
    let permits: Policy = PolicySettings::Concurrency { permits: 1, life_us: 30_000_000 }.try_into().unwrap();
    for (policy, is_remembered) in [(lockout(1, 30), true), (permits, false)] {
        let one = charge(policy, 1, 1);
        cache.remember(&one, &denied, at_ms(0));
        assert_eq!(cache.lookup(&one, at_ms(1)).is_some(), is_remembered);
    }
}

#[test]
fn a_peek_answers_what_a_check_would_and_takes_nothing() {
    let mut table = LimiterTable::new(10, SEED);
    let (locks, rate) = (charge(lockout(2, 30), 1, 1), charge(per_second(3), 2, 2));
    let both = CheckRequest::new(vec![locks, rate]).unwrap();
    for _ in 0..3 {
        let remaining: Vec<Cost> =
            table.peek(&both, at_ms(0)).decisions.iter().map(Decision::remaining).collect();
        assert_eq!(remaining, [2, 3], "as before the request");
    }
    assert!(table.is_empty());
    assert!(table.check(&both, at_ms(0)).refusal().is_none());
    assert!(table.check(&CheckRequest::new(vec![locks]).unwrap(), at_ms(0)).refusal().is_none());
    for _ in 0..2 {
        let refusal = table.peek(&both, at_ms(0)).refusal().unwrap();
        assert_eq!((refusal.bound_by, refusal.retry_after), (0, Some(Duration::from_secs(30))));
    }
    // No peek has started the lock: the window of the same second still ends.
    assert!(table.peek(&both, at_ms(1_000)).refusal().is_none());
}

#[test]
fn a_reset_key_is_new_and_a_replenished_one_is_still_locked() {
    let mut table = LimiterTable::new(10, SEED);
    let (locks, rate) = (charge(lockout(1, 30), 1, 1), charge(per_second(10), 2, 8));
    check(&mut table, &[locks], at_ms(0));
    check(&mut table, &[locks], at_ms(0));
    check(&mut table, &[rate], at_ms(0));
    table.replenish(&locks, at_ms(1));
    assert!(check(&mut table, &[locks], at_ms(1)).refusal().is_some());
    table.replenish(&Charge { cost: 5, ..rate }, at_ms(0));
    let peek = CheckRequest::new(vec![Charge { cost: 0, ..rate }]).unwrap();
    assert_eq!(table.peek(&peek, at_ms(0)).decisions[0].remaining(), 7);
    table.replenish(&Charge { cost: Cost::MAX, ..rate }, at_ms(0));
    assert_eq!(table.peek(&peek, at_ms(0)).decisions[0].remaining(), 10);
    assert!(table.reset(locks.key));
    assert!(!table.reset(locks.key));
    assert!(check(&mut table, &[locks], at_ms(1)).refusal().is_none());
}

#[test]
fn the_state_of_a_key_says_who_counts_it_and_when_it_is_as_new() {
    let mut table = LimiterTable::new(10, SEED);
    let (locks, rate) = (charge(lockout(1, 30), 1, 1), charge(per_second(10), 2, 5));
    assert_eq!(table.state(locks.key, at_ms(0)), None);
    check(&mut table, &[locks, rate], at_ms(0));
    check(&mut table, &[locks], at_ms(0));
    let locked = table.state(locks.key, at_ms(10_000)).unwrap();
    assert_eq!((locked.policy, locked.expiry), (locks.policy, at_ms(30_000)));
    assert_eq!(locked.decision.remaining(), 0);
    let half = table.state(rate.key, at_ms(100)).unwrap();
    assert_eq!((half.decision.remaining(), half.expiry), (6, at_ms(500)));
}

#[test]
fn a_changed_policy_brings_along_what_its_charge_says() {
    let of = |inheritance| {
        let mut table = LimiterTable::new(10, SEED);
        check(&mut table, &[charge(per_second(10), 1, 8)], at_ms(0));
        let changed = Charge { inheritance, ..charge(per_second(5), 1, 0) };
        check(&mut table, &[changed], at_ms(0)).decisions[0].remaining()
    };
    let all = [Inheritance::Keep, Inheritance::Proportional, Inheritance::Reset];
    assert_eq!(all.map(of), [0, 1, 5]);
}

proptest! {
    #[test]
    fn a_deny_cache_in_front_of_a_table_changes_no_answer(
        policies in prop::collection::vec(settings(), 4),
        steps in prop::collection::vec((0..3_000_000_u64, 0..12_u64, 0..6_u64), 1..200),
    ) {
        let policies: Vec<Policy> = policies.into_iter().map(|settings| settings.try_into().unwrap()).collect();
        let (mut behind, mut alone) = (LimiterTable::new(12, SEED), LimiterTable::new(12, SEED));
        // Eight places for twelve keys of several costs: refusals are pushed out all the time, and free nobody.
        let (mut cache, mut now) = (DenyCache::new(2, SEED), at_ms(0));
        for (step_us, identity, cost) in steps {
            now = now.saturating_add(Duration::from_micros(step_us));
            let one = charge(policies[usize::try_from(identity % 4).unwrap()], identity, cost);
            let told = cache.lookup(&one, now).unwrap_or_else(|| {
                let decision = behind.check_one(&one, now);
                cache.remember(&one, &decision, now);
                decision
            });
            let want = alone.check_one(&one, now);
            prop_assert_eq!(told.is_allowed(), want.is_allowed());
            // A smaller cost that passed since the refusal makes the wait longer than was remembered, never shorter.
            match (told.retry_after(), want.retry_after()) {
                (Some(told), Some(want)) => prop_assert!(told <= want, "{:?} > {:?}", told, want),
                (told, want) => prop_assert_eq!(told, want),
            }
        }
    }

    #[test]
    fn a_table_of_every_algorithm_equals_a_ledger_of_everybody(
        policies in prop::collection::vec(settings(), 6),
        steps in prop::collection::vec((0..3_000_000_u64, prop::collection::btree_map(0..24_u64, 0..6_u64, 1..4)), 1..150),
    ) {
        let policies: Vec<Policy> = policies.into_iter().map(|settings| settings.try_into().unwrap()).collect();
        let (mut table, mut ledger, mut now) = (LimiterTable::new(24, SEED), BTreeMap::<u64, State>::new(), at_ms(0));
        for (step_us, costs) in steps {
            now = now.saturating_add(Duration::from_micros(step_us));
            let policy_of = |identity: u64| policies[usize::try_from(identity % 6).unwrap()];
            let charges: Vec<Charge> = costs.iter().map(|(id, cost)| charge(policy_of(*id), *id, *cost)).collect();
            let reply = check(&mut table, &charges, now);
            let transitions: Vec<_> = costs
                .iter()
                .map(|(id, cost)| {
                    let state = ledger.get(id).cloned().unwrap_or(policy_of(*id).new_state());
                    policy_of(*id).check(state, now, *cost)
                })
                .collect();
            let all_pass = transitions.iter().all(|transition| transition.decision.is_allowed());
            prop_assert_eq!(reply.refusal().is_none(), all_pass);
            for ((id, _), transition) in costs.iter().zip(transitions) {
                let begins_lock = !transition.decision.is_allowed();
                if all_pass || begins_lock {
                    ledger.insert(*id, transition.state);
                }
            }
            for id in costs.keys() {
                let state = ledger.get(id).cloned().unwrap_or(policy_of(*id).new_state());
                let peek = check(&mut table, &[charge(policy_of(*id), *id, 0)], now).decisions[0];
                prop_assert_eq!(peek, policy_of(*id).check(state, now, 0).decision);
            }
        }
        prop_assert_eq!(table.unrecorded_checks(), 0);
    }
}
