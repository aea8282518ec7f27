//! Decisions that are true: exact waits, honest `remaining`, nothing taken by a refusal, no number that overflows.

use super::histories::{KeyClock, history};
use proptest::prelude::*;
use shared::limiter::calendar::Calendar;
use shared::limiter::concurrency::Holder;
use shared::limiter::{Decision, Inheritance, Policy, PolicySettings, State};
use shared::time::Timestamp;
use std::time::Duration;

const MICRO: Duration = Duration::from_micros(1);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn a_wait_is_exact_from_both_sides((policy, start, calls) in history()) {
        let (mut state, mut clock) = (policy.new_state(), KeyClock::starting_at(start));
        for call in calls {
            let key_now = clock.step(call.step_us);
            let transition = policy.check(state, clock.host, call.cost);
            state = transition.state;
            match transition.decision {
                Decision::Allowed { .. } if call.cost > 0 => clock.last_admitted = key_now,
                Decision::Allowed { .. } => {}
                Decision::Denied { retry_after: None, .. } => prop_assert!(call.cost > policy.quota()),
                Decision::Denied { retry_after: Some(wait), .. } => {
                    prop_assert!(wait > Duration::ZERO);
                    let at = key_now.saturating_add(wait);
                    let passes = |now| policy.check(state.clone(), now, call.cost).decision.is_allowed();
                    prop_assert!(passes(at));
                    prop_assert!(!passes(at.saturating_sub(MICRO)));
                }
            }
            // The expiry too: from then on the state is as new, and not 1 µs before.
            prop_assert_eq!(transition.expiry, key_now.saturating_add(transition.decision.reset_after()));
            prop_assert!(policy.is_as_new(&state, transition.expiry));
            if transition.decision.reset_after() > Duration::ZERO {
                prop_assert!(!policy.is_as_new(&state, transition.expiry.saturating_sub(MICRO)));
            }
        }
    }

    #[test]
    fn a_refusal_or_a_peek_takes_nothing_and_remaining_is_true((policy, start, calls) in history()) {
        let (mut state, mut clock) = (policy.new_state(), KeyClock::starting_at(start));
        for call in calls {
            clock.step(call.step_us);
            let before = policy.check(state.clone(), clock.host, 0).decision.remaining();
            let transition = policy.check(state.clone(), clock.host, call.cost);
            let decision = transition.decision;
            if call.cost == 0 || !decision.is_allowed() {
                let begins_lock = matches!(policy, Policy::Lockout(_)) && call.cost > 0 && transition.state != state;
                prop_assert!(transition.state == state || begins_lock);
                prop_assert!(decision.remaining() == before || begins_lock);
            } else {
                prop_assert_eq!(decision.remaining(), before - call.cost);
            }
            state = transition.state;
            let remaining = decision.remaining();
            prop_assert!(policy.check(state.clone(), clock.host, remaining).decision.is_allowed());
            prop_assert!(!policy.check(state.clone(), clock.host, remaining + 1).decision.is_allowed());
        }
    }

    #[test]
    fn a_clock_that_steps_back_makes_the_key_stand_still((policy, start, calls) in history()) {
        let (mut state, mut clock) = (policy.new_state(), KeyClock::starting_at(start));
        for call in calls {
            let key_now = clock.step(call.step_us);
            let transition = policy.check(state.clone(), clock.host, call.cost);
            prop_assert_eq!(&transition, &policy.check(state, key_now, call.cost));
            if transition.decision.is_allowed() && call.cost > 0 {
                clock.last_admitted = key_now;
            }
            state = transition.state;
        }
    }

    #[test]
    fn a_new_state_is_what_a_forgotten_one_was((policy, start, calls) in history()) {
        // Two keys with the same calls; one is forgotten whenever that may be done.
        let (mut kept, mut swept, mut now) = (policy.new_state(), policy.new_state(), start);
        for call in calls {
            now = Timestamp::from_micros(now.as_micros().saturating_add_signed(call.step_us.abs()));
            if policy.is_as_new(&swept, now) {
                swept = policy.new_state();
            }
            let [kept_next, swept_next] = [kept, swept].map(|state| policy.check(state, now, call.cost));
            prop_assert_eq!(kept_next.decision, swept_next.decision);
            (kept, swept) = (kept_next.state, swept_next.state);
        }
    }

    #[test]
    fn more_is_there_when_it_is_said((policy, start, calls) in history()) {
        let (mut state, mut clock) = (policy.new_state(), KeyClock::starting_at(start));
        for call in calls {
            let key_now = clock.step(call.step_us);
            let transition = policy.check(state, clock.host, call.cost);
            state = transition.state;
            if transition.decision.is_allowed() && call.cost > 0 {
                clock.last_admitted = key_now;
            }
            let remaining = transition.decision.remaining();
            let at = key_now.saturating_add(policy.more_after(&transition.decision));
            let later = policy.check(state.clone(), at, 0).decision.remaining();
            prop_assert!(later > remaining || remaining == policy.quota());
        }
    }

    #[test]
    fn no_input_overflows(settings in wild_settings(), others in wild_settings(), state in wild_state(), times: [u64; 4], costs: [u64; 4]) {
        let Ok(policy) = Policy::try_from(settings) else { return Ok(()) };
        let previous = Policy::try_from(others).unwrap_or(policy);
        let holder = Some(Holder([1; 16]));
        let mut state = state;
        for (time, cost) in times.into_iter().zip(costs) {
            let now = Timestamp::from_micros(time);
            for cost in [cost, cost % 3, policy.quota()] {
                let transition = policy.check_for(state, now, cost, holder);
                prop_assert!(transition.decision.remaining() <= policy.quota());
                let _ = (policy.more_after(&transition.decision), policy.is_as_new(&transition.state, now), policy.window());
                state = policy.refund(transition.state, now, cost, Timestamp::from_micros(times[0]));
                for how in [Inheritance::Keep, Inheritance::Proportional] {
                    let taken = previous.check(previous.new_state(), now, cost % 3).state;
                    let inherited = policy.inherit(&previous, taken, now, how);
                    prop_assert!(policy.check(inherited, now, 0).decision.remaining() <= policy.quota());
                    state = policy.inherit(&policy, state, now, how);
                }
            }
        }
    }

    #[test]
    fn a_policy_travels_as_its_settings(settings in wild_settings()) {
        let Ok(policy) = Policy::try_from(settings) else { return Ok(()) };
        let json = serde_json::to_string(&policy).unwrap();
        prop_assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), policy);
    }
}

/// A number of any size; often at an end.
fn wild() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), Just((1 << 53) - 1), 0..5_000_u64, any::<u64>()]
}

fn wild_settings() -> impl Strategy<Value = PolicySettings> {
    (0..10_u8, wild(), wild(), wild(), any::<bool>()).prop_map(|(algorithm, limit, other, span_us, flag)| {
        match algorithm {
            0 => PolicySettings::Gcra { burst_capacity: limit, rate: other, period_us: span_us },
            1 => PolicySettings::IntervalBucket { capacity: limit, refill: other, period_us: span_us },
            2 => PolicySettings::LeakyQueue { rate: other, period_us: span_us, max_waiting: limit },
            3 => PolicySettings::FixedWindow { limit, window_us: span_us, aligned: flag },
            4 => PolicySettings::SlidingLog { limit, window_us: span_us },
            5 => PolicySettings::SlidingTwoCounters { limit, window_us: span_us },
            6 => PolicySettings::SlidingSubWindows { limit, window_us: span_us, sub_windows: other % 70 },
            7 => PolicySettings::Lockout { max: limit, window_us: span_us, lock_us: other },
            8 => PolicySettings::Concurrency { permits: limit, life_us: span_us },
            _ => {
                let calendar = if flag { Calendar::Day } else { Calendar::Month };
                PolicySettings::LongQuota { limit, calendar, zone: "UTC".to_owned() }
            }
        }
    })
}

/// A state that no limiter would have stored: whatever a damaged store hands back.
fn wild_state() -> impl Strategy<Value = State> {
    let list = prop::collection::vec(wild(), 0..80);
    (0..9_u8, [wild(), wild(), wild()], list).prop_map(|(algorithm, [a, b, c], list)| {
        let json = match algorithm {
            0 => serde_json::json!({ "Gcra": { "debt": a, "last_admitted": b } }),
            1 => {
                serde_json::json!({ "IntervalBucket": { "missing": a, "full_until": b, "last_admitted": c } })
            }
            2 => serde_json::json!({ "FixedWindow": { "used": a, "first_admitted": b, "last_admitted": c } }),
            3 => serde_json::json!({ "SlidingLog": { "admitted": list, "last_admitted": a } }),
            4 => serde_json::json!({ "TwoCounters": { "previous": a, "current": b, "last_admitted": c } }),
            5 => serde_json::json!({ "SubWindows": { "counts": list, "last_admitted": a } }),
            6 => serde_json::json!({ "Lockout": { "used": a, "last_admitted": b, "locked_until": c } }),
            7 => serde_json::json!({ "LongQuota": { "used": a, "ends_at": b, "last_admitted": c } }),
            _ => {
                let permit =
                    |ends_at| serde_json::json!({ "holder": vec![0; 16], "cost": b, "ends_at": ends_at });
                let permits: Vec<_> = list.into_iter().map(permit).collect();
                serde_json::json!({ "Concurrency": { "permits": permits, "last_admitted": c } })
            }
        };
        serde_json::from_value(json).unwrap()
    })
}
