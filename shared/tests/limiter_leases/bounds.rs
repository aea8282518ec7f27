//! What many nodes and their home let pass together.

use crate::world::{START_US, World, gcra, key, passes, window};
use proptest::prelude::*;
use shared::limiter::check::Charge;
use shared::limiter::lease::{HOT_COST, LEASE_LIFE, LeaseBook};
use shared::limiter::{Cost, Policy};
use shared::time::micros;

#[derive(Clone, Copy, Debug)]
enum Event {
    Wait(u64),
    Ask { node: usize, cost: Cost, way_us: u64 },
    Crash(usize),
    StepClock { node: usize, step_us: i64 },
}

/// Mostly bursts of requests, so that keys become hot.
fn events(step_us_max: i64) -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        2 => prop_oneof![0..2_000_u64, 0..300_000_u64, 900_000..1_100_000_u64].prop_map(Event::Wait),
        10 => (0..3_usize, 1..5_u64, prop_oneof![Just(0), 0..20_000_u64])
            .prop_map(|(node, cost, way_us)| Event::Ask { node, cost, way_us }),
        1 => (0..3_usize).prop_map(Event::Crash),
        1 => (0..3_usize, -step_us_max..=step_us_max)
            .prop_map(|(node, step_us)| Event::StepClock { node, step_us }),
    ];
    prop::collection::vec(event, 1..200)
}

fn run(policy: Policy, events: &[Event]) -> World {
    let mut world = World::new(3);
    for event in events {
        match *event {
            Event::Wait(micros) => world.now_us += micros,
            Event::Ask { node, cost, way_us } => {
                world.ask(node, &[Charge::new(policy, key(0), cost)], way_us);
            }
            Event::Crash(node) => world.nodes[node].book = LeaseBook::default(),
            Event::StepClock { node, step_us } => world.nodes[node].clock_offset_us += step_us,
        }
    }
    world
}

/// The most that passed beyond `burst + rate * t`, over all intervals `t`, in cost times `period_us`; how late a unit was
/// used at most follows from it.
fn excess_parts(world: &World, burst: Cost, rate: u64, period_us: u64) -> u128 {
    let mut most = 0;
    for (index, (start, _)) in world.passed.iter().enumerate() {
        let mut cost = 0_u128;
        for (end, taken) in &world.passed[index..] {
            cost += u128::from(*taken);
            let allowed =
                u128::from(burst) * u128::from(period_us) + u128::from(rate) * u128::from(end - start);
            most = most.max((cost * u128::from(period_us)).saturating_sub(allowed));
        }
    }
    most
}

proptest! {
    /// `burst_capacity + rate * (t + life)`, whatever nodes vanish, and however long calls take.
    #[test]
    fn all_nodes_together_keep_the_bound(
        burst in 1..200_u64,
        rate in 1..200_u64,
        period_us in prop_oneof![Just(1_000_000_u64), 1..3_000_000_u64],
        events in events(0),
    ) {
        let world = run(gcra(burst, rate, period_us), &events);
        let life = u128::from(rate) * u128::from(micros(LEASE_LIFE));
        prop_assert!(excess_parts(&world, burst, rate, period_us) <= life);
    }

    /// A clock that steps lengthens a lease by the steps that nobody saw, at most.
    #[test]
    fn a_stepping_clock_adds_its_step(
        burst in 1..200_u64,
        rate in 1..200_u64,
        events in events(400_000),
    ) {
        let period_us = 1_000_000;
        let world = run(gcra(burst, rate, period_us), &events);
        let back_us: u64 = events.iter().map(|event| match event {
            Event::StepClock { step_us, .. } if *step_us < 0 => step_us.unsigned_abs(),
            _ => 0,
        }).sum();
        let life = u128::from(rate) * u128::from(micros(LEASE_LIFE) + back_us);
        prop_assert!(excess_parts(&world, burst, rate, period_us) <= life);
    }

    /// A lease carries its window: no aligned window ever passes more than its limit.
    #[test]
    fn no_lease_outlives_its_window(
        limit in 1..200_u64,
        window_us in prop_oneof![Just(1_000_000_u64), 1_000..2_000_000_u64],
        events in events(0),
    ) {
        let world = run(window(limit, window_us), &events);
        let mut used = std::collections::BTreeMap::<u64, Cost>::new();
        for (passed_at, cost) in &world.passed {
            *used.entry((START_US + passed_at) / window_us).or_default() += cost;
        }
        prop_assert!(used.values().all(|used| *used <= limit), "{used:?}");
    }
}

#[test]
fn a_hot_key_asks_its_home_a_few_times_a_second() {
    let mut world = World::new(1);
    let charges = [Charge::new(gcra(2_000, 2_000, 1_000_000), key(0), 1)];
    for _ in 0..3_000 {
        world.now_us += 1_000;
        assert!(passes(&world.ask(0, &charges, 0)));
    }
    assert_eq!(world.total(), 3_000);
    // Eight calls until the key is hot, then leases that grow with the demand, then one a second.
    assert!(world.calls <= 25, "{} calls", world.calls);
}

#[test]
fn a_key_that_is_not_hot_is_asked_each_time_and_exact() {
    let mut world = World::new(2);
    let charges = [Charge::new(gcra(10, 1, 1_000_000), key(0), 1)];
    for nth in 0..HOT_COST - 1 {
        assert!(passes(&world.ask(0, &charges, 0)), "{nth}");
    }
    assert_eq!(world.calls, usize::try_from(HOT_COST - 1).unwrap());
    let left: Vec<bool> = (0..5).map(|_| passes(&world.ask(1, &charges, 0))).collect();
    assert_eq!(left, [true, true, true, false, false], "the other node finds all that is left");
}

#[test]
fn one_node_alone_uses_all_of_a_quota_and_no_more() {
    let mut world = World::new(1);
    let charges = [Charge::new(gcra(100, 1, 1_000_000), key(0), 1)];
    let passed = (0..300).filter(|_| passes(&world.ask(0, &charges, 0))).count();
    assert_eq!(passed, 100);
}

#[test]
fn shop_and_sku_are_taken_together_or_not_at_all() {
    let mut world = World::new(1);
    let shop = Charge::new(gcra(1_000, 1, 1_000_000), key(1), 1);
    let sku = Charge::new(gcra(20, 1, 1_000_000), key(2), 1);
    let passed = (0..50).filter(|_| passes(&world.ask(0, &[shop, sku], 0))).count();
    assert_eq!(passed, 20);
    // What the refused ones would have taken of the shop is still there: in the table or in the lease.
    let left = (0..1_100).filter(|_| passes(&world.ask(0, &[shop], 0))).count();
    assert_eq!(left, 980);
}

#[test]
fn what_is_left_of_a_lease_goes_back() {
    let mut world = World::new(1);
    let charges = [Charge::new(gcra(1_000, 1, 3_600_000_000), key(0), 1)];
    for _ in 0..10 {
        world.ask(0, &charges, 0);
    }
    world.now_us += 2_000_000;
    let decision = world.ask(0, &charges, 0)[0];
    assert_eq!(decision.remaining(), 1_000 - 11, "nothing of the lease was lost");
}
