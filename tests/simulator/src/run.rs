//! One run: a room with its law, ticked each second as a leader ticks it, and the buyers who call it in between.

use crate::{
    crowd::{self, Buyer, State},
    ledger::Ledger,
    measure::Measured,
    scenario::{Scenario, TroubleKind},
    series::Sample,
    watch::{Violation, Watch},
    wheel::Wheel,
};
use shared::{
    ids::{EventId, Place, TicketNumber},
    room::{Action, Heard, Law, Planted, Room, Standstill, snapshot},
    time::Timestamp,
    wire::Snapshot,
};
use std::collections::VecDeque;

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was measured.
    pub measured: Measured,
    /// What broke, and at which second; the run stopped there.
    pub violation: Option<(f64, Violation)>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Pulse {
    /// Simulated seconds.
    pub at_s: u32,
    /// Present buyers whose visit is over.
    pub done: u32,
    /// Present buyers.
    pub present: u32,
}

/// Runs a scenario; the same seed gives the same run. `pulse` hears of every simulated second.
pub fn run(scenario: &Scenario, seed: u64, planted: Planted, mut pulse: impl FnMut(Pulse)) -> Outcome {
    let mut world = World::new(scenario, seed, planted);
    while !world.is_over() {
        world.now_ms += 1;
        world.ledger.advance(world.now_ms);
        if world.now_ms.is_multiple_of(1_000) {
            world.second();
            pulse(Pulse { at_s: world.now_ms / 1_000, done: world.done, present: world.present });
        }
        while let Some(buyer) = world.wheel.pop(world.now_ms) {
            world.act(buyer);
        }
    }
    let violation = world.watch.found().map(|(at_ms, violation)| (f64::from(at_ms) / 1_000.0, violation));
    world.measured.never_served = world.present - world.served;
    Outcome { measured: world.measured, violation }
}

/// Everything that a run changes.
pub(crate) struct World<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) chance: fastrand::Rng,
    pub(crate) room: Room,
    law: Law,
    planted: Planted,
    event: EventId,
    /// The newest snapshots, oldest first, with the moment of their publication.
    snapshots: VecDeque<(u32, Snapshot)>,
    pub(crate) buyers: Vec<Buyer>,
    pub(crate) wheel: Wheel,
    pub(crate) ledger: Ledger,
    pub(crate) watch: Watch,
    pub(crate) measured: Measured,
    pub(crate) now_ms: u32,
    /// What the coming sample counts up.
    pub(crate) sample: Sample,
    /// Polls that the edges have seen and not told yet.
    pub(crate) heard: Vec<Heard>,
    /// Present buyers: all, called or inside at least once, with their visit over.
    pub(crate) present: u32,
    pub(crate) served: u32,
    pub(crate) done: u32,
}

/// From this share of capacity on, a shop counts as filled.
const FULL: f64 = 0.97;
/// Snapshots kept: the oldest that any poll meets is 5 s old.
const SNAPSHOTS: usize = 8;
/// Runs begin here, so that no rule can rely on a small clock.
const START: Timestamp = Timestamp::from_millis(1_764_480_000_000);

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario, seed: u64, planted: Planted) -> Self {
        let mut chance = fastrand::Rng::with_seed(seed);
        let people = crowd::gather(scenario, &mut chance);
        let mut wheel = Wheel::new(people.len());
        for (buyer, (_, comes_ms)) in (0..).zip(&people) {
            wheel.plan(buyer, 0, *comes_ms);
        }
        let buyers: Vec<Buyer> = people.into_iter().map(|(buyer, _)| buyer).collect();
        let present = buyers.iter().filter(|buyer| buyer.present).count();
        let lanes = scenario.room.lanes.len();
        let mut world = Self {
            scenario,
            chance,
            room: Room::new(scenario.room.clone()).with_fault(planted),
            law: Law::default().with_fault(planted),
            planted,
            event: EventId::parse("drop").unwrap_or_else(|error| unreachable!("{error}")),
            snapshots: VecDeque::new(),
            wheel,
            ledger: Ledger::new(scenario.room.pass_life.as_millis() as u32),
            watch: Watch::new(lanes),
            measured: Measured::new(lanes, buyers.len() as u32),
            buyers,
            now_ms: 0,
            sample: Sample::default(),
            heard: Vec::new(),
            present: present as u32,
            served: 0,
            done: 0,
        };
        world.second();
        world
    }

    fn is_over(&self) -> bool {
        self.watch.found().is_some()
            || self.done == self.present
            || self.now_ms >= self.scenario.seconds_max * 1_000
    }

    pub(crate) fn now(&self) -> Timestamp {
        START.saturating_add(std::time::Duration::from_millis(self.now_ms.into()))
    }

    /// Milliseconds of the run at a moment of the room.
    pub(crate) fn ms_of(at: Timestamp) -> u32 {
        (at.as_millis() - START.as_millis()) as u32
    }

    pub(crate) fn has(&self, trouble: TroubleKind) -> bool {
        self.scenario.has(trouble, self.now_ms)
    }

    /// One second of the server's clock.
    fn second(&mut self) {
        let heard = std::mem::take(&mut self.heard);
        if self.has(TroubleKind::ServerAway) {
            self.take_sample(0, false);
            return;
        }
        let now = self.now();
        self.room.hear(now, &heard);
        let action = if self.has(TroubleKind::Paused) { Action::Pause } else { Action::Open };
        // An open room pauses and goes on: nothing is refused.
        let _ = self.room.operate(now, "simulator", action);
        let facts = self.room.expire(now);
        let order = self.law.decide(self.room.settings(), &facts);
        let facts = self.room.call(now, &order);
        let free = self.room.session_free(now);
        let told = snapshot(&self.event, self.room.settings(), &facts, &order, free, self.planted);
        // What a store would have written.
        drop(self.room.take_changes());
        self.snapshots.push_back((self.now_ms, told));
        if self.snapshots.len() > SNAPSHOTS {
            self.snapshots.pop_front();
        }
        for (lane, facts) in facts.lanes.iter().enumerate() {
            self.note_called(lane, facts.serving_number);
        }
        self.watch.ticked(self.now_ms, facts.phase, &order, &facts, self.ledger.inside());
        self.sample.waiting = facts.lanes.iter().map(|lane| lane.waiting).sum();
        self.sample.at_door = facts.at_door;
        let calls = order.calls.iter().map(|(_, count)| count).sum();
        self.take_sample(calls, order.standstill == Some(Standstill::RedemptionsStopped));
    }

    /// Notes who was called up to `serving`: those of them who are there wait no longer.
    pub(crate) fn note_called(&mut self, lane: usize, serving: TicketNumber) {
        for number in self.measured.called_up_to(lane) + 1..=serving.0 {
            let state = self.watch.holder(lane, number).map(|buyer| self.buyers[buyer as usize].state);
            self.sample.present -= u32::from(state == Some(State::Waiting));
            self.measured.note_called(lane, number, self.now_ms);
        }
    }

    fn take_sample(&mut self, calls: u32, standstill: bool) {
        self.sample.at_s = self.now_ms / 1_000;
        self.sample.sessions = self.ledger.inside();
        if f64::from(self.sample.sessions) >= FULL * f64::from(self.scenario.room.capacity) {
            self.measured.note_full(self.now_ms);
        }
        self.sample.calls = calls;
        self.sample.standstill = standstill;
        self.measured.samples.push(self.sample);
        (self.sample.entries, self.sample.polls) = (0, 0);
    }

    /// The newest snapshot that is at least `age_ms` old; the oldest one where all are younger.
    pub(crate) fn snapshot_of_age(&self, age_ms: u32) -> &Snapshot {
        let published_before = self.now_ms.saturating_sub(age_ms);
        let after = self.snapshots.partition_point(|(at_ms, _)| *at_ms <= published_before);
        &self.snapshots[after.saturating_sub(1)].1
    }

    pub(crate) fn place(&self, buyer: u32) -> Place {
        let buyer = &self.buyers[buyer as usize];
        let lane = shared::ids::LaneId(buyer.lane);
        Place { epoch: shared::ids::Epoch(1), lane, number: TicketNumber(buyer.number.into()) }
    }
}
