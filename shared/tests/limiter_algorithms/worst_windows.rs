//! The most that fits in any rolling window, measured by an adversary who knows the algorithm and the clock, and held to
//! the table in `docs/algorithms.md`.

use shared::limiter::{Decision, Policy, PolicySettings};
use shared::time::Timestamp;
use std::fmt::Write;

const LIMIT: u64 = 100;
const WINDOW_US: u64 = 1_000_000;
const STEP_US: u64 = 10_000;
const WINDOWS_US: u64 = 3 * WINDOW_US;

/// Before anything the clock stands at a window's start; a day's too, for all spans here.
const START_US: u64 = 1_764_460_800_000_000;

#[test]
fn the_documented_worst_windows_are_what_the_adversary_finds() {
    let (limit, window_us) = (LIMIT, WINDOW_US);
    let half = PolicySettings::Gcra { burst_capacity: limit / 2, rate: limit / 2, period_us: window_us };
    let rows = [
        (
            "GCRA, burst = limit",
            PolicySettings::Gcra { burst_capacity: limit, rate: limit, period_us: window_us },
        ),
        ("GCRA, `at_most_in_any` (burst + rate = limit)", half),
        (
            "interval-refill bucket, refill = capacity = limit",
            PolicySettings::IntervalBucket { capacity: limit, refill: limit, period_us: window_us },
        ),
        (
            "leaky queue, as its requests go on",
            PolicySettings::LeakyQueue { rate: limit, period_us: window_us, max_waiting: limit - 1 },
        ),
        ("fixed window, aligned", PolicySettings::FixedWindow { limit, window_us, aligned: true }),
        (
            "fixed window, from the first hit",
            PolicySettings::FixedWindow { limit, window_us, aligned: false },
        ),
        ("sliding log", PolicySettings::SlidingLog { limit, window_us }),
        ("sliding window, two counters", PolicySettings::SlidingTwoCounters { limit, window_us }),
        (
            "sub-windows (10), oldest in full",
            PolicySettings::SlidingSubWindows { limit, window_us, sub_windows: 10 },
        ),
        ("lockout, no lock", PolicySettings::Lockout { max: limit, window_us, lock_us: 0 }),
        ("lockout, lock ≥ window", PolicySettings::Lockout { max: limit, window_us, lock_us: 2 * window_us }),
    ];
    let mut table = String::new();
    for (name, settings) in rows {
        let most = Adversary::new(settings).most_in_a_window();
        // Hundredths, exactly: the limit is 100.
        writeln!(table, "| {name} | {}.{:02} |", most / LIMIT, most % LIMIT).unwrap();
    }
    print!("{table}");
    let documented = include_str!("../../docs/algorithms.md");
    for row in table.lines() {
        assert!(documented.contains(row), "docs/algorithms.md lacks: {row}");
    }
}

struct Adversary {
    policy: Policy,
}

impl Adversary {
    fn new(settings: PolicySettings) -> Self {
        Self { policy: settings.try_into().unwrap() }
    }

    /// Over all plans of this form: `first` at the start, the rest of the limit later, nothing for a while, and then all
    /// that passes, each step.
    fn most_in_a_window(&self) -> u64 {
        let starts_us = [0, WINDOW_US / 2, WINDOW_US - STEP_US, WINDOW_US - 1];
        let gaps_us = [0, 1, STEP_US, WINDOW_US / 2, WINDOW_US - STEP_US, WINDOW_US - 1, WINDOW_US];
        let mut most = 0;
        for first_us in starts_us {
            for second_us in gaps_us.map(|gap_us| first_us + gap_us) {
                for third_us in gaps_us.map(|gap_us| second_us + gap_us) {
                    for first in [0, 1, LIMIT] {
                        most = most.max(self.run(first, [first_us, second_us, third_us]));
                    }
                }
            }
        }
        most
    }

    fn run(&self, first: u64, [first_us, second_us, third_us]: [u64; 3]) -> u64 {
        let mut key = Key { policy: &self.policy, state: self.policy.new_state(), went_on: Vec::new() };
        key.ask(first_us, first);
        key.ask(second_us, LIMIT - first);
        let greedy = (third_us..third_us + WINDOWS_US).step_by(usize::try_from(STEP_US).unwrap());
        for at_us in greedy {
            key.take_all(at_us);
        }
        key.most_in_a_window()
    }
}

struct Key<'a> {
    policy: &'a Policy,
    state: shared::limiter::State,
    /// When each cost went on, after the delay that it was told.
    went_on: Vec<(u64, u64)>,
}

impl Key<'_> {
    fn ask(&mut self, at_us: u64, cost: u64) {
        let now = Timestamp::from_micros(START_US + at_us);
        let transition = self.policy.check(self.state.clone(), now, cost);
        if let Decision::Allowed { delay, .. } = transition.decision
            && cost > 0
        {
            self.went_on.push((now.saturating_add(delay).as_micros(), cost));
        }
        self.state = transition.state;
    }

    /// One by one where requests are held, so that each has its own place.
    fn take_all(&mut self, at_us: u64) {
        let now = Timestamp::from_micros(START_US + at_us);
        let remaining = self.policy.check(self.state.clone(), now, 0).decision.remaining();
        if matches!(self.policy, Policy::LeakyQueue(_)) {
            (0..remaining).for_each(|_| self.ask(at_us, 1));
        } else {
            self.ask(at_us, remaining);
        }
    }

    fn most_in_a_window(&self) -> u64 {
        let inside = |start_us: u64| {
            let later = self.went_on.iter().skip_while(move |(at_us, _)| *at_us < start_us);
            later.take_while(move |(at_us, _)| *at_us < start_us + WINDOW_US).map(|(_, cost)| cost).sum()
        };
        self.went_on.iter().map(|(at_us, _)| inside(*at_us)).max().unwrap_or(0)
    }
}
