//! Many keys in one table: all or nothing, bounded, and a flood frees nobody and locks nobody out.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;
use shared::limiter::check::{Charge, CheckReply, CheckRequest};
use shared::limiter::gcra::GcraPolicy;
use shared::limiter::key::{Key, TableSeed};
use shared::limiter::table::{ENTRIES_SWEPT_WHEN_FULL, LimiterTable};
use shared::limiter::{Cost, Decision, Policy, State};
use shared::time::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

const SEED: TableSeed = TableSeed([7; 16]);

fn per_second(burst: Cost, rate: u64) -> Policy {
    Policy::Gcra(GcraPolicy::new(burst, rate, Duration::from_secs(1)).unwrap())
}

fn charge(policy: Policy, identity: u64, cost: Cost) -> Charge {
    let key = Key { service: "shop", action: "cart", identity: &identity.to_be_bytes() };
    Charge::new(policy, key.hash().unwrap(), cost)
}

fn at_ms(millis: u64) -> Timestamp {
    Timestamp::from_millis(1_764_480_000_000 + millis)
}

fn check_all(table: &mut LimiterTable, charges: &[Charge], now: Timestamp) -> CheckReply {
    table.check(&CheckRequest::new(charges.to_vec()).unwrap(), now)
}

fn check_one(table: &mut LimiterTable, charge: Charge, now: Timestamp) -> Decision {
    check_all(table, &[charge], now).decisions[0]
}

#[test]
fn a_refusal_takes_nothing_names_what_binds_and_the_largest_wait() {
    let mut table = LimiterTable::new(10, SEED);
    let (wide, narrow, slow) = (per_second(10, 10), per_second(2, 2), per_second(1, 1));
    let spend = [charge(wide, 1, 2), charge(narrow, 2, 2), charge(slow, 3, 1)];
    assert_eq!(check_all(&mut table, &spend, at_ms(0)).refusal(), None);
    let again = check_all(&mut table, &spend, at_ms(0));
    let refusal = again.refusal().unwrap();
    assert_eq!((refusal.bound_by, refusal.retry_after), (1, Some(Duration::from_secs(1))));
    // The key that would have let it pass says what it has, not what it would have had.
    assert_eq!(
        again.decisions[0],
        Decision::Allowed { remaining: 8, reset_after: Duration::from_millis(200), delay: Duration::ZERO }
    );
    let never =
        check_all(&mut table, &[charge(slow, 3, 1), charge(wide, 1, 11)], at_ms(0)).refusal().unwrap();
    assert_eq!((never.bound_by, never.retry_after), (1, None));
    assert_eq!(check_one(&mut table, charge(wide, 1, 8), at_ms(0)).remaining(), 0);
}

#[test]
fn a_client_that_is_refused_by_its_own_limit_leaves_the_shared_one_alone() {
    let mut table = LimiterTable::new(10, SEED);
    let (own, shared) = (charge(per_second(1, 1), 1, 1), charge(per_second(10, 1), 2, 1));
    let passed =
        (0..20).filter(|_| check_all(&mut table, &[own, shared], at_ms(0)).refusal().is_none()).count();
    assert_eq!(passed, 1);
    assert_eq!(check_one(&mut table, charge(shared.policy, 2, 0), at_ms(0)).remaining(), 9);
}

#[test]
fn a_changed_policy_takes_the_state_over() {
    let mut table = LimiterTable::new(10, SEED);
    let (old, new) = (per_second(10, 1), per_second(6, 1_000));
    check_one(&mut table, charge(old, 1, 5), at_ms(0));
    assert_eq!(check_one(&mut table, charge(new, 1, 0), at_ms(0)).remaining(), 1);
    assert_eq!(check_one(&mut table, charge(old, 1, 0), at_ms(0)).remaining(), 5);
    check_one(&mut table, charge(new, 1, 1), at_ms(0));
    assert_eq!(check_one(&mut table, charge(old, 1, 0), at_ms(0)).remaining(), 4);
}

#[test]
fn a_refund_reaches_the_key_and_makes_none() {
    let mut table = LimiterTable::new(10, SEED);
    let taken = charge(per_second(5, 1), 1, 4);
    check_one(&mut table, taken, at_ms(0));
    table.refund(&taken, at_ms(0), at_ms(1000));
    assert_eq!(check_one(&mut table, charge(taken.policy, 1, 0), at_ms(1000)).remaining(), 5);
    table.refund(&charge(taken.policy, 2, 4), at_ms(0), at_ms(1000));
    assert_eq!(table.len(), 1);
}

#[test]
fn peeks_and_refusals_leave_no_entry() {
    let mut table = LimiterTable::new(10, SEED);
    for (policy, cost) in [(per_second(5, 1), 0), (per_second(5, 1), 6), (per_second(0, 1), 1)] {
        check_one(&mut table, charge(policy, 1, cost), at_ms(0));
        assert!(table.is_empty());
    }
}

#[test]
fn a_call_that_finds_no_room_looks_at_34_entries() {
    // Two for its new key, and then 32; one entry of the table has recovered, and the hand begins anywhere.
    let looks = 2 + ENTRIES_SWEPT_WHEN_FULL;
    let long = Policy::Gcra(GcraPolicy::new(1, 1, Duration::from_hours(1)).unwrap());
    for capacity in [looks, looks + 1, 2 * looks] {
        let found = (0..capacity).filter(|hand| {
            let mut table = LimiterTable::new(capacity, SEED);
            for identity in 1..u64::try_from(capacity).unwrap() {
                check_one(&mut table, charge(long, identity, 1), at_ms(0));
            }
            check_one(&mut table, charge(per_second(1, 1), 0, 1), at_ms(0));
            table.sweep(*hand, at_ms(0));
            check_one(&mut table, charge(long, u64::MAX, 1), at_ms(1_000));
            table.unrecorded_checks() == 0
        });
        assert_eq!(found.count(), looks, "of {capacity}");
    }
}

#[test]
fn one_past_the_capacity_passes_unrecorded_until_an_entry_recovers() {
    let mut table = LimiterTable::new(3, SEED);
    let policy = per_second(1, 1);
    for identity in 1..=3 {
        assert!(check_one(&mut table, charge(policy, identity, 1), at_ms(100 * identity)).is_allowed());
    }
    assert_eq!((table.len(), table.unrecorded_checks()), (3, 0));
    assert!(check_one(&mut table, charge(policy, 4, 1), at_ms(1_099)).is_allowed());
    assert_eq!((table.len(), table.unrecorded_checks()), (3, 1));
    // Key 1 has recovered: key 4 takes its place, and is limited from here on.
    assert!(check_one(&mut table, charge(policy, 4, 1), at_ms(1_100)).is_allowed());
    assert_eq!((table.len(), table.unrecorded_checks()), (3, 1));
    assert!(!check_one(&mut table, charge(policy, 4, 1), at_ms(1_100)).is_allowed());
    for refused in [2, 3] {
        assert!(!check_one(&mut table, charge(policy, refused, 1), at_ms(1_100)).is_allowed());
    }
}

#[test]
fn unrecorded_checks_are_bounded_by_the_capacity_at_once_and_each_second() {
    let mut table = LimiterTable::new(4, SEED);
    let policy = Policy::Gcra(GcraPolicy::new(1, 1, Duration::from_hours(1)).unwrap());
    let mut passed =
        (0..100).filter(|new| check_one(&mut table, charge(policy, *new, 1), at_ms(0)).is_allowed());
    assert_eq!(passed.by_ref().count(), 4 + 4);
    let refused = check_one(&mut table, charge(policy, 200, 1), at_ms(0));
    let Decision::Denied { retry_after, .. } = refused else { panic!("{refused:?}") };
    assert_eq!(retry_after, Some(Duration::from_millis(250)));
    assert!(!check_one(&mut table, charge(policy, 200, 1), at_ms(249)).is_allowed());
    assert!(check_one(&mut table, charge(policy, 200, 1), at_ms(250)).is_allowed());
    assert_eq!((table.len(), table.unrecorded_checks()), (4, 5));
}

#[test]
fn a_check_whose_last_key_finds_no_room_is_one_unrecorded_check_and_records_the_rest() {
    let mut table = LimiterTable::new(2, SEED);
    let policy = per_second(1, 1);
    let three = [1, 2, 3].map(|identity| charge(policy, identity, 1));
    assert_eq!(check_all(&mut table, &three, at_ms(0)).refusal(), None);
    assert_eq!((table.len(), table.unrecorded_checks()), (2, 1));
    let denied =
        [1, 2, 3].map(|identity| !check_one(&mut table, charge(policy, identity, 1), at_ms(0)).is_allowed());
    assert_eq!(denied, [true, true, false]);
}

#[test]
fn a_million_made_up_keys_free_nobody_and_lock_nobody_out() {
    const CAPACITY: usize = 10_000;
    let (device, hour) =
        (per_second(10, 5), Policy::Gcra(GcraPolicy::new(3, 3, Duration::from_hours(1)).unwrap()));
    let mut table = LimiterTable::new(CAPACITY, SEED);
    let (refused, half_used) = (u64::MAX, u64::MAX - 1);
    assert!(check_one(&mut table, charge(hour, refused, 3), at_ms(0)).is_allowed());
    assert!(check_one(&mut table, charge(hour, half_used, 2), at_ms(0)).is_allowed());
    for made_up in 0..1_000_000_u64 {
        // 20,000 new keys a second, each alive for 600 ms: a fifth more than there is room for.
        let now = Timestamp::from_micros(at_ms(0).as_micros() + made_up * 50);
        assert!(check_one(&mut table, charge(device, made_up, 3), now).is_allowed());
        assert!(table.len() <= CAPACITY);
        if made_up % 1000 == 0 {
            let waited = now.since(at_ms(0));
            let still = check_one(&mut table, charge(hour, refused, 1), now);
            let Decision::Denied { retry_after, .. } = still else { panic!("freed after {made_up}") };
            assert_eq!(retry_after, Some(Duration::from_mins(20).saturating_sub(waited)));
            assert_eq!(check_one(&mut table, charge(hour, half_used, 0), now).remaining(), 1);
        }
    }
    assert!(table.unrecorded_checks() > 0, "the flood was too small to fill the table");
    let newcomer = check_one(&mut table, charge(device, u64::MAX - 2, 1), at_ms(50_000));
    assert!(newcomer.is_allowed());
}

#[test]
fn a_key_that_keeps_calling_in_a_flood_is_recorded_and_then_limited() {
    let mut table = LimiterTable::new(1_000, SEED);
    let policy = per_second(10, 5);
    let mut passed = 0;
    for tick in 0..50_000_u64 {
        let now = Timestamp::from_micros(at_ms(0).as_micros() + tick * 100);
        check_one(&mut table, charge(policy, tick, 1), now);
        // One call in ten is the same caller's: 1,000 a second against its 5.
        if tick % 10 == 0 && check_one(&mut table, charge(policy, u64::MAX, 1), now).is_allowed() {
            passed += 1;
        }
    }
    assert!(table.unrecorded_checks() > 0, "the flood was too small to fill the table");
    // 5 s of its rate, its burst, and what passed before it was recorded.
    assert!(passed <= 25 + 10 + 20, "{passed} passed");
}

#[test]
fn a_sweep_removes_only_what_has_recovered() {
    let mut table = LimiterTable::new(100, SEED);
    let policy = per_second(2, 1);
    for identity in 0..100 {
        check_one(&mut table, charge(policy, identity, 1 + identity % 2), at_ms(0));
    }
    assert_eq!(table.sweep(1_000, at_ms(999)), 0);
    // An entry that fills a gap may be looked at twice, so one round of looks may miss some.
    assert_eq!(table.sweep(1_000, at_ms(1_000)) + table.sweep(1_000, at_ms(1_000)), 50);
    for identity in 0..100 {
        let want = if identity % 2 == 0 { 2 } else { 1 };
        assert_eq!(check_one(&mut table, charge(policy, identity, 0), at_ms(1_000)).remaining(), want);
    }
    assert_eq!(table.sweep(ENTRIES_SWEPT_WHEN_FULL, at_ms(2_000)), ENTRIES_SWEPT_WHEN_FULL);
    assert_eq!(table.sweep(1_000, at_ms(2_000)), 50 - ENTRIES_SWEPT_WHEN_FULL);
    assert!(table.is_empty());
}

/// One state a key, for ever: what a table with room must not be told from.
#[derive(Default)]
struct Ledger(BTreeMap<u64, State>);

impl Ledger {
    fn check(&mut self, calls: &[(u64, Charge)], now: Timestamp) -> bool {
        let transitions: Vec<_> = calls
            .iter()
            .map(|(identity, charge)| {
                let state = self.0.get(identity).cloned().unwrap_or(charge.policy.new_state());
                (*identity, charge.policy.check(state, now, charge.cost))
            })
            .collect();
        let allowed = transitions.iter().all(|(_, transition)| transition.decision.is_allowed());
        for (identity, transition) in transitions.into_iter().filter(|_| allowed) {
            self.0.insert(identity, transition.state);
        }
        allowed
    }
}

proptest! {
    #[test]
    fn a_table_with_room_equals_a_ledger_of_everybody(
        steps in prop::collection::vec((0..400_u64, prop::collection::btree_map(0..40_u64, 0..6_u64, 1..4)), 1..300),
        seed: [u8; 16],
    ) {
        let policies = [per_second(1, 1), per_second(3, 7), per_second(5, 20)];
        let (mut table, mut ledger, mut millis) = (LimiterTable::new(40, TableSeed(seed)), Ledger::default(), 0);
        for (step_ms, costs) in steps {
            millis += step_ms;
            let calls: Vec<(u64, Charge)> = costs
                .into_iter()
                .map(|(identity, cost)| (identity, charge(policies[usize::try_from(identity % 3).unwrap()], identity, cost)))
                .collect();
            let charges: Vec<Charge> = calls.iter().map(|(_, charge)| *charge).collect();
            let allowed = check_all(&mut table, &charges, at_ms(millis)).refusal().is_none();
            prop_assert_eq!(allowed, ledger.check(&calls, at_ms(millis)));
            for (identity, charge) in &calls {
                let state = ledger.0.get(identity).cloned().unwrap_or(charge.policy.new_state());
                let peek = Charge { cost: 0, ..*charge };
                let want = charge.policy.check(state, at_ms(millis), 0).decision;
                prop_assert_eq!(check_one(&mut table, peek, at_ms(millis)), want);
            }
        }
        prop_assert_eq!(table.unrecorded_checks(), 0);
    }
}
