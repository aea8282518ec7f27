//! Each algorithm against its definition, applied to the whole list of what was ever admitted.

use super::histories::{Admitted, KeyClock, history};
use proptest::prelude::*;
use shared::limiter::{Cost, Policy, PolicySettings};
use shared::time::Timestamp;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_key_is_admitted_what_the_definition_says((policy, start, calls) in history()) {
        let (mut state, mut clock) = (policy.new_state(), KeyClock::starting_at(start));
        let mut model = Model { settings: policy.into(), admitted: Vec::new(), locked_until: 0 };
        for call in calls {
            let key_now = clock.step(call.step_us);
            let transition = policy.check(state, clock.host, call.cost);
            let passes = model.ask(key_now, call.cost);
            prop_assert_eq!(transition.decision.is_allowed(), passes, "{:?} at {:?} of {:?}", call, key_now, model);
            if passes && call.cost > 0 {
                clock.last_admitted = key_now;
            }
            state = transition.state;
        }
    }
}

#[derive(Debug)]
struct Model {
    settings: PolicySettings,
    admitted: Vec<Admitted>,
    locked_until: u64,
}

impl Model {
    fn ask(&mut self, now: Timestamp, cost: Cost) -> bool {
        let fits = cost == 0 || self.fits(now.as_micros(), cost);
        if fits && cost > 0 {
            self.admitted.push(Admitted { at: now, cost });
        }
        fits
    }

    fn fits(&mut self, now: u64, cost: Cost) -> bool {
        match self.settings.clone() {
            PolicySettings::Gcra { burst_capacity, rate, period_us } => {
                self.backlog(now, rate, period_us) + scaled(cost, period_us)
                    <= scaled(burst_capacity, period_us)
            }
            PolicySettings::LeakyQueue { rate, period_us, max_waiting } => {
                self.backlog(now, rate, period_us) + scaled(cost, period_us)
                    <= scaled(max_waiting + 1, period_us)
            }
            PolicySettings::IntervalBucket { capacity, refill, period_us } => {
                self.missing(now, refill, period_us) + cost <= capacity
            }
            PolicySettings::FixedWindow { limit, window_us, aligned: true } => {
                self.sum(|at| at / window_us == now / window_us) + cost <= limit
            }
            PolicySettings::FixedWindow { limit, window_us, aligned: false } => {
                self.first_hit(now, window_us) + cost <= limit
            }
            PolicySettings::SlidingLog { limit, window_us } => {
                self.sum(|at| at + window_us > now) + cost <= limit
            }
            PolicySettings::SlidingTwoCounters { limit, window_us } => {
                let current = self.sum(|at| at / window_us == now / window_us);
                let previous = self.sum(|at| at / window_us + 1 == now / window_us);
                let inside_us = window_us - now % window_us;
                scaled(previous, inside_us) + scaled(current + cost, window_us) <= scaled(limit, window_us)
            }
            PolicySettings::SlidingSubWindows { limit, window_us, sub_windows } => {
                let index = |at: u64| at * sub_windows / window_us;
                self.sum(|at| index(at) + sub_windows >= index(now)) + cost <= limit
            }
            PolicySettings::Lockout { max, window_us, lock_us } => {
                self.lockout(now, cost, max, window_us, lock_us)
            }
            PolicySettings::LongQuota { limit, calendar, .. } => {
                let same = |at: u64| period_of(at, calendar) == period_of(now, calendar);
                self.sum(same) + cost <= limit
            }
            PolicySettings::Concurrency { .. } => false,
        }
    }

    fn sum(&self, counts: impl Fn(u64) -> bool) -> Cost {
        self.admitted
            .iter()
            .filter(|admitted| counts(admitted.at.as_micros()))
            .map(|admitted| admitted.cost)
            .sum()
    }

    /// Parts that have not leaked, `period_us` of them a unit.
    fn backlog(&self, now: u64, rate: u64, period_us: u64) -> u128 {
        let (mut backlog, mut at) = (0, 0);
        for admitted in &self.admitted {
            let then = admitted.at.as_micros();
            backlog =
                u128::saturating_sub(backlog, scaled(rate, then - at)) + scaled(admitted.cost, period_us);
            at = then;
        }
        backlog.saturating_sub(scaled(rate, now - at))
    }

    /// Second by second, so to say: every refill of the key since its bucket was last full.
    fn missing(&self, now: u64, refill: u64, period_us: u64) -> Cost {
        let (mut missing, mut next_refill) = (0, 0);
        let mut calls =
            self.admitted.iter().map(|admitted| (admitted.at.as_micros(), admitted.cost)).collect::<Vec<_>>();
        calls.push((now, 0));
        for (at, cost) in calls {
            while missing > 0 && next_refill <= at {
                missing = Cost::saturating_sub(missing, refill);
                next_refill += period_us;
            }
            if missing == 0 {
                next_refill = at + period_us;
            }
            missing += cost;
        }
        missing
    }

    fn first_hit(&self, now: u64, window_us: u64) -> Cost {
        let (mut used, mut ends) = (0, 0);
        for admitted in &self.admitted {
            let at = admitted.at.as_micros();
            if at >= ends {
                (used, ends) = (0, at + window_us);
            }
            used += admitted.cost;
        }
        if now < ends { used } else { 0 }
    }

    fn lockout(&mut self, now: u64, cost: Cost, max: Cost, window_us: u64, lock_us: u64) -> bool {
        if cost > max || now < self.locked_until {
            return false;
        }
        let counted_from = self.locked_until;
        let fits = self.sum(|at| at / window_us == now / window_us && at >= counted_from) + cost <= max;
        if !fits && lock_us > 0 {
            self.locked_until = now + lock_us;
        }
        fits
    }
}

fn scaled(count: u64, weight: u64) -> u128 {
    u128::from(count) * u128::from(weight)
}

/// Year, month and, where that is the period, day: counted up from 1970, a month at a time.
fn period_of(at_us: u64, calendar: shared::limiter::calendar::Calendar) -> (u64, u64, u64) {
    let mut day = at_us / 86_400_000_000;
    let (mut year, mut month) = (1970_u64, 1);
    loop {
        let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = match month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        if day < days {
            break;
        }
        day -= days;
        month += 1;
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
    }
    match calendar {
        shared::limiter::calendar::Calendar::Day => (year, month, day),
        shared::limiter::calendar::Calendar::Month => (year, month, 0),
    }
}

/// The policy is named in a failure by its settings, so that it can be typed in again.
#[test]
fn settings_name_the_policy() {
    let settings = PolicySettings::SlidingLog { limit: 3, window_us: 1_000 };
    let policy = Policy::try_from(settings.clone()).unwrap();
    assert_eq!(PolicySettings::from(policy), settings);
}
