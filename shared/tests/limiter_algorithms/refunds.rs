//! A refund goes into the window that it came from, and never above the maximum.

use super::histories::{KeyClock, history};
use proptest::prelude::*;
use shared::limiter::{Policy, PolicySettings};
use shared::time::Timestamp;
use std::time::Duration;

fn policy(settings: PolicySettings) -> Policy {
    settings.try_into().unwrap()
}

fn at_ms(millis: u64) -> Timestamp {
    Timestamp::from_millis(1_764_484_800_000 + millis)
}

proptest! {
    #[test]
    fn what_is_given_back_at_once_is_there_again((policy, start, calls) in history()) {
        let (mut state, mut clock) = (policy.new_state(), KeyClock::starting_at(start));
        for call in calls {
            let key_now = clock.step(call.step_us);
            let before = policy.check(state.clone(), key_now, 0).decision.remaining();
            let taken = policy.check(state, clock.host, call.cost);
            if taken.decision.is_allowed() && call.cost > 0 && !matches!(policy, Policy::LeakyQueue(_)) {
                let returned = policy.refund(taken.state.clone(), clock.host, call.cost, key_now);
                prop_assert_eq!(policy.check(returned, key_now, 0).decision.remaining(), before);
                clock.last_admitted = key_now;
            }
            state = taken.state;
        }
    }

    #[test]
    fn no_refund_makes_more_than_the_maximum((policy, start, calls) in history(), cost: u64, taken_us: u64) {
        let (mut state, mut clock) = (policy.new_state(), KeyClock::starting_at(start));
        for call in calls {
            clock.step(call.step_us);
            state = policy.check(state, clock.host, call.cost).state;
            for taken_at in [clock.host, start, Timestamp::from_micros(taken_us)] {
                let returned = policy.refund(state.clone(), clock.host, cost, taken_at);
                prop_assert!(policy.check(returned, clock.host, 0).decision.remaining() <= policy.quota());
            }
        }
    }
}

proptest! {
    #[test]
    fn a_business_event_restores_what_it_names_and_no_more((policy, start, calls) in history(), cost in 0..15_u64) {
        let (mut state, mut clock) = (policy.new_state(), KeyClock::starting_at(start));
        for call in calls {
            clock.step(call.step_us);
            let before = policy.check(state.clone(), clock.host, 0).decision.remaining();
            let restored = policy.replenish(state.clone(), clock.host, cost);
            let after = policy.check(restored, clock.host, 0).decision.remaining();
            let whole = (before + cost).min(policy.quota());
            match policy {
                Policy::LeakyQueue(_) => prop_assert_eq!(after, before),
                Policy::Lockout(_) => prop_assert!(after == whole || after == 0),
                // What the window before weighs is a fraction of a unit.
                Policy::TwoCounters(_) => prop_assert!((whole..=(whole + 1).min(policy.quota())).contains(&after)),
                _ => prop_assert_eq!(after, whole),
            }
            state = policy.check(state, clock.host, call.cost).state;
        }
    }
}

/// Takes 5 of 10 at `taken_ms`, then 2 at `then_ms`; what is free after a refund of the five at `then_ms`.
fn left_after_refund(settings: PolicySettings, taken_ms: u64, then_ms: u64) -> u64 {
    let policy = policy(settings);
    let five = policy.check(policy.new_state(), at_ms(taken_ms), 5).state;
    let seven = policy.check(five, at_ms(then_ms), 2).state;
    let returned = policy.refund(seven, at_ms(then_ms), 5, at_ms(taken_ms));
    policy.check(returned, at_ms(then_ms), 0).decision.remaining()
}

#[test]
fn a_refund_from_a_window_that_has_ended_gives_nothing() {
    let (limit, window_us) = (10, 1_000_000);
    let aligned = PolicySettings::FixedWindow { limit, window_us, aligned: true };
    assert_eq!(left_after_refund(aligned.clone(), 900, 999), 8);
    assert_eq!(left_after_refund(aligned, 900, 1_000), 8, "the two of the new window stay");
    let first_hit = PolicySettings::FixedWindow { limit, window_us, aligned: false };
    assert_eq!(left_after_refund(first_hit.clone(), 900, 1_899), 8);
    assert_eq!(left_after_refund(first_hit, 900, 1_900), 8);
    let log = PolicySettings::SlidingLog { limit, window_us };
    assert_eq!(left_after_refund(log.clone(), 900, 1_899), 8);
    assert_eq!(left_after_refund(log, 900, 1_900), 8);
    let sub_windows = PolicySettings::SlidingSubWindows { limit, window_us, sub_windows: 10 };
    assert_eq!(left_after_refund(sub_windows.clone(), 900, 1_999), 8);
    assert_eq!(left_after_refund(sub_windows, 900, 2_000), 8);
    let two_counters = PolicySettings::SlidingTwoCounters { limit, window_us };
    assert_eq!(left_after_refund(two_counters.clone(), 900, 1_500), 8, "the counter of the window before");
    assert_eq!(left_after_refund(two_counters, 900, 2_000), 8);
}

#[test]
fn a_refund_gives_no_more_than_has_not_come_back_by_itself() {
    let bucket = PolicySettings::IntervalBucket { capacity: 10, refill: 3, period_us: 1_000_000 };
    // 5 + 2 taken, one refill of 3 since: of the five only two are still owed.
    assert_eq!(left_after_refund(bucket.clone(), 0, 1_000), 10 - (5 - 3) - 2 + 2);
    // Two refills have paid for all five: the two of now stay.
    assert_eq!(left_after_refund(bucket, 0, 2_000), 8);
}

#[test]
fn a_refund_from_before_the_bucket_was_last_full_gives_nothing() {
    let policy = policy(PolicySettings::IntervalBucket { capacity: 10, refill: 5, period_us: 1_000_000 });
    let first = policy.check(policy.new_state(), at_ms(0), 10).state;
    let second = policy.check(first, at_ms(2_000), 10).state;
    let returned = policy.refund(second, at_ms(2_000), 10, at_ms(0));
    assert_eq!(policy.check(returned, at_ms(2_000), 0).decision.remaining(), 0);
}

#[test]
fn a_refund_ends_no_lock_and_reaches_no_count_before_it() {
    let lockout = policy(PolicySettings::Lockout { max: 3, window_us: 60_000_000, lock_us: 1_000_000 });
    let spent = lockout.check(lockout.new_state(), at_ms(0), 3).state;
    let locked = lockout.check(spent, at_ms(100), 1).state;
    let returned = lockout.refund(locked, at_ms(200), 3, at_ms(0));
    let refused = lockout.check(returned.clone(), at_ms(200), 1).decision;
    assert_eq!(refused.retry_after(), Some(Duration::from_millis(900)));
    // The lock is over and the count began again; the three of before it are not in it.
    let again = lockout.check(returned, at_ms(1_100), 2).state;
    let returned = lockout.refund(again, at_ms(1_100), 3, at_ms(0));
    assert_eq!(lockout.check(returned, at_ms(1_100), 0).decision.remaining(), 1);
}

#[test]
fn a_queue_gives_no_place_back_because_others_know_theirs() {
    let queue = policy(PolicySettings::LeakyQueue { rate: 1, period_us: 1_000_000, max_waiting: 2 });
    let full = queue.check(queue.new_state(), at_ms(0), 3).state;
    assert_eq!(queue.refund(full.clone(), at_ms(0), 1, at_ms(0)), full);
}
