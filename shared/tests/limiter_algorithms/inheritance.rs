//! What a key brings along when its policy changes.

use super::histories::{KeyClock, history, policy};
use proptest::prelude::*;
use shared::limiter::{Cost, Inheritance, Policy, PolicySettings, State};
use shared::time::Timestamp;

/// 950 ms into a second and a minute.
fn now() -> Timestamp {
    Timestamp::from_millis(1_764_484_800_950)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn never_more_in_use_than_the_new_maximum_and_never_less_than_kept(
        (old, start, calls) in history(),
        new in policy(),
    ) {
        let (mut state, mut clock) = (old.new_state(), KeyClock::starting_at(start));
        for call in calls {
            clock.step(call.step_us);
            state = old.check(state, clock.host, call.cost).state;
        }
        let at = clock.host;
        let used = old.quota() - old.check(state.clone(), at, 0).decision.remaining();
        let keep = new.inherit(&old, state.clone(), at, Inheritance::Keep);
        let kept_in_use = new.quota() - new.check(keep, at, 0).decision.remaining();
        let is_locked = match (&old, &state) {
            (Policy::Lockout(policy), State::Lockout(state)) => policy.is_locked(*state, at),
            _ => false,
        };
        // A log knows when each unit came, so a shorter window no longer counts the older ones.
        let is_forgotten = matches!((old, new), (Policy::SlidingLog(_), Policy::SlidingLog(_)))
            && new.window() < old.window();
        if is_locked && matches!(new, Policy::Lockout(_)) {
            prop_assert_eq!(kept_in_use, new.quota());
        } else {
            // The fraction of a unit in use is kept too, where both can tell it.
            prop_assert!(kept_in_use <= used.min(new.quota()) && (is_forgotten || kept_in_use + 1 >= used.min(new.quota())));
        }
        let reset = new.inherit(&old, state.clone(), at, Inheritance::Reset);
        prop_assert!(new.is_as_new(&reset, at));
        prop_assert_eq!(new.check(reset, at, new.quota()).decision.is_allowed(), true);
        let share = new.inherit(&old, state, at, Inheritance::Proportional);
        prop_assert!(new.check(share, at, 0).decision.remaining() <= new.quota());
    }

    #[test]
    fn the_same_policy_again_changes_nothing((policy, start, calls) in history()) {
        let (mut reloaded, mut state, mut clock) = (policy.new_state(), policy.new_state(), KeyClock::starting_at(start));
        for call in calls {
            clock.step(call.step_us.abs());
            reloaded = policy.inherit(&policy, reloaded, clock.host, Inheritance::Keep);
            let [after_reload, without] = [reloaded, state].map(|state| policy.check(state, clock.host, call.cost));
            prop_assert_eq!(after_reload.decision, without.decision);
            (reloaded, state) = (after_reload.state, without.state);
        }
    }
}

/// One policy of each algorithm with this maximum.
fn each(limit: Cost) -> [Policy; 9] {
    let (window_us, period_us) = (1_000_000, 1_000_000);
    [
        PolicySettings::Gcra { burst_capacity: limit, rate: 1, period_us },
        PolicySettings::IntervalBucket { capacity: limit, refill: 1, period_us },
        PolicySettings::LeakyQueue { rate: 1, period_us, max_waiting: limit - 1 },
        PolicySettings::FixedWindow { limit, window_us, aligned: true },
        PolicySettings::FixedWindow { limit, window_us, aligned: false },
        PolicySettings::SlidingLog { limit, window_us },
        PolicySettings::SlidingTwoCounters { limit, window_us },
        PolicySettings::SlidingSubWindows { limit, window_us, sub_windows: 4 },
        PolicySettings::Lockout { max: limit, window_us, lock_us: 0 },
    ]
    .map(|settings| settings.try_into().unwrap())
}

#[test]
fn what_is_left_after_a_change_of_the_limit() {
    let check = |from: Cost, used: Cost, to: Cost, how: Inheritance, want: Cost| {
        for (old, new) in each(from).into_iter().zip(each(to)) {
            let state = old.check(old.new_state(), now(), used).state;
            let inherited = new.inherit(&old, state, now(), how);
            assert_eq!(new.check(inherited, now(), 0).decision.remaining(), want, "{new:?} {how:?}");
        }
    };
    check(10, 4, 20, Inheritance::Keep, 16);
    check(10, 4, 20, Inheritance::Proportional, 12);
    check(10, 4, 20, Inheritance::Reset, 20);
    check(10, 4, 6, Inheritance::Keep, 2);
    check(10, 8, 6, Inheritance::Keep, 0);
    check(10, 8, 6, Inheritance::Proportional, 1);
    check(10, 1, 3, Inheritance::Proportional, 2);
    check(10, 8, 6, Inheritance::Reset, 6);
}

#[test]
fn what_is_in_use_goes_over_to_another_algorithm() {
    for old in each(10) {
        for new in each(8) {
            let state = old.check(old.new_state(), now(), 5).state;
            let inherited = new.inherit(&old, state, now(), Inheritance::Keep);
            assert_eq!(new.check(inherited, now(), 0).decision.remaining(), 3, "{old:?} to {new:?}");
        }
    }
}

#[test]
fn a_lock_goes_on_under_a_higher_limit_unless_the_key_is_reset() {
    let lockout = |max| -> Policy {
        PolicySettings::Lockout { max, window_us: 1_000_000, lock_us: 30_000_000 }.try_into().unwrap()
    };
    let (old, new) = (lockout(3), lockout(100));
    let spent = old.check(old.new_state(), now(), 3).state;
    let locked = old.check(spent, now(), 1).state;
    for how in [Inheritance::Keep, Inheritance::Proportional] {
        assert!(!new.check(new.inherit(&old, locked.clone(), now(), how), now(), 1).decision.is_allowed());
    }
    assert!(new.check(new.inherit(&old, locked, now(), Inheritance::Reset), now(), 1).decision.is_allowed());
}
