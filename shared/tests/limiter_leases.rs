//! Quota leases: many nodes, one home, and what all of them together let pass.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;
use shared::limiter::check::{Charge, CheckRequest};
use shared::limiter::concurrency::Holder;
use shared::limiter::home::{ASKS_MAX, Ask, Give, HomeReply, HomeRequest, InvalidCall, Keeping, REFUNDS_MAX};
use shared::limiter::key::{Key, KeyHash, TableSeed};
use shared::limiter::lease::{
    Grant, HOT_COST, LEASE_COST_MAX, LEASE_LIFE, LEASED_KEYS_MAX, LeaseBook, PAUSE, Refund,
};
use shared::limiter::table::LimiterTable;
use shared::limiter::{Cost, Decision, Policy, PolicySettings};
use shared::time::{Timestamp, micros};
use std::time::Duration;

const SEED: TableSeed = TableSeed([7; 16]);

/// A round minute, far from 1970.
const START_US: u64 = 1_764_480_000_000_000;

fn key(nth: usize) -> KeyHash {
    Key { service: "alpha", action: "shop", identity: &nth.to_be_bytes() }.hash().unwrap()
}

fn gcra(burst_capacity: Cost, rate: u64, period_us: u64) -> Policy {
    PolicySettings::Gcra { burst_capacity, rate, period_us }.try_into().unwrap()
}

fn window(limit: Cost, window_us: u64) -> Policy {
    PolicySettings::FixedWindow { limit, window_us, aligned: true }.try_into().unwrap()
}

fn at(micros: u64) -> Timestamp {
    Timestamp::from_micros(START_US + micros)
}

/// One home and its nodes, on one real time; each node has a clock of its own.
struct World {
    now_us: u64,
    table: LimiterTable,
    nodes: Vec<Node>,
    /// When so much passed, by real time.
    passed: Vec<(u64, Cost)>,
    calls: usize,
}

#[derive(Default)]
struct Node {
    book: LeaseBook,
    clock_offset_us: i64,
}

impl Node {
    fn clock(&self, now_us: u64) -> Timestamp {
        Timestamp::from_micros((START_US + now_us).saturating_add_signed(self.clock_offset_us))
    }
}

impl World {
    fn new(nodes: usize) -> Self {
        let nodes = (0..nodes).map(|_| Node::default()).collect();
        Self { now_us: 0, table: LimiterTable::new(64, SEED), nodes, passed: Vec::new(), calls: 0 }
    }

    /// What a node does with one request, as the Worker does it; the way to the home and back takes `way_us` each.
    fn ask(&mut self, node: usize, charges: &[Charge], way_us: u64) -> Vec<Decision> {
        let asked_at = self.nodes[node].clock(self.now_us);
        let book = &mut self.nodes[node].book;
        book.note(charges, asked_at);
        if let Some(taken) = book.take(charges, asked_at) {
            return self.noted(charges, taken.decisions);
        }
        self.calls += 1;
        let refunds = book.returns(asked_at, REFUNDS_MAX);
        let wanted = book.wanted(charges, asked_at);
        let check = CheckRequest::new(charges.to_vec()).unwrap();
        let asks = vec![Ask { wanted, ..Ask::binding(check) }];
        let call = HomeRequest { refunds, asks, ..HomeRequest::default() };
        let call = HomeRequest::from_bytes(&call.to_bytes().unwrap()).unwrap();
        self.now_us += way_us;
        let reply = call.answer(&mut self.table, at(self.now_us));
        let mut reply = HomeReply::from_bytes(&reply.to_bytes().unwrap(), &call).unwrap();
        let reply = reply.answers.remove(0);
        if reply.check.refusal().is_none() {
            self.passed.push((self.now_us, charges[0].cost));
        }
        self.now_us += way_us;
        let back_at = self.nodes[node].clock(self.now_us);
        let book = &mut self.nodes[node].book;
        for (charge, grant) in charges.iter().zip(reply.grants) {
            book.hold(charge, grant, asked_at, back_at);
        }
        if reply.check.refusal().is_some()
            && let Some(taken) = book.take(charges, back_at)
        {
            return self.noted(charges, taken.decisions);
        }
        reply.check.decisions
    }

    fn noted(&mut self, charges: &[Charge], decisions: Vec<Decision>) -> Vec<Decision> {
        self.passed.push((self.now_us, charges[0].cost));
        decisions
    }

    fn total(&self) -> Cost {
        self.passed.iter().map(|(_, cost)| cost).sum()
    }
}

fn passes(decisions: &[Decision]) -> bool {
    decisions.iter().all(Decision::is_allowed)
}

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

#[test]
fn a_clock_that_steps_back_burns_the_lease() {
    let (charge, grant) = held();
    let mut book = LeaseBook::default();
    book.note(&[charge], at(5_000_000));
    book.hold(&charge, Some(grant), at(5_000_000), at(5_000_000));
    assert!(book.take(&[charge], at(5_500_000)).is_some());
    assert!(book.take(&[charge], at(5_400_000)).is_none());
    assert_eq!(book.returns(at(5_400_000), REFUNDS_MAX), [], "burned, not given back");
}

fn held() -> (Charge, Grant) {
    let charge = Charge::new(gcra(100, 100, 1_000_000), key(0), 1);
    let grant = Grant {
        cost: 10,
        taken_at: at(0),
        life: LEASE_LIFE,
        remaining: 50,
        reset_after: Duration::from_millis(500),
    };
    (charge, grant)
}

#[test]
fn a_lease_ends_to_the_microsecond_and_serves_its_own_policy_only() {
    let (charge, grant) = held();
    let mut book = LeaseBook::default();
    book.note(&[charge], at(0));
    book.hold(&charge, Some(grant), at(0), at(10));
    let taken = book.take(&[charge], at(999_999)).unwrap();
    assert_eq!((taken.decisions[0].remaining(), taken.taken_at), (50 + 9, at(0)));
    let other = Charge { policy: gcra(100, 99, 1_000_000), ..charge };
    assert!(book.take(&[other], at(999_999)).is_none());
    assert!(book.take(&[charge], at(1_000_000)).is_none());
    let returned = Refund { charge: Charge { cost: 9, ..charge }, taken_at: at(0) };
    assert_eq!(book.returns(at(1_000_000), REFUNDS_MAX), [returned]);
    assert_eq!(book.returns(at(1_000_000), REFUNDS_MAX), [], "once");
}

#[test]
fn a_lease_of_a_changed_policy_is_burned() {
    let (charge, grant) = held();
    let mut book = LeaseBook::default();
    book.note(&[charge], at(0));
    book.hold(&charge, Some(grant), at(0), at(0));
    book.note(&[Charge { policy: gcra(100, 99, 1_000_000), ..charge }], at(1));
    assert!(book.take(&[charge], at(1)).is_none());
    assert_eq!(book.returns(at(2_000_000), REFUNDS_MAX), []);
}

#[test]
fn one_call_at_a_time_asks_for_a_lease_and_a_lost_one_is_taken_over() {
    let (charge, _) = held();
    let mut book = LeaseBook::default();
    for _ in 0..HOT_COST {
        book.note(&[charge], at(0));
    }
    assert_eq!(book.wanted(&[charge], at(0)), [HOT_COST]);
    assert_eq!(book.wanted(&[charge], at(499_999)), [0]);
    assert_eq!(book.wanted(&[charge], at(500_000)), [HOT_COST]);
}

#[test]
fn a_flood_of_made_up_keys_is_not_watched_beyond_the_bound() {
    let policy = gcra(100, 100, 1_000_000);
    let charge = |nth| Charge::new(policy, key(nth), HOT_COST);
    let mut book = LeaseBook::default();
    for nth in 0..=LEASED_KEYS_MAX {
        book.note(&[charge(nth)], at(0));
    }
    assert_eq!(book.wanted(&[charge(LEASED_KEYS_MAX - 1)], at(0)), [HOT_COST]);
    assert_eq!(book.wanted(&[charge(LEASED_KEYS_MAX)], at(0)), [0], "one past the bound asks each time");
    // Two seconds later they are idle, and make room.
    book.note(&[charge(LEASED_KEYS_MAX)], at(2_000_000));
    assert_eq!(book.wanted(&[charge(LEASED_KEYS_MAX)], at(2_000_000)), [HOT_COST]);
}

#[test]
fn a_hot_key_that_was_refused_pauses() {
    let (charge, _) = held();
    let refusal = |wait| Decision::Denied { remaining: 0, retry_after: wait, reset_after: LEASE_LIFE };
    let mut book = LeaseBook::default();
    let wait = Some(Duration::from_millis(1));
    book.note(&[charge], at(0));
    assert_eq!(book.paused(&charge, refusal(wait), at(0)), refusal(wait), "a cold key is exact");
    for _ in 0..HOT_COST {
        book.note(&[charge], at(0));
    }
    assert_eq!(book.paused(&charge, refusal(wait), at(0)), refusal(Some(PAUSE)));
    assert_eq!(book.paused(&charge, refusal(None), at(0)), refusal(None));
}

#[test]
fn quota_goes_out_only_for_what_was_recorded_and_may_be_leased() {
    let grants = |policy: Policy, cost: Cost, capacity: usize| {
        let mut table = LimiterTable::new(capacity, SEED);
        let check = CheckRequest::new(vec![Charge::new(policy, key(0), cost)]).unwrap();
        let asks = vec![Ask { wanted: vec![100_000], ..Ask::binding(check) }];
        let call = HomeRequest { asks, ..HomeRequest::default() };
        call.answer(&mut table, at(0)).answers[0].grants[0].map(|grant| grant.cost)
    };
    let lockout = PolicySettings::Lockout { max: 100, window_us: 1_000_000, lock_us: 1_000_000 };
    assert_eq!(grants(gcra(101, 1, 1_000_000), 1, 8), Some(50));
    assert_eq!(grants(gcra(1_000_000, 1, 1_000_000), 1, 8), Some(LEASE_COST_MAX));
    assert_eq!(grants(gcra(1, 1, 1_000_000), 1, 8), None, "nothing is left");
    assert_eq!(grants(gcra(101, 1, 1_000_000), 0, 8), None, "a look takes nothing along");
    assert_eq!(grants(lockout.try_into().unwrap(), 1, 8), None, "a lockout counts tries");
    assert_eq!(grants(gcra(101, 1, 1_000_000), 1, 0), None, "a full table has no record of it");
}

#[test]
fn a_call_travels_only_within_its_bounds() {
    let (charge, _) = held();
    let ask = Ask::binding(CheckRequest::new(vec![charge]).unwrap());
    let check = |request: HomeRequest, is_fit: bool| assert_eq!(request.to_bytes().is_ok(), is_fit);
    let refunds = |count| vec![Refund { charge, taken_at: at(0) }; count];
    let gives = |count| vec![Give { charge, holder: Holder([1; 16]) }; count];
    check(HomeRequest { refunds: refunds(REFUNDS_MAX), ..HomeRequest::default() }, true);
    check(HomeRequest { refunds: refunds(REFUNDS_MAX + 1), ..HomeRequest::default() }, false);
    check(HomeRequest { gives: gives(REFUNDS_MAX), ..HomeRequest::default() }, true);
    check(HomeRequest { gives: gives(REFUNDS_MAX + 1), ..HomeRequest::default() }, false);
    check(HomeRequest { asks: vec![ask.clone(); ASKS_MAX], ..HomeRequest::default() }, true);
    check(HomeRequest { asks: vec![ask.clone(); ASKS_MAX + 1], ..HomeRequest::default() }, false);
    let wanting = |wanted| {
        let asks = vec![Ask { wanted, ..ask.clone() }];
        HomeRequest { asks, ..HomeRequest::default() }
    };
    check(wanting(vec![1]), true);
    check(wanting(vec![1, 1]), false);

    let bytes = wanting(vec![1]).to_bytes().unwrap();
    assert_eq!(HomeRequest::from_bytes(&bytes[1..]), Err(InvalidCall));
    // A reply to a call with other wishes is none.
    let reply = wanting(vec![]).answer(&mut LimiterTable::new(8, SEED), at(0)).to_bytes().unwrap();
    assert!(HomeReply::from_bytes(&reply, &wanting(vec![])).is_ok());
    assert_eq!(HomeReply::from_bytes(&reply, &wanting(vec![1])), Err(InvalidCall));
    assert_eq!(HomeReply::from_bytes(&reply, &HomeRequest::default()), Err(InvalidCall));
}

#[test]
fn after_a_binding_refusal_nothing_more_is_asked() {
    let ask = |nth, burst, is_binding| {
        let check = CheckRequest::new(vec![Charge::new(gcra(burst, 1, 1_000_000), key(nth), 1)]).unwrap();
        Ask { is_binding, ..Ask::binding(check) }
    };
    let mut table = LimiterTable::new(8, SEED);
    let mut allowed = |asks: Vec<Ask>| {
        let request = HomeRequest { asks, ..HomeRequest::default() };
        let reply = request.answer(&mut table, at(0));
        let reply = HomeReply::from_bytes(&reply.to_bytes().unwrap(), &request).unwrap();
        reply.answers.iter().map(|answer| answer.check.refusal().is_none()).collect::<Vec<bool>>()
    };
    assert_eq!(allowed(vec![ask(0, 1, true), ask(1, 2, false)]), [true, true]);
    assert_eq!(allowed(vec![ask(0, 1, true), ask(1, 2, false)]), [false]);
    // A shadow that would refuse holds nobody up, and what was not asked has taken nothing.
    assert_eq!(allowed(vec![ask(0, 1, false), ask(1, 2, false)]), [false, true]);
    assert_eq!(allowed(vec![ask(1, 2, false)]), [false]);
}

#[test]
fn what_goes_back_is_there_for_the_check_of_the_same_call() {
    let permits: Policy = PolicySettings::Concurrency { permits: 1, life_us: 60_000_000 }.try_into().unwrap();
    let (permit, quota) =
        (Charge::new(permits, key(0), 1), Charge::new(gcra(1, 1, 3_600_000_000), key(1), 1));
    let (first, second) = (Holder([1; 16]), Holder([2; 16]));
    let mut table = LimiterTable::new(8, SEED);
    let mut passes = |holder, refunds: Vec<Refund>, gives: Vec<Give>| {
        let check = CheckRequest::new(vec![permit, quota]).unwrap().held_by(holder);
        let request = HomeRequest { refunds, gives, asks: vec![Ask::binding(check)] };
        request.answer(&mut table, at(0)).answers[0].check.refusal().is_none()
    };
    assert!(passes(first, vec![], vec![]));
    let refund = Refund { charge: quota, taken_at: at(0) };
    let give = Give { charge: permit, holder: first };
    assert!(!passes(second, vec![], vec![give]));
    assert!(passes(second, vec![refund], vec![]));
}

#[test]
fn what_an_idle_home_would_forget_too_early_is_written() {
    let lockout = PolicySettings::Lockout { max: 1, window_us: 1_000_000, lock_us: 30_000_000 };
    let lockout: Policy = lockout.try_into().unwrap();
    let check = |policy: Policy, costs: &[Cost], expected: Keeping| {
        let mut table = LimiterTable::new(8, SEED);
        for cost in costs {
            table.check(&CheckRequest::new(vec![Charge::new(policy, key(0), *cost)]).unwrap(), at(0));
        }
        assert_eq!(Keeping::of(&table.record(key(0)).unwrap(), at(0)), expected);
    };
    check(gcra(10, 1, 1_000_000), &[1], Keeping::InMemory);
    check(gcra(11, 1, 1_000_000), &[1], Keeping::WrittenSoon);
    check(window(5, 60_000_000), &[1], Keeping::WrittenSoon);
    check(lockout, &[1], Keeping::WrittenSoon);
    check(lockout, &[1, 1], Keeping::WrittenThrough);
    assert!(!Keeping::may_be_written(&gcra(10, 1, 1_000_000)));
    assert!(Keeping::may_be_written(&lockout));
}
