//! The authority's state machine: each transition is written here once, and every store applies it.

use super::{
    CallBound, CallOrder, EnterRefusal, Facts, Fault, Pace, Planted, RoomSettings, Standstill,
    clock::{Anchor, RoomClock},
    codes::Codes,
    cohorts::TurnAge,
    control::{Control, Log},
    descent::Descent,
    devices::Devices,
    doorstep::Doorstep,
    ended::EndedFeed,
    lane::{Lane, Standing},
    members::Members,
    moves::Moves,
    presence::{Expected, Hearing, newcomer_due_s, second_of},
    record::{ChangeLog, RecordKey},
    sessions::Sessions,
    spent::SpentBits,
    status::newcomer_asks_after,
};
use crate::{
    ids::{DeviceHash, Epoch, LaneId, Place, TicketNumber},
    limiter::gcra::GcraState,
    time::Timestamp,
    wire::{EndedPage, Phase},
};
use core::time::Duration;

/// The queue of one event.
///
/// Every transition takes `now` by the host's clock and answers in its time; a moment before the latest one seen counts as
/// the latest one. Inside, sessions and numbers live in the room's own time, which goes on where it stood when the host
/// comes back, whatever its clock says then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    pub(super) settings: RoomSettings,
    pub(super) epoch: Epoch,
    pub(super) clock: RoomClock,
    pub(super) lanes: Vec<Lane>,
    pub(super) sessions: Sessions,
    pub(super) ended: EndedFeed,
    pub(super) devices: Devices,
    pub(super) members: Members,
    pub(super) codes: Codes,
    pub(super) moves: Moves,
    pub(super) control: Control,
    pub(super) log: Log,
    pub(super) rate: GcraState,
    pub(super) changes: ChangeLog,
    pub(super) planted: Planted,
    pub(super) doorstep: Doorstep,
    /// `None` until this process gives the first moment.
    anchor: Option<Anchor>,
    last_tick: Option<Timestamp>,
    /// Called buyers who are still expected at the door, as the law saw it at the last tick.
    pub(super) expected: u32,
    /// What the shop's server can serve of this room; the capacity alone counts until the first tick.
    pub(super) descent: Descent,
    hearing: Hearing,
    /// When a newcomer of each lane is told to ask again at the latest, by the paces of the last tick.
    newcomers_ask_after: Vec<Duration>,
}

/// A waiting buyer who asked how things stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Their place.
    pub place: Place,
    /// When they were told to ask again.
    pub again: Duration,
}

/// What a newcomer is told where nothing is known: the shortest interval of polls, and a fifth.
const ASKS_AFTER: Duration = Duration::from_secs(6);

/// Between two ticks room time advances by at most this: a take-over or a stopped process runs it late, never early.
const TICK_MAX: Duration = Duration::from_secs(2);

impl Room {
    /// An empty room in its first epoch.
    pub fn new(settings: RoomSettings) -> Self {
        let lanes: Vec<Lane> = settings.lanes.iter().map(|_| Lane::new()).collect();
        let phase = if settings.opens_at.is_some() { Phase::Scheduled } else { settings.phase };
        Self {
            settings,
            epoch: Epoch(1),
            clock: RoomClock::default(),
            devices: Devices::new(lanes.len()),
            lanes,
            sessions: Sessions::default(),
            ended: EndedFeed::default(),
            members: Members::default(),
            codes: Codes::default(),
            moves: Moves::default(),
            control: Control { phase, everyone_in: false, capacity: None, message: None },
            log: Log::new(),
            rate: GcraState::NEW,
            changes: ChangeLog::default(),
            planted: Planted::default(),
            doorstep: Doorstep::default(),
            anchor: None,
            last_tick: None,
            expected: 0,
            descent: Descent::default(),
            hearing: Hearing::default(),
            newcomers_ask_after: Vec::new(),
        }
    }

    /// Plants a fault for the tests of the checkers.
    #[must_use]
    pub fn with_fault(mut self, planted: Planted) -> Self {
        self.planted = planted;
        self
    }

    /// The room's settings.
    pub fn settings(&self) -> &RoomSettings {
        &self.settings
    }

    /// Gives a place up, with the session it may have; a second time changes nothing.
    ///
    /// # Errors
    /// [`EnterRefusal::Void`] for a ticket of another epoch or lane, [`EnterRefusal::Moved`].
    pub fn abandon(&mut self, now: Timestamp, place: Place, device: DeviceHash) -> Result<(), EnterRefusal> {
        let now = self.observe(now);
        self.note_seen(place)?;
        if !self.is_owner(place, device) {
            return Err(EnterRefusal::Moved);
        }
        self.expire_sessions(now);
        // An ended session is no obstacle to giving the place up.
        let _ = self.end_session(place);
        self.give_up(place);
        self.forget_place_of(device, place);
        self.changes.before_reply();
        Ok(())
    }

    /// Notes that these buyers are still there; whose place is unknown or called is passed over. Losing such a word is harmless.
    pub fn hear(&mut self, now: Timestamp, heard: &[Heard]) {
        self.observe(now);
        for &Heard { place, again } in heard {
            if place.epoch == self.epoch {
                self.hear_of(place, again);
            }
        }
    }

    /// Drives the room's clock: ends sessions whose life is over, ages turns, and says how things stand.
    pub fn expire(&mut self, now: Timestamp) -> Facts {
        let now = self.observe(now);
        self.follow_schedule(now);
        self.advance_clock(now);
        self.expire_sessions(now);
        self.sessions.stays.tick(now);
        while let Some(seq) = self.ended.pop_outlived(self.host_time(now)) {
            self.changes.lazily(RecordKey::Ended(seq));
        }
        let at = self.clock.at;
        let heard_until_s = self.hearing.tick(second_of(at.up));
        let trusted_s = if self.planted.has(Fault::AbsentWaitedFor) { 0 } else { heard_until_s };
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            lane.end_tick(at, self.settings.turn_grace);
            if lane.look_through(trusted_s) {
                self.changes.lazily(RecordKey::Ahead(LaneId::at(index)));
            }
        }
        let lanes = &self.lanes;
        self.doorstep.retain(now, |place| {
            lanes
                .get(usize::from(place.lane.0))
                .is_some_and(|lane| matches!(lane.standing(place.number), Standing::Called(age) if age != TurnAge::Expired))
        });
        self.changes.lazily(RecordKey::Room);
        for index in 0..self.lanes.len() {
            self.changes.lazily(RecordKey::Lane(LaneId::at(index)));
        }
        self.facts(now)
    }

    /// Calls numbers as the law ordered. The answer waits for the commit: a snapshot is made from it, and neither its tick nor
    /// its serving number may fall behind in a crash.
    pub fn call(&mut self, now: Timestamp, order: &CallOrder) -> Facts {
        let now = self.observe(now);
        self.expected = order.expected;
        self.heed_share(order.share, now);
        self.note_paces(&order.paces);
        if order.standstill == Some(Standstill::RedemptionsStopped) {
            let at = self.clock.at;
            self.lanes.iter_mut().for_each(|lane| lane.forget_called(at));
        }
        for index in 0..self.lanes.len() {
            let lane = LaneId::at(index);
            let count = order.calls.iter().find(|(called, _)| *called == lane).map_or(0, |(_, count)| *count);
            if !order.standstill.is_some_and(Standstill::holds) || count > 0 {
                self.call_lane(lane, count, order.bounds.get(index), now);
            }
        }
        self.changes.before_reply();
        self.facts(now)
    }

    /// The feed of ended sessions after `after`.
    pub fn ended_after(&self, after: u64) -> EndedPage {
        self.ended.page(after)
    }

    /// The room's time at `now` of the host's clock.
    pub(super) fn observe(&mut self, now: Timestamp) -> Timestamp {
        let is_new = self.clock.latest == Timestamp::default();
        let room = if is_new { now } else { self.clock.latest };
        let now = self.anchor.get_or_insert(Anchor { host: now, room }).to_room(now);
        if now > self.clock.latest {
            self.clock.latest = now;
            self.changes.lazily(RecordKey::Room);
        }
        self.clock.latest
    }

    /// A moment of the room as the host's clock tells it.
    pub(super) fn host_time(&self, at: Timestamp) -> Timestamp {
        self.anchor.map_or(at, |anchor| anchor.to_host(at))
    }

    fn advance_clock(&mut self, now: Timestamp) {
        let passed = self.last_tick.map_or(Duration::ZERO, |last| now.since(last).min(TICK_MAX));
        self.last_tick = Some(now);
        self.clock.tick = self.clock.tick.saturating_add(1);
        self.clock.at.up = self.clock.at.up.saturating_add(passed);
        let taken = self.sessions.count().saturating_add(self.doorstep.waiting_count(now));
        let has_room =
            self.control.everyone_in || taken < self.capacity() || self.planted.has(Fault::TurnsRunOut);
        if self.control.phase.lets_in() && has_room {
            self.clock.at.redeemable = self.clock.at.redeemable.saturating_add(passed);
        }
    }

    /// Whoever asks with this device and without a ticket is told this place.
    pub(super) fn remember(&mut self, device: DeviceHash, place: Place) {
        if self.settings.remembers_devices {
            self.devices.set_place(device, place.lane, place.number, &mut self.changes);
        }
    }

    fn forget_place_of(&mut self, device: DeviceHash, place: Place) {
        if self.devices.get(device).place(self.epoch) == place {
            self.devices.forget_place(device, &mut self.changes);
        }
    }

    pub(super) fn expire_sessions(&mut self, now: Timestamp) {
        while let Some((place, session)) = self.sessions.pop_expired(now) {
            self.changes.lazily(RecordKey::Session(place));
            self.release_code(place);
            // Its pass was given under a clock that was ahead of this one.
            if session.told_until > self.host_time(now) {
                self.tell_ended(place, session);
            }
        }
    }

    /// Calls one who has just joined an empty line, which teaches nothing of how called buyers come.
    pub(super) fn call_arrival(&mut self, place: Place, now: Timestamp) {
        let (at, turn_grace) = (self.clock.at, self.settings.turn_grace);
        if let Some(lane) = self.lane_mut(place.lane) {
            lane.call_arrival(place.number, at, now, turn_grace);
        }
    }

    fn call_lane(&mut self, lane_id: LaneId, count: u32, bound: Option<&CallBound>, now: Timestamp) {
        let (at, turn_grace) = (self.clock.at, self.settings.turn_grace);
        if let Some(lane) = self.lane_mut(lane_id) {
            lane.call(count, bound, at, now, turn_grace);
            self.changes.lazily(RecordKey::Lane(lane_id));
        }
    }

    /// A verified ticket proves that its number was given out.
    pub(super) fn note_seen(&mut self, place: Place) -> Result<(), EnterRefusal> {
        if place.epoch != self.epoch || place.number == TicketNumber(0) {
            return Err(EnterRefusal::Void);
        }
        let due_s = self.newcomer_due_s(place.lane);
        let now_s = second_of(self.clock.at.up);
        let back = Expected::again(now_s, self.newcomer_asks_after(place.lane));
        let lane = self.lane_mut(place.lane).ok_or(EnterRefusal::Void)?;
        let was_due_s = lane.see(place.number, due_s, back);
        let is_news = lane.note_seen(place.number, due_s);
        self.hearing.note(now_s, was_due_s);
        if is_news {
            // Whatever the answer: a crash must not forget again whose number this is.
            self.changes.lazily(RecordKey::Lane(place.lane));
            self.changes.before_reply();
        }
        Ok(())
    }

    fn hear_of(&mut self, place: Place, again: Duration) {
        let now_s = second_of(self.clock.at.up);
        if let Some(lane) = self.lane_mut(place.lane) {
            let was_due_s = lane.hear(place.number, Expected::again(now_s, again));
            self.hearing.note(now_s, was_due_s);
        }
    }

    /// When somebody who joins `lane` now counts as gone unless they ask.
    pub(super) fn newcomer_due_s(&self, lane: LaneId) -> u32 {
        newcomer_due_s(second_of(self.clock.at.up), self.newcomer_asks_after(lane))
    }

    /// Somebody has joined.
    pub(super) fn hear_newcomer(&mut self) {
        self.hearing.note(second_of(self.clock.at.up), None);
    }

    fn newcomer_asks_after(&self, lane: LaneId) -> Duration {
        self.newcomers_ask_after.get(usize::from(lane.0)).copied().unwrap_or(ASKS_AFTER)
    }

    fn note_paces(&mut self, paces: &[Pace]) {
        let settings = &self.settings;
        let asks_after = |(lane, &pace): (&Lane, &Pace)| newcomer_asks_after(settings, lane.waiting(), pace);
        self.newcomers_ask_after = self.lanes.iter().zip(paces).map(asks_after).collect();
    }

    pub(super) fn spend(&mut self, place: Place) {
        if let Some(lane) = self.lane_mut(place.lane) {
            lane.spend(place.number);
            let chunk = SpentBits::chunk_of(place.number);
            self.changes.lazily(RecordKey::Spent(place.lane, chunk));
            self.changes.lazily(RecordKey::Lane(place.lane));
        }
    }

    pub(super) fn lane_mut(&mut self, lane: LaneId) -> Option<&mut Lane> {
        self.lanes.get_mut(usize::from(lane.0))
    }
}
