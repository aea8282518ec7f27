//! Permits: never more in force than the limit, and only their holders give them back.

use proptest::prelude::*;
use shared::limiter::concurrency::{ConcurrencyPolicy, ConcurrencyState, Holder, PERMITS_MAX};
use shared::limiter::{Decision, PolicyError};
use shared::time::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

const LIFE: Duration = Duration::from_secs(30);

fn at_s(seconds: u64) -> Timestamp {
    Timestamp::from_micros((1_764_484_800 + seconds) * 1_000_000)
}

fn holder(number: u8) -> Holder {
    Holder([number; 16])
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Take { cost: u64 },
    Give,
}

proptest! {
    #[test]
    fn permits_in_force_equal_a_plain_ledger_and_never_exceed_the_limit(
        permits in 1..8_u64,
        ops in prop::collection::vec((0..20_u64, 0..6_u8, prop_oneof![3 => (0..5_u64).prop_map(|cost| Op::Take { cost }), 2 => Just(Op::Give)]), 1..100),
    ) {
        let policy = ConcurrencyPolicy::new(permits, LIFE).unwrap();
        let (mut state, mut ledger, mut now) = (ConcurrencyState::default(), BTreeMap::new(), at_s(0));
        for (seconds, number, op) in ops {
            now = now.saturating_add(Duration::from_secs(seconds));
            ledger.retain(|_, (_, ends_at)| *ends_at > now);
            match op {
                Op::Give => {
                    ledger.remove(&number);
                    state = policy.give(&state, now, holder(number));
                }
                Op::Take { cost } => {
                    let others: u64 = ledger.iter().filter(|(other, _)| **other != number).map(|(_, (cost, _))| *cost).sum();
                    let transition = policy.take(state.clone(), now, Some(holder(number)), cost);
                    prop_assert_eq!(transition.decision.is_allowed(), cost == 0 || others + cost <= permits);
                    if let Decision::Denied { retry_after, .. } = transition.decision {
                        prop_assert_eq!(&transition.state, &state);
                        prop_assert_eq!(retry_after.is_none(), cost > permits);
                        if let Some(wait) = retry_after {
                            let passes = |at| policy.take(state.clone(), at, Some(holder(number)), cost).decision.is_allowed();
                            prop_assert!(passes(now.saturating_add(wait)));
                            prop_assert!(!passes(now.saturating_add(wait).saturating_sub(Duration::from_micros(1))));
                        }
                    } else if cost > 0 {
                        ledger.insert(number, (cost, now.saturating_add(LIFE)));
                    }
                    state = transition.state;
                }
            }
            let held: u64 = ledger.values().map(|(cost, _)| *cost).sum();
            prop_assert!(held <= permits);
            let peek = policy.take(state.clone(), now, None, 0).decision;
            prop_assert_eq!(peek.remaining(), permits - held);
            prop_assert_eq!(policy.is_as_new(&state, now), ledger.is_empty());
        }
    }
}

#[test]
fn giving_back_twice_or_by_another_frees_nothing_more() {
    let policy = ConcurrencyPolicy::new(2, LIFE).unwrap();
    let first = policy.take(ConcurrencyState::default(), at_s(0), Some(holder(1)), 1).state;
    let both = policy.take(first, at_s(0), Some(holder(2)), 1).state;
    assert_eq!(policy.give(&both, at_s(0), holder(3)), both);
    let given = policy.give(&both, at_s(0), holder(1));
    assert_eq!(policy.give(&given, at_s(0), holder(1)), given);
    assert_eq!(policy.take(given, at_s(0), None, 0).decision.remaining(), 1);
}

#[test]
fn a_holder_that_died_loses_its_permit_when_its_life_ends() {
    let policy = ConcurrencyPolicy::new(1, LIFE).unwrap();
    let held = policy.take(ConcurrencyState::default(), at_s(0), Some(holder(1)), 1).state;
    let refused = policy.take(held.clone(), at_s(10), Some(holder(2)), 1).decision;
    assert_eq!(refused.retry_after(), Some(Duration::from_secs(20)));
    let taken = policy.take(held, at_s(30), Some(holder(2)), 1);
    assert!(taken.decision.is_allowed());
    // The first comes back too late: what it gives back is not the second's.
    assert_eq!(policy.give(&taken.state, at_s(31), holder(1)), taken.state);
}

#[test]
fn taking_again_renews_the_one_permit_of_a_holder() {
    let policy = ConcurrencyPolicy::new(2, LIFE).unwrap();
    let first = policy.take(ConcurrencyState::default(), at_s(0), Some(holder(1)), 1).state;
    let again = policy.take(first, at_s(20), Some(holder(1)), 1);
    assert_eq!((again.decision.remaining(), again.decision.reset_after()), (1, LIFE));
    assert_eq!(
        policy.take(again.state, at_s(49), Some(holder(2)), 2).decision.retry_after(),
        Some(Duration::from_secs(1))
    );
}

#[test]
fn nobody_takes_no_permit_and_permits_are_bounded() {
    let policy = ConcurrencyPolicy::new(1, LIFE).unwrap();
    assert_eq!(policy.take(ConcurrencyState::default(), at_s(0), None, 1).decision.retry_after(), None);
    assert!(ConcurrencyPolicy::new(PERMITS_MAX, LIFE).is_ok());
    assert_eq!(
        ConcurrencyPolicy::new(PERMITS_MAX + 1, LIFE),
        Err(PolicyError::LimitTooLarge { most: PERMITS_MAX })
    );
}
