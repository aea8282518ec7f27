//! Every planted fault is found, by an invariant or by a figure that misses its mark. Needs the feature `plant`.

#![cfg(feature = "plant")]

use shared::room::{Fault, Planted};
use simulator::{Crowd, Report, Scenario, all, run};

/// A scenario with fewer people in a smaller shop.
fn small(name: &str, divisor: u32) -> Scenario {
    let mut scenario = all().into_iter().find(|scenario| scenario.name == name).expect("a scenario's name");
    scenario.room.capacity /= divisor;
    scenario.room.admission_rate_per_s /= divisor;
    let fewer = |crowd: &Crowd| Crowd { buyers: crowd.buyers / divisor, ..*crowd };
    scenario.crowds = scenario.crowds.iter().map(fewer).collect();
    scenario
}

fn is_found(fault: Fault, name: &str) -> bool {
    let scenario = small(name, 10);
    let outcome = run(&scenario, 1, Planted::fault(fault), |_| {});
    let report = Report::new(&scenario, &[(1, outcome)]);
    println!("{fault:?}: {report}");
    !report.passed()
}

#[test]
fn every_fault_is_found_and_nothing_is_found_without_one() {
    for fault in Fault::ALL {
        let name = match fault {
            Fault::NeverStops => "network_away",
            Fault::WeightsForgotten => "lanes",
            Fault::TurnsRunOut => "like_stays",
            _ => "no_shows_60",
        };
        let scenario = small(name, 10);
        let sound = Report::new(&scenario, &[(1, run(&scenario, 1, Planted::default(), |_| {}))]);
        assert!(sound.passed(), "without a fault: {sound}");
        assert!(is_found(fault, name), "{fault:?} was not found in {name}");
    }
}
