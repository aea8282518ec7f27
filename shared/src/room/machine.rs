//! The authority's state machine: each transition is written here once, and every store applies it.

use super::{
    CallOrder, EnterRefusal, Fault, Planted, RoomSettings, RoomTime, Session, Standstill,
    cohorts::{Cohort, TurnAge},
    delays::Delays,
    door::{Door, RETRY_AT_DOOR, session_at},
    ended::{EndedEntry, EndedFeed},
    lane::{Lane, Standing},
    record::{ChangeLog, RecordKey},
    sessions::Sessions,
    spent::SpentBits,
};
use crate::{
    ids::{DeviceHash, Epoch, LaneId, Place, TicketNumber},
    limiter::{
        Decision,
        gcra::{GcraPolicy, GcraState},
    },
    time::Timestamp,
    wire::{EndedPage, Phase},
};
use core::time::Duration;
use std::collections::BTreeMap;

/// The queue of one event.
///
/// Every transition takes `now`; a moment before the latest one seen counts as the latest one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    pub(super) settings: RoomSettings,
    pub(super) epoch: Epoch,
    pub(super) clock: RoomClock,
    pub(super) lanes: Vec<Lane>,
    pub(super) sessions: Sessions,
    pub(super) ended: EndedFeed,
    pub(super) devices: BTreeMap<DeviceHash, (LaneId, TicketNumber)>,
    pub(super) rate: GcraState,
    pub(super) changes: ChangeLog,
    pub(super) planted: Planted,
    door: Door,
    last_tick: Option<Timestamp>,
    /// Called buyers who are still expected at the door, as the law saw it at the last tick.
    expected: u32,
    standstill: Option<Standstill>,
}

/// The room's own time, driven by its ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct RoomClock {
    pub(super) latest: Timestamp,
    pub(super) tick: u64,
    pub(super) at: RoomTime,
}

/// Between two ticks room time advances by at most this: a take-over or a stopped process runs it late, never early.
const TICK_MAX: Duration = Duration::from_secs(2);

/// What a buyer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinRequest {
    /// The lane that the host has proved for this buyer.
    pub lane: LaneId,
    /// The buyer's device.
    pub device: DeviceHash,
    /// Place of a ticket that the buyer presented and the host has verified.
    pub presented: Option<Place>,
    /// Enter at once where the line is empty.
    pub may_enter: bool,
}

/// A place in line, or inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The buyer's place.
    pub place: Place,
    /// Device of the place.
    pub device: DeviceHash,
    /// The place was there before.
    pub existed: bool,
    /// The buyer's session, if inside.
    pub session: Option<Session>,
}

/// Why nobody joins now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinRefusal {
    /// The event has not begun.
    #[error("the event has not begun")]
    NotOpenYet,
    /// The event is sold out.
    #[error("the event is sold out")]
    SoldOut,
    /// The event is over.
    #[error("the event is closed")]
    Closed,
    /// No such lane.
    #[error("the room has no such lane")]
    NoSuchLane,
    /// All 2^40 numbers of the lane are given out.
    #[error("the lane has no number left")]
    NumbersExhausted,
}

/// Why a session cannot be renewed or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionRefusal {
    /// No live session belongs to the place.
    #[error("the session has ended")]
    Ended,
}

/// What the calling law and the snapshot are made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Moment of the tick.
    pub now: Timestamp,
    /// The room's own time.
    pub at: RoomTime,
    /// Generation of the tickets.
    pub epoch: Epoch,
    /// Count of ticks.
    pub tick: u64,
    /// Counted sessions.
    pub sessions: u32,
    /// Called buyers in front of a full door.
    pub at_door: u32,
    /// Newest entry of the ended feed.
    pub ended_seq: u64,
    /// The lanes.
    pub lanes: Vec<LaneFacts>,
}

/// One lane inside [`Facts`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneFacts {
    /// The number that the next join gets.
    pub next_number: TicketNumber,
    /// The highest number called.
    pub serving_number: TicketNumber,
    /// When it last rose.
    pub moved_at: Timestamp,
    /// Numbers up to this one are late.
    pub turn_end_number: TicketNumber,
    /// Live numbers not called yet.
    pub waiting: u64,
    /// Called numbers inside `turn_grace`, oldest first.
    pub cohorts: Vec<Cohort>,
    /// How long called buyers take to come.
    pub delays: Delays,
    /// First arrivals at the door, ever.
    pub come_total: u64,
}

impl Room {
    /// An empty room in its first epoch.
    pub fn new(settings: RoomSettings) -> Self {
        let lanes = settings.lanes.iter().map(|_| Lane::new()).collect();
        Self {
            settings,
            epoch: Epoch(1),
            clock: RoomClock::default(),
            lanes,
            sessions: Sessions::default(),
            ended: EndedFeed::default(),
            devices: BTreeMap::new(),
            rate: GcraState::NEW,
            changes: ChangeLog::default(),
            planted: Planted::default(),
            door: Door::default(),
            last_tick: None,
            expected: 0,
            standstill: None,
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

    /// Why the line stands still, as the law said at the last tick.
    pub fn standstill(&self) -> Option<Standstill> {
        self.standstill
    }

    /// Gives a place in line, the same one while an earlier one of this ticket or device is live.
    ///
    /// Where `may_enter` is set, nobody waits and a session is free: join, call and redeem are this one transition.
    ///
    /// # Errors
    /// [`JoinRefusal`]; no number is drawn.
    pub fn join(&mut self, now: Timestamp, request: JoinRequest) -> Result<Joined, JoinRefusal> {
        let now = self.observe(now);
        if let Some(joined) = self.live_place(request) {
            return Ok(joined);
        }
        match self.settings.phase {
            Phase::Scheduled | Phase::Lobby | Phase::Drawing => return Err(JoinRefusal::NotOpenYet),
            Phase::SoldOut => return Err(JoinRefusal::SoldOut),
            Phase::Closed => return Err(JoinRefusal::Closed),
            Phase::Open | Phase::Paused | Phase::Passthrough => {}
        }
        let enters = request.may_enter && self.session_free(now);
        let reissue = self.planted.has(Fault::NumberReissued);
        let lane = self.lane_mut(request.lane).ok_or(JoinRefusal::NoSuchLane)?;
        let (mut number, reserved) = lane.issue().ok_or(JoinRefusal::NumbersExhausted)?;
        if reissue && number.0.is_multiple_of(20) {
            number = TicketNumber(number.0.saturating_sub(1));
        }
        let place = Place { epoch: self.epoch, lane: request.lane, number };
        self.devices.insert(request.device, (request.lane, number));
        self.changes.lazily(RecordKey::Device(request.device));
        self.changes.lazily(RecordKey::Lane(request.lane));
        if reserved {
            self.changes.before_reply();
        }
        let mut joined = Joined { place, device: request.device, existed: false, session: None };
        if enters {
            self.call_lane(request.lane, 1, now);
            joined.session = self.redeem(now, place, request.device).ok();
        }
        Ok(joined)
    }

    /// Lets the owner of a called number in: exact, one-time, idempotent.
    ///
    /// # Errors
    /// [`EnterRefusal`], in the order of its checks: a live session answers first, capacity last.
    pub fn redeem(
        &mut self,
        now: Timestamp,
        place: Place,
        device: DeviceHash,
    ) -> Result<Session, EnterRefusal> {
        let now = self.observe(now);
        self.expire_sessions(now);
        if let Some(session) = self.sessions.get(place) {
            return Ok(session);
        }
        let age = self.turn_of(place)?;
        match self.settings.phase {
            Phase::Open | Phase::Passthrough => {}
            Phase::Closed => return Err(EnterRefusal::Closed),
            _ => return Err(EnterRefusal::Held),
        }
        self.note_come(place, age);
        let late = age == TurnAge::Late;
        if late && !self.late_may_enter(now) {
            return Err(EnterRefusal::Full { retry_after: RETRY_AT_DOOR });
        }
        if self.sessions.count() >= self.capacity() {
            self.door.refuse_full(place, now);
            return Err(EnterRefusal::Full { retry_after: RETRY_AT_DOOR });
        }
        if let Some(retry_after) = self.take_admission(now) {
            self.door.refuse_full(place, now);
            return Err(EnterRefusal::Full { retry_after });
        }
        self.door.leave(place);
        self.door.note_redeemed(now, late);
        if !self.planted.has(Fault::BitDropped) {
            self.spend(place);
        }
        let session = session_at(now, &self.settings, device);
        self.sessions.put(place, session);
        self.changes.lazily(RecordKey::Session(place));
        self.changes.lazily(RecordKey::Room);
        self.changes.before_reply();
        Ok(session)
    }

    /// Gives the session its full idle time again, up to its hard maximum.
    ///
    /// # Errors
    /// [`SessionRefusal::Ended`] when it is over.
    pub fn renew(&mut self, now: Timestamp, place: Place) -> Result<Session, SessionRefusal> {
        let now = self.observe(now);
        self.expire_sessions(now);
        let mut session = self.sessions.get(place).ok_or(SessionRefusal::Ended)?;
        session.expires_at =
            now.saturating_add(self.settings.pass_life).min(session.ends_at).max(session.expires_at);
        self.sessions.put(place, session);
        self.changes.lazily(RecordKey::Session(place));
        self.changes.before_reply();
        Ok(session)
    }

    /// Ends a session at the word of the shop or of its buyer; the feed tells the edges.
    ///
    /// # Errors
    /// [`SessionRefusal::Ended`] when there is none, so that a repeated end is harmless.
    pub fn finish(&mut self, now: Timestamp, place: Place) -> Result<(), SessionRefusal> {
        let now = self.observe(now);
        self.expire_sessions(now);
        let session = self.sessions.remove(place).ok_or(SessionRefusal::Ended)?;
        let seq = self.ended.push(EndedEntry { place, pass_expires_at: session.expires_at });
        self.changes.lazily(RecordKey::Ended(seq));
        self.changes.lazily(RecordKey::Session(place));
        self.changes.before_reply();
        Ok(())
    }

    /// Gives a place up, with the session it may have; a second time changes nothing.
    ///
    /// # Errors
    /// [`EnterRefusal::Void`] for a ticket of another epoch or lane.
    pub fn abandon(&mut self, now: Timestamp, place: Place, device: DeviceHash) -> Result<(), EnterRefusal> {
        let now = self.observe(now);
        self.note_seen(place)?;
        // An ended session is no obstacle to giving the place up.
        let _ = self.finish(now, place);
        self.spend(place);
        self.door.leave(place);
        if self.devices.get(&device) == Some(&(place.lane, place.number)) {
            self.devices.remove(&device);
            self.changes.lazily(RecordKey::Device(device));
        }
        self.changes.before_reply();
        Ok(())
    }

    /// Drives the room's clock: ends sessions whose life is over, ages turns, and says how things stand.
    pub fn expire(&mut self, now: Timestamp) -> Facts {
        let now = self.observe(now);
        self.advance_clock(now);
        self.expire_sessions(now);
        while let Some(seq) = self.ended.pop_outlived(now) {
            self.changes.lazily(RecordKey::Ended(seq));
        }
        let at = self.clock.at;
        for lane in &mut self.lanes {
            lane.end_tick(at, self.settings.turn_grace);
        }
        let lanes = &self.lanes;
        self.door.retain(|place| {
            lanes
                .get(usize::from(place.lane.0))
                .is_some_and(|lane| matches!(lane.standing(place.number), Standing::Called(age) if age != TurnAge::Expired))
        });
        self.changes.lazily(RecordKey::Room);
        for index in 0..self.lanes.len() {
            self.changes.lazily(RecordKey::Lane(lane_id(index)));
        }
        self.facts(now)
    }

    /// Calls numbers as the law ordered.
    pub fn call(&mut self, now: Timestamp, order: &CallOrder) -> Facts {
        let now = self.observe(now);
        self.expected = order.expected;
        self.standstill = order.standstill;
        for index in 0..self.lanes.len() {
            let lane = lane_id(index);
            let count = order.calls.iter().find(|(called, _)| *called == lane).map_or(0, |(_, count)| *count);
            if order.standstill.is_none() || count > 0 {
                self.call_lane(lane, count, now);
            }
        }
        self.facts(now)
    }

    /// The feed of ended sessions after `after`.
    pub fn ended_after(&self, after: u64) -> EndedPage {
        self.ended.page(after)
    }

    /// Whether an arrival may enter at once: nobody waits, and a session is free that nobody called is expected to take.
    pub fn session_free(&self, now: Timestamp) -> bool {
        let taken =
            self.sessions.count().saturating_add(self.expected).saturating_add(self.door.waiting_count(now));
        matches!(self.settings.phase, Phase::Open | Phase::Passthrough)
            && self.lanes.iter().all(|lane| lane.waiting() == 0)
            && taken < self.capacity()
    }

    pub(super) fn facts(&self, now: Timestamp) -> Facts {
        let lane_facts = |lane: &Lane| LaneFacts {
            next_number: lane.line.next_number,
            serving_number: lane.line.serving_number,
            moved_at: lane.line.moved_at,
            turn_end_number: lane.line.cohorts.turn_end_number(),
            waiting: lane.waiting(),
            cohorts: lane.line.cohorts.in_time().copied().collect(),
            delays: lane.line.delays.clone(),
            come_total: lane.line.come_total,
        };
        Facts {
            now,
            at: self.clock.at,
            epoch: self.epoch,
            tick: self.clock.tick,
            sessions: self.sessions.count(),
            at_door: self.door.waiting_count(now),
            ended_seq: self.ended.last_seq(),
            lanes: self.lanes.iter().map(lane_facts).collect(),
        }
    }

    pub(super) fn observe(&mut self, now: Timestamp) -> Timestamp {
        if now > self.clock.latest {
            self.clock.latest = now;
            self.changes.lazily(RecordKey::Room);
        }
        self.clock.latest
    }

    fn advance_clock(&mut self, now: Timestamp) {
        let passed = self.last_tick.map_or(Duration::ZERO, |last| now.since(last).min(TICK_MAX));
        self.last_tick = Some(now);
        self.clock.tick = self.clock.tick.saturating_add(1);
        self.clock.at.up = self.clock.at.up.saturating_add(passed);
        let lets_in = matches!(self.settings.phase, Phase::Open | Phase::Passthrough);
        if lets_in && self.sessions.count() < self.settings.capacity {
            self.clock.at.redeemable = self.clock.at.redeemable.saturating_add(passed);
        }
    }

    fn expire_sessions(&mut self, now: Timestamp) {
        while let Some(place) = self.sessions.pop_expired(now) {
            self.changes.lazily(RecordKey::Session(place));
        }
    }

    fn call_lane(&mut self, lane_id: LaneId, count: u32, now: Timestamp) {
        let (at, turn_grace) = (self.clock.at, self.settings.turn_grace);
        if let Some(lane) = self.lane_mut(lane_id) {
            lane.call(count, at, now, turn_grace);
            self.changes.lazily(RecordKey::Lane(lane_id));
        }
    }

    /// The live place of the presented ticket, else of the device.
    fn live_place(&mut self, request: JoinRequest) -> Option<Joined> {
        let of_device = self.devices.get(&request.device).map(|&(lane, number)| Place {
            epoch: self.epoch,
            lane,
            number,
        });
        for place in [request.presented, of_device].into_iter().flatten() {
            if self.note_seen(place).is_err() {
                continue;
            }
            let session = self.sessions.get(place);
            let standing = self.lane_mut(place.lane).map(|lane| lane.standing(place.number));
            let in_line = matches!(
                standing,
                Some(Standing::Waiting | Standing::Called(TurnAge::InTime | TurnAge::Late))
            );
            if in_line || session.is_some() {
                let device = session.map_or(request.device, |session| session.device);
                return Some(Joined { place, device, existed: true, session });
            }
        }
        None
    }

    fn turn_of(&mut self, place: Place) -> Result<TurnAge, EnterRefusal> {
        self.note_seen(place)?;
        match self.lane_mut(place.lane).ok_or(EnterRefusal::Void)?.standing(place.number) {
            Standing::Spent => Err(EnterRefusal::Spent),
            Standing::Waiting => Err(EnterRefusal::NotYourTurn),
            Standing::Called(TurnAge::Expired) => Err(EnterRefusal::TurnExpired),
            Standing::Called(age) => Ok(age),
        }
    }

    /// A verified ticket proves that its number was given out.
    fn note_seen(&mut self, place: Place) -> Result<(), EnterRefusal> {
        if place.epoch != self.epoch || place.number == TicketNumber(0) {
            return Err(EnterRefusal::Void);
        }
        self.lane_mut(place.lane).ok_or(EnterRefusal::Void)?.note_seen(place.number);
        Ok(())
    }

    fn note_come(&mut self, place: Place, age: TurnAge) {
        if age == TurnAge::InTime && !self.door.knows(place) {
            let at = self.clock.at;
            if let Some(lane) = self.lane_mut(place.lane) {
                lane.note_come(place.number, at);
            }
        }
    }

    /// Late buyers take their small share, or a session that nobody in time wants.
    fn late_may_enter(&mut self, now: Timestamp) -> bool {
        self.session_free(now) || self.door.late_share_left(now)
    }

    /// How long until the admission rate lets one more in; `None` when it has just done so.
    fn take_admission(&mut self, now: Timestamp) -> Option<Duration> {
        let rate = u64::from(self.settings.admission_rate_per_s);
        let policy = GcraPolicy::new(rate, rate, Duration::from_secs(1)).ok()?;
        let transition = policy.check(self.rate, now, 1);
        self.rate = transition.state;
        match transition.decision {
            Decision::Allowed { .. } => None,
            Decision::Denied { retry_after, .. } => Some(retry_after.unwrap_or(RETRY_AT_DOOR)),
        }
    }

    fn spend(&mut self, place: Place) {
        if let Some(lane) = self.lane_mut(place.lane) {
            lane.spend(place.number);
            let chunk = SpentBits::chunk_of(place.number);
            self.changes.lazily(RecordKey::Spent(place.lane, chunk));
            self.changes.lazily(RecordKey::Lane(place.lane));
        }
    }

    fn capacity(&self) -> u32 {
        let one_too_many = u32::from(self.planted.has(Fault::DoorOffByOne));
        self.settings.capacity.saturating_add(one_too_many)
    }

    fn lane_mut(&mut self, lane: LaneId) -> Option<&mut Lane> {
        self.lanes.get_mut(usize::from(lane.0))
    }
}

pub(super) fn lane_id(index: usize) -> LaneId {
    LaneId(u8::try_from(index).unwrap_or(u8::MAX))
}
