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
    if let Some(server) = &mut scenario.server {
        server.settings.capacity_max /= divisor;
        server.safe_sessions /= divisor;
        server.requests_per_session_s *= f64::from(divisor);
    }
    scenario
}

fn is_found(fault: Fault, scenario: &Scenario) -> bool {
    let outcome = run(scenario, 1, Planted::fault(fault), |_| {});
    let report = Report::new(scenario, &[(1, outcome)]);
    println!("{fault:?}: {report}");
    !report.passed()
}

#[test]
fn every_fault_is_found_and_nothing_is_found_without_one() {
    for fault in Fault::ALL {
        let scenario = match fault {
            // Where hardly anybody is expected, silence says nothing.
            Fault::NeverStops => small("network_away", 3),
            Fault::WeightsForgotten => small("lanes", 4),
            Fault::BoundsForgotten => small("lane_bounds", 4),
            Fault::AbsentWaitedFor => small("ghosts", 1),
            Fault::ServerUnheeded => small("server_halves", 4),
            Fault::TurnsRunOut => small("short_turns", 10),
            _ => small("no_shows_60", 10),
        };
        let sound = Report::new(&scenario, &[(1, run(&scenario, 1, Planted::default(), |_| {}))]);
        assert!(sound.passed(), "without a fault: {sound}");
        assert!(is_found(fault, &scenario), "{fault:?} was not found in {}", scenario.name);
    }
}
