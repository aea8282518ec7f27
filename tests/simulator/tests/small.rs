//! A small part of every simulated sale, with a seed of its own, in seconds.

use shared::room::Planted;
use simulator::{Crowd, all, run};

/// Runs are cut down to this many buyers.
const BUYERS_MAX: u32 = 2_000;

#[test]
fn no_promise_is_broken_in_any_scenario() {
    for mut scenario in all() {
        let divisor = (scenario.buyers() / BUYERS_MAX).max(1);
        scenario.room.capacity = (scenario.room.capacity / divisor).max(1);
        scenario.room.admission_rate_per_s = scenario.room.admission_rate_per_s.div_ceil(divisor);
        let fewer = |crowd: &Crowd| Crowd { buyers: crowd.buyers.div_ceil(divisor), ..*crowd };
        scenario.crowds = scenario.crowds.iter().map(fewer).collect();
        let outcome = run(&scenario, 77, Planted::default(), |_| {});
        let name = scenario.name;
        assert!(outcome.violation.is_none(), "{name} with seed 77: {:?}", outcome.violation);
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_another() {
    let mut scenario = all().remove(0);
    scenario.crowds[0].buyers = 300;
    let samples = |seed| run(&scenario, seed, Planted::default(), |_| {}).measured.samples;
    assert_eq!(samples(5), samples(5));
    assert_ne!(samples(5), samples(6));
}
