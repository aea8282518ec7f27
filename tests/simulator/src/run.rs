//! One run: a room with its law, ticked each second as a leader ticks it, and the buyers who call it in between.

use crate::{
    crowd::{self, Buyer, State},
    ledger::Ledger,
    measure::Measured,
    rooms::Rooms,
    scenario::{Scenario, TroubleKind},
    series::Sample,
    server::Server,
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
    let rooms: Vec<&Scenario> = std::iter::once(scenario).chain(&scenario.neighbours).collect();
    let weights = rooms.iter().map(|room| room.weight).collect();
    let mut server = scenario.server.map(|model| Server::new(model, weights, START));
    let mut worlds: Vec<World<'_>> = (0..)
        .zip(&rooms)
        .map(|(index, room)| World::new(room, index, seed, planted, server.as_mut()))
        .collect();
    let mut shared = Rooms::default();
    let mut now_ms = 0;
    while worlds.iter().any(|world| !world.is_over()) && worlds.iter().all(|world| !world.has_ended()) {
        now_ms += 1;
        for world in &mut worlds {
            world.advance(now_ms, server.as_mut());
        }
        if now_ms.is_multiple_of(1_000) {
            let at_s = now_ms / 1_000;
            if let Some(server) = &mut server {
                server.second(at_s, worlds[0].now());
                shared.second(&mut worlds, server, &rooms);
            }
            let [done, present] = [|world: &World<'_>| world.done, |world: &World<'_>| world.present]
                .map(|count| worlds.iter().map(count).sum());
            pulse(Pulse { at_s, done, present });
        }
    }
    let found = worlds.iter().find_map(|world| world.watch.found());
    let violation = found.map(|(at_ms, violation)| (f64::from(at_ms) / 1_000.0, violation));
    let mut world = worlds.swap_remove(0);
    world.measured.never_served = world.present - world.served;
    if let Some(server) = server {
        world.measured.of_server = shared.figures(&server, &rooms);
    }
    Outcome { measured: world.measured, violation }
}

/// Everything that a run changes.
pub(crate) struct World<'a> {
    pub(crate) scenario: &'a Scenario,
    /// Its seat at the shop's server.
    index: usize,
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
    /// What the room may hold now: less than its own capacity where its server bears less.
    capacity: u32,
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
    fn new(
        scenario: &'a Scenario,
        index: usize,
        seed: u64,
        planted: Planted,
        server: Option<&mut Server>,
    ) -> Self {
        let mut chance = fastrand::Rng::with_seed(seed + 1_000_003 * index as u64);
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
            index,
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
            capacity: scenario.room.capacity,
            sample: Sample::default(),
            heard: Vec::new(),
            present: present as u32,
            served: 0,
            done: 0,
        };
        world.second(server);
        world
    }

    /// Everybody who stayed has been inside.
    fn is_over(&self) -> bool {
        self.done == self.present
    }

    /// The run ends whether or not people still wait.
    fn has_ended(&self) -> bool {
        self.watch.found().is_some() || self.now_ms >= self.scenario.seconds_max * 1_000
    }

    /// Everything that happens up to a millisecond.
    fn advance(&mut self, now_ms: u32, server: Option<&mut Server>) {
        self.now_ms = now_ms;
        self.ledger.advance(now_ms);
        if now_ms.is_multiple_of(1_000) {
            self.second(server);
        }
        while let Some(buyer) = self.wheel.pop(now_ms) {
            self.act(buyer);
        }
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
    fn second(&mut self, mut server: Option<&mut Server>) {
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
        let heeded = server.as_mut().map(|server| server.heed(self.index, &facts)).unwrap_or_default();
        self.law.heed(heeded);
        let order = self.law.decide(self.room.settings(), &facts);
        let facts = self.room.call(now, &order);
        if let Some(server) = server {
            server.heeded(self.index, heeded, &facts, self.sample.inside);
        }
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
        self.capacity = facts.capacity;
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
        if f64::from(self.sample.sessions) >= FULL * f64::from(self.capacity) {
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
