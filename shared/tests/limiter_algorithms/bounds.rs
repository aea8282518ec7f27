//! The bound that each algorithm's file states, for every interval of every history, refunds included.

use super::histories::{Admitted, KeyClock, history};
use proptest::prelude::*;
use shared::limiter::calendar::Calendar;
use shared::limiter::{Policy, PolicySettings};
use shared::time::Timestamp;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn admissions_keep_the_stated_bound_in_every_interval((policy, start, calls) in history()) {
        let (mut state, mut clock, mut admitted) = (policy.new_state(), KeyClock::starting_at(start), Vec::new());
        for call in calls {
            let at = clock.step(call.step_us);
            let transition = policy.check(state, clock.host, call.cost);
            state = transition.state;
            if transition.decision.is_allowed() && call.cost > 0 {
                clock.last_admitted = at;
                admitted.push(Admitted { at, cost: call.cost });
            }
        }
        assert_bound(&policy, &admitted);
    }

    #[test]
    fn what_is_not_refunded_keeps_the_bound(
        (policy, start, calls) in history(),
        refunds in prop::collection::vec(any::<prop::sample::Index>(), 80),
    ) {
        let (mut state, mut clock, mut kept) = (policy.new_state(), KeyClock::starting_at(start), Vec::new());
        for (call, refund) in calls.into_iter().zip(refunds) {
            let at = clock.step(call.step_us);
            // A queue gives nothing back, so there what was "refunded" was admitted all the same.
            if call.cost % 3 == 0 && !kept.is_empty() && !matches!(policy, Policy::LeakyQueue(_)) {
                let Admitted { at: taken_at, cost } = kept.remove(refund.index(kept.len()));
                state = policy.refund(state, clock.host, cost, taken_at);
                continue;
            }
            let transition = policy.check(state, clock.host, call.cost);
            state = transition.state;
            if transition.decision.is_allowed() && call.cost > 0 {
                clock.last_admitted = at;
                kept.push(Admitted { at, cost: call.cost });
            }
        }
        assert_bound(&policy, &kept);
    }
}

/// Once, a refund forgot what had left the window, and a clock that stepped back behind that found it gone.
#[test]
fn a_refund_before_a_clock_steps_back_frees_nothing_else() {
    let log = PolicySettings::SlidingLog { limit: 10, window_us: 1_000_000 };
    let policy = Policy::try_from(log).unwrap();
    let at = |us: u64| Timestamp::from_micros(1_764_484_800_000_000 + us);
    let mut state = policy.check(policy.new_state(), at(0), 8).state;
    for _ in 0..2 {
        state = policy.check(state, at(79_033), 1).state;
    }
    state = policy.refund(state, at(1_000_000), 1, at(79_033));
    let told = policy.check(state, at(999_998), 2).decision;
    assert!(!told.is_allowed() && told.remaining() == 1, "{told:?}");
}

fn assert_bound(policy: &Policy, admitted: &[Admitted]) {
    let settings = PolicySettings::from(*policy);
    for (first, start) in admitted.iter().enumerate() {
        let mut cost = 0;
        for end in &admitted[first..] {
            cost += u128::from(end.cost);
            let t_us = end.at.as_micros() - start.at.as_micros();
            assert!(is_within(&settings, cost, t_us), "{settings:?}: {cost} from {start:?} to {end:?}");
        }
    }
}

/// Whether `cost` in an interval of `t_us`, ends included, is within the bound.
fn is_within(settings: &PolicySettings, cost: u128, t_us: u64) -> bool {
    let windows =
        |limit: u64, window_us: u64, more: u64| u128::from(limit) * u128::from(t_us / window_us + more);
    let metered = |burst: u64, rate: u64, period_us: u64| {
        cost * u128::from(period_us)
            <= u128::from(burst) * u128::from(period_us) + u128::from(rate) * u128::from(t_us)
    };
    match *settings {
        PolicySettings::Gcra { burst_capacity, rate, period_us } => metered(burst_capacity, rate, period_us),
        PolicySettings::LeakyQueue { rate, period_us, max_waiting } => {
            metered(max_waiting + 1, rate, period_us)
        }
        PolicySettings::IntervalBucket { capacity, refill, period_us } => {
            cost <= u128::from(capacity) + windows(refill, period_us, 1)
        }
        PolicySettings::FixedWindow { limit, window_us, .. }
        | PolicySettings::SlidingTwoCounters { limit, window_us } => cost <= windows(limit, window_us, 2),
        PolicySettings::SlidingLog { limit, window_us }
        | PolicySettings::SlidingSubWindows { limit, window_us, .. } => cost <= windows(limit, window_us, 1),
        PolicySettings::Lockout { max, window_us, lock_us } => {
            let shortest_us = if lock_us == 0 { window_us } else { window_us.min(lock_us) };
            cost <= windows(max, shortest_us, 2)
        }
        PolicySettings::LongQuota { limit, calendar, .. } => {
            let days = match calendar {
                Calendar::Day => 1,
                Calendar::Month => 28,
            };
            cost <= windows(limit, days * 86_400_000_000, 2)
        }
        PolicySettings::Concurrency { .. } => false,
    }
}
