//! Many runs on all cores, with a sign of life every few seconds.

use shared::room::Planted;
use simulator::{Outcome, Pulse, Scenario, run};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Runs every scenario with every seed; the outcomes come in the order of scenarios and seeds.
pub(crate) fn run_all(scenarios: &[Scenario], seeds: &[u64], planted: Planted) -> Vec<Vec<(u64, Outcome)>> {
    let jobs: Vec<(usize, u64)> =
        (0..scenarios.len()).flat_map(|index| seeds.iter().map(move |&seed| (index, seed))).collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(jobs.len()));
    let life = Life { every: SIGN_EVERY, last: Mutex::new(Instant::now()), jobs: jobs.len() };
    let work = || {
        while let Some((job, &(index, seed))) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|job| Some((job, jobs.get(job)?)))
        {
            let scenario = &scenarios[index];
            let outcome = run(scenario, seed, planted, |pulse| life.beat(job, scenario, seed, pulse));
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, seed, outcome));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    let mut outcomes: Vec<Vec<(u64, Outcome)>> = scenarios.iter().map(|_| Vec::new()).collect();
    for (index, seed, outcome) in done.into_inner().unwrap_or_else(PoisonError::into_inner) {
        outcomes[index].push((seed, outcome));
    }
    for of_scenario in &mut outcomes {
        of_scenario.sort_by_key(|(seed, _)| *seed);
    }
    outcomes
}

/// Tells how far the runs are.
struct Life {
    every: Duration,
    last: Mutex<Instant>,
    jobs: usize,
}

impl Life {
    fn beat(&self, job: usize, scenario: &Scenario, seed: u64, pulse: Pulse) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() < self.every {
            return;
        }
        *last = Instant::now();
        let Pulse { at_s, done, present } = pulse;
        let (name, jobs) = (scenario.name, self.jobs);
        eprintln!(
            "    run {} of {jobs}: {name}, seed {seed}, second {at_s}, {done} of {present} buyers",
            job + 1
        );
    }
}

const SIGN_EVERY: Duration = Duration::from_secs(3);
