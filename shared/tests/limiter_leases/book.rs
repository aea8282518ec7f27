//! What one node holds, asks for and gives back.

use crate::world::{at, gcra, held, key};
use shared::limiter::Decision;
use shared::limiter::check::Charge;
use shared::limiter::home::REFUNDS_MAX;
use shared::limiter::lease::{HOT_COST, LEASE_LIFE, LEASED_KEYS_MAX, LeaseBook, PAUSE, Refund};
use std::time::Duration;

#[test]
fn a_clock_that_steps_back_burns_the_lease() {
    let (charge, grant) = held();
    let mut book = LeaseBook::default();
    book.note(&[charge], at(5_000_000));
    book.hold(&charge, Some(grant), at(5_000_000), at(5_000_000));
    assert!(book.take(&[charge], at(5_500_000)).is_some());
    assert!(book.take(&[charge], at(5_400_000)).is_none());
    assert_eq!(book.returns(at(5_400_000), REFUNDS_MAX), [], "burned, not given back");
}

#[test]
fn a_lease_ends_to_the_microsecond_and_serves_its_own_policy_only() {
    let (charge, grant) = held();
    let mut book = LeaseBook::default();
    book.note(&[charge], at(0));
    book.hold(&charge, Some(grant), at(0), at(10));
    let taken = book.take(&[charge], at(999_999)).unwrap();
    assert_eq!((taken.decisions[0].remaining(), taken.taken_at), (50 + 9, at(0)));
    let other = Charge { policy: gcra(100, 99, 1_000_000), ..charge };
    assert!(book.take(&[other], at(999_999)).is_none());
    assert!(book.take(&[charge], at(1_000_000)).is_none());
    let returned = Refund { charge: Charge { cost: 9, ..charge }, taken_at: at(0) };
    assert_eq!(book.returns(at(1_000_000), REFUNDS_MAX), [returned]);
    assert_eq!(book.returns(at(1_000_000), REFUNDS_MAX), [], "once");
}

#[test]
fn a_lease_of_a_changed_policy_is_burned() {
    let (charge, grant) = held();
    let mut book = LeaseBook::default();
    book.note(&[charge], at(0));
    book.hold(&charge, Some(grant), at(0), at(0));
    book.note(&[Charge { policy: gcra(100, 99, 1_000_000), ..charge }], at(1));
    assert!(book.take(&[charge], at(1)).is_none());
    assert_eq!(book.returns(at(2_000_000), REFUNDS_MAX), []);
}

#[test]
fn one_call_at_a_time_asks_for_a_lease_and_a_lost_one_is_taken_over() {
    let (charge, _) = held();
    let mut book = LeaseBook::default();
    for _ in 0..HOT_COST {
        book.note(&[charge], at(0));
    }
    assert_eq!(book.wanted(&[charge], at(0)), [HOT_COST]);
    assert_eq!(book.wanted(&[charge], at(499_999)), [0]);
    assert_eq!(book.wanted(&[charge], at(500_000)), [HOT_COST]);
}

#[test]
fn a_flood_of_made_up_keys_is_not_watched_beyond_the_bound() {
    let policy = gcra(100, 100, 1_000_000);
    let charge = |nth| Charge::new(policy, key(nth), HOT_COST);
    let mut book = LeaseBook::default();
    for nth in 0..=LEASED_KEYS_MAX {
        book.note(&[charge(nth)], at(0));
    }
    assert_eq!(book.wanted(&[charge(LEASED_KEYS_MAX - 1)], at(0)), [HOT_COST]);
    assert_eq!(book.wanted(&[charge(LEASED_KEYS_MAX)], at(0)), [0], "one past the bound asks each time");
    // Two seconds later they are idle, and make room.
    book.note(&[charge(LEASED_KEYS_MAX)], at(2_000_000));
    assert_eq!(book.wanted(&[charge(LEASED_KEYS_MAX)], at(2_000_000)), [HOT_COST]);
}

#[test]
fn a_hot_key_that_was_refused_pauses() {
    let (charge, _) = held();
    let refusal = |wait| Decision::Denied { remaining: 0, retry_after: wait, reset_after: LEASE_LIFE };
    let mut book = LeaseBook::default();
    let wait = Some(Duration::from_millis(1));
    book.note(&[charge], at(0));
    assert_eq!(book.paused(&charge, refusal(wait), at(0)), refusal(wait), "a cold key is exact");
    for _ in 0..HOT_COST {
        book.note(&[charge], at(0));
    }
    assert_eq!(book.paused(&charge, refusal(wait), at(0)), refusal(Some(PAUSE)));
    assert_eq!(book.paused(&charge, refusal(None), at(0)), refusal(None));
}
