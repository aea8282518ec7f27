//! What GCRA promises for every history, exact from both sides.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;
use shared::limiter::gcra::{GcraPolicy, GcraState};
use shared::limiter::{Decision, Inheritance, PolicyError};
use shared::time::Timestamp;
use std::time::Duration;

/// Settings as they were asked for, not in lowest terms: what the models reckon with.
#[derive(Clone, Copy, Debug)]
struct Asked {
    burst: u64,
    rate: u64,
    period_us: u64,
}

/// One call: the clock moves by `step_us`, back too, then `cost` is asked.
#[derive(Clone, Copy, Debug)]
struct Call {
    step_us: i64,
    cost: u64,
}

#[derive(Clone, Copy, Debug)]
struct Admitted {
    at_us: u64,
    cost: u64,
}

impl Asked {
    fn policy(self) -> GcraPolicy {
        GcraPolicy::new(self.burst, self.rate, Duration::from_micros(self.period_us)).unwrap()
    }

    /// Whether `cost` in an interval of `t_us` keeps `burst + rate * t`.
    fn admits(self, cost: u128, t_us: u64) -> bool {
        let units = u128::from(self.period_us);
        cost * units <= u128::from(self.burst) * units + u128::from(self.rate) * u128::from(t_us)
    }

    fn assert_bound(self, admitted: &[Admitted]) {
        for (first, start) in admitted.iter().enumerate() {
            let mut cost = 0;
            for end in &admitted[first..] {
                cost += u128::from(end.cost);
                assert!(self.admits(cost, end.at_us - start.at_us), "{cost} from {start:?} to {end:?}");
            }
        }
    }
}

fn asked() -> impl Strategy<Value = Asked> {
    let period_us =
        prop_oneof![Just(1), Just(1_000), Just(1_000_000), Just(86_400_000_000), 1..5_000_000_u64];
    (1..30_u64, prop_oneof![1..20_u64, 1..3_000_000_u64], period_us)
        .prop_map(|(burst, rate, period_us)| Asked { burst, rate, period_us })
}

/// Calls around the time scale of `asked`: most within a few units, one in eight back in time.
fn calls(asked: Asked) -> impl Strategy<Value = Vec<Call>> {
    let unit_us = i64::try_from(asked.period_us / asked.rate + 2).unwrap();
    let step_us = prop_oneof![
        3 => Just(0),
        3 => 0..unit_us * 2,
        1 => 0..unit_us * 40,
        1 => -unit_us * 20..0,
    ];
    let call = (step_us, 0..asked.burst + 3).prop_map(|(step_us, cost)| Call { step_us, cost });
    prop::collection::vec(call, 1..80)
}

fn history() -> impl Strategy<Value = (Asked, Vec<Call>)> {
    asked().prop_flat_map(|asked| (Just(asked), calls(asked)))
}

fn start() -> Timestamp {
    Timestamp::from_micros(1_764_480_000_000_000)
}

fn moved(now: Timestamp, step_us: i64) -> Timestamp {
    Timestamp::from_micros(now.as_micros().saturating_add_signed(step_us))
}

/// The textbook's form: one arrival time, in microseconds times `rate`, in 128 bits, nothing reduced.
#[derive(Default)]
struct TextbookModel {
    arrival: u128,
    last_us: u64,
}

impl TextbookModel {
    fn check(&mut self, asked: Asked, now: Timestamp, cost: u64) -> Decision {
        let now_us = now.as_micros().max(self.last_us);
        let [rate, period_us, burst] = [asked.rate, asked.period_us, asked.burst].map(u128::from);
        let scaled_now = u128::from(now_us) * rate;
        let arrival = self.arrival.max(scaled_now) + u128::from(cost) * period_us;
        let limit = scaled_now + burst * period_us;
        let allowed = arrival <= limit;
        if allowed && cost > 0 {
            (self.arrival, self.last_us) = (arrival, now_us);
        }
        let standing = self.arrival.max(scaled_now);
        let span = |scaled: u128| Duration::from_micros(u64::try_from(scaled.div_ceil(rate)).unwrap());
        let remaining = u64::try_from((limit - standing) / period_us).unwrap();
        let reset_after = span(standing - scaled_now);
        if allowed {
            return Decision::Allowed { remaining, reset_after, delay: Duration::ZERO };
        }
        let retry_after = (cost <= asked.burst).then(|| span(arrival - limit));
        Decision::Denied { remaining, retry_after, reset_after }
    }
}

proptest! {
    #[test]
    fn equals_the_textbook_in_exact_fractions((asked, calls) in history()) {
        let (policy, mut state, mut model) = (asked.policy(), GcraState::NEW, TextbookModel::default());
        let mut now = start();
        for call in calls {
            now = moved(now, call.step_us);
            let transition = policy.check(state, now, call.cost);
            prop_assert_eq!(transition.decision, model.check(asked, now, call.cost));
            state = transition.state;
        }
    }

    #[test]
    fn admits_at_most_burst_and_rate_in_every_interval((asked, calls) in history()) {
        let (policy, mut state, mut now) = (asked.policy(), GcraState::NEW, start());
        let mut admitted: Vec<Admitted> = Vec::new();
        for call in calls {
            now = moved(now, call.step_us);
            let transition = policy.check(state, now, call.cost);
            state = transition.state;
            if transition.decision.is_allowed() && call.cost > 0 {
                // The key's own time stands still while the clock is behind its last admission.
                let at_us = admitted.last().map_or(0, |last| last.at_us).max(now.as_micros());
                admitted.push(Admitted { at_us, cost: call.cost });
            }
        }
        asked.assert_bound(&admitted);
    }

    #[test]
    fn what_is_not_refunded_keeps_the_bound((asked, calls) in history(), refunds in prop::collection::vec(any::<prop::sample::Index>(), 80)) {
        let (policy, mut state, mut now) = (asked.policy(), GcraState::NEW, start());
        let mut kept: Vec<Admitted> = Vec::new();
        for (call, refund) in calls.into_iter().zip(refunds) {
            now = moved(now, call.step_us);
            if call.cost % 3 == 0 && !kept.is_empty() {
                let returned = kept.remove(refund.index(kept.len()));
                state = policy.refund(state, now, returned.cost, Timestamp::from_micros(returned.at_us));
                continue;
            }
            let transition = policy.check(state, now, call.cost);
            if transition.decision.is_allowed() && call.cost > 0 {
                let at_us = transition.expiry.as_micros() - u64::try_from(transition.decision.reset_after().as_micros()).unwrap();
                kept.push(Admitted { at_us, cost: call.cost });
            }
            state = transition.state;
        }
        asked.assert_bound(&kept);
    }

    #[test]
    fn a_wait_is_exact_from_both_sides((asked, calls) in history()) {
        let (policy, mut state, mut now, mut last) = (asked.policy(), GcraState::NEW, start(), Timestamp::default());
        for call in calls {
            now = moved(now, call.step_us);
            let transition = policy.check(state, now, call.cost);
            match transition.decision {
                Decision::Allowed { .. } if call.cost > 0 => last = last.max(now),
                Decision::Allowed { .. } => {}
                Decision::Denied { retry_after: None, .. } => prop_assert!(call.cost > asked.burst),
                Decision::Denied { retry_after: Some(wait), .. } => {
                    let at = now.max(last).saturating_add(wait);
                    let before = at.saturating_sub(Duration::from_micros(1));
                    prop_assert!(wait > Duration::ZERO);
                    prop_assert!(policy.check(state, at, call.cost).decision.is_allowed());
                    prop_assert!(!policy.check(state, before, call.cost).decision.is_allowed());
                }
            }
            // The expiry too: from then on the state is as new, and not 1 µs before.
            let expiry = transition.expiry;
            state = transition.state;
            prop_assert!(policy.is_as_new(state, expiry));
            if transition.decision.reset_after() > Duration::ZERO {
                prop_assert!(!policy.is_as_new(state, expiry.saturating_sub(Duration::from_micros(1))));
            }
        }
    }

    #[test]
    fn a_refusal_or_a_peek_takes_nothing_and_remaining_is_true((asked, calls) in history()) {
        let (policy, mut state, mut now) = (asked.policy(), GcraState::NEW, start());
        for call in calls {
            now = moved(now, call.step_us);
            let transition = policy.check(state, now, call.cost);
            if call.cost == 0 || !transition.decision.is_allowed() {
                prop_assert_eq!(transition.state, state);
            }
            state = transition.state;
            let remaining = transition.decision.remaining();
            prop_assert!(policy.check(state, now, remaining).decision.is_allowed());
            prop_assert!(!policy.check(state, now, remaining + 1).decision.is_allowed());
        }
    }

    #[test]
    fn more_comes_when_it_is_said((asked, calls) in history()) {
        let (policy, mut state, mut now, mut last) = (asked.policy(), GcraState::NEW, start(), Timestamp::default());
        for call in calls {
            now = moved(now, call.step_us);
            let transition = policy.check(state, now, call.cost);
            state = transition.state;
            if transition.decision.is_allowed() && call.cost > 0 {
                last = last.max(now);
            }
            let remaining = transition.decision.remaining();
            let wait = policy.more_after(&transition.decision);
            if remaining == asked.burst {
                prop_assert_eq!(wait, Duration::ZERO);
                continue;
            }
            let at = now.max(last).saturating_add(wait);
            let before = at.saturating_sub(Duration::from_micros(2));
            prop_assert!(policy.check(state, at, 0).decision.remaining() > remaining);
            prop_assert!(before < now.max(last) || policy.check(state, before, 0).decision.remaining() <= remaining);
        }
    }

    #[test]
    fn a_new_policy_inherits_what_is_in_use(old in asked(), new in asked(), cost in 1..30_u64) {
        let taken = old.policy().check(GcraState::NEW, start(), cost.min(old.burst));
        let (used, new_policy) = (cost.min(old.burst), new.policy());
        let state = new_policy.inherit(&old.policy(), taken.state, start(), Inheritance::Keep);
        prop_assert_eq!(new_policy.check(state, start(), 0).decision.remaining(), new.burst.saturating_sub(used));
        prop_assert_eq!(old.policy().inherit(&old.policy(), taken.state, start(), Inheritance::Keep), taken.state);
    }

    #[test]
    fn no_input_overflows(burst: u64, rate: u64, period_us: u64, debt: u64, times: [u64; 3], costs: [u64; 3]) {
        let Ok(policy) = GcraPolicy::new(burst, rate, Duration::from_micros(period_us)) else { return Ok(()) };
        let stored = serde_json::json!({ "debt": debt, "last_admitted": times[0] });
        let mut state: GcraState = serde_json::from_value(stored).unwrap();
        for (time, cost) in times.into_iter().zip(costs) {
            let now = Timestamp::from_micros(time);
            let transition = policy.check(state, now, cost);
            state = policy.refund(transition.state, now, cost, start());
            state = policy.inherit(&policy, state, now, Inheritance::Proportional);
            let _ = (policy.more_after(&transition.decision), policy.is_as_new(state, now), policy.window());
            prop_assert!(transition.decision.remaining() <= burst);
        }
    }

    #[test]
    fn at_most_the_limit_in_any_window(limit in 2..60_u64, share in 1..60_u64, steps in prop::collection::vec(0..400_000_i64, 200)) {
        let (window_us, burst) = (1_000_000, share.min(limit - 1));
        let policy = GcraPolicy::at_most_in_any(limit, Duration::from_micros(window_us), burst).unwrap();
        let (mut state, mut now, mut admitted) = (GcraState::NEW, start(), Vec::new());
        for step in steps {
            now = moved(now, step);
            for _ in 0..limit {
                let transition = policy.check(state, now, 1);
                state = transition.state;
                if transition.decision.is_allowed() {
                    admitted.push(now.as_micros());
                }
            }
        }
        for (first, from) in admitted.iter().enumerate() {
            let inside = admitted[first..].iter().take_while(|at| *at - from <= window_us).count();
            prop_assert!(u64::try_from(inside).unwrap() <= limit);
        }
    }
}

#[test]
fn a_million_steps_end_where_the_closed_form_does() {
    let asked = Asked { burst: 3, rate: 34_861, period_us: 86_400_000_000 };
    let (policy, mut state, mut now, mut admitted) = (asked.policy(), GcraState::NEW, start(), 0_u64);
    for _ in 0..1_000_000 {
        now = moved(now, 1_237_003);
        while policy.check(state, now, 1).decision.is_allowed() {
            state = policy.check(state, now, 1).state;
            admitted += 1;
        }
    }
    let elapsed_us = u128::from(1_237_003_u64) * 999_999;
    let closed_form = 3 + elapsed_us * 34_861 / 86_400_000_000;
    assert_eq!(u128::from(admitted), closed_form);
}

#[test]
fn settings_that_cannot_be_exact_are_refused() {
    let policy = |burst, rate, period| GcraPolicy::new(burst, rate, period).map(|_| ());
    let check =
        |settings: (u64, u64, Duration), want| assert_eq!(policy(settings.0, settings.1, settings.2), want);
    let day = Duration::from_hours(24);
    check((1, 1, Duration::ZERO), Err(PolicyError::PeriodNotWholeMicros));
    check((1, 1, Duration::from_nanos(1_500)), Err(PolicyError::PeriodNotWholeMicros));
    check((1, 1, Duration::MAX), Err(PolicyError::PeriodNotWholeMicros));
    check((1, 1, Duration::from_micros(Timestamp::MAX.as_micros())), Ok(()));
    check((1, 1, Duration::from_micros(Timestamp::MAX.as_micros() + 1)), Err(PolicyError::PeriodTooLong));
    // 2^64 - 1 parts fit, with p = 86,400,000,000 parts a unit; one unit more does not.
    let most = u64::MAX / 86_400_000_000;
    check((most, 1_000_003, day), Ok(()));
    check((most + 1, 1_000_003, day), Err(PolicyError::BeyondResolution));
    check((u64::MAX, u64::MAX, Duration::from_micros(1)), Ok(()));
    let at_most = |limit, burst| GcraPolicy::at_most_in_any(limit, day, burst).map(|_| ());
    assert_eq!(at_most(10, 10), Err(PolicyError::BurstFillsLimit));
    assert_eq!(at_most(10, 0), Err(PolicyError::BurstFillsLimit));
    assert_eq!(at_most(10, 9), Ok(()));
}

#[test]
fn equal_rates_are_one_policy_and_travel_as_settings() {
    let a = GcraPolicy::new(10, 700_000_000, Duration::from_secs(1)).unwrap();
    let b = GcraPolicy::new(10, 700, Duration::from_micros(1)).unwrap();
    assert_eq!(a, b);
    let json = serde_json::to_string(&a).unwrap();
    assert_eq!(json, r#"{"burst_capacity":10,"rate":700,"period_us":1}"#);
    assert_eq!(serde_json::from_str::<GcraPolicy>(&json).unwrap(), a);
    assert!(serde_json::from_str::<GcraPolicy>(r#"{"burst_capacity":10,"rate":1,"period_us":0}"#).is_err());
    assert_eq!(size_of::<GcraState>(), 16);
}
