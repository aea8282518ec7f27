//! How a buyer gets a place in line.

use super::{Fault, Room, Session, cohorts::TurnAge, lane::Standing, record::RecordKey};
use crate::{
    ids::{CodeHash, DeviceHash, LaneId, MemberHash, Place, TicketNumber},
    time::Timestamp,
    wire::Phase,
};

/// What a buyer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinRequest {
    /// The lane that the host has proved for this buyer.
    pub lane: LaneId,
    /// The buyer's device.
    pub device: DeviceHash,
    /// The member whom the host has proved the buyer to be.
    pub member: Option<MemberHash>,
    /// Place of a ticket that the buyer presented and the host has verified.
    pub presented: Option<Place>,
    /// Device of that ticket; where it is `None`, the ticket counts as this device's.
    pub presented_by: Option<DeviceHash>,
    /// An invitation code: it opens its own lane, instead of `lane`. A buyer who waits in another lane exchanges their place for a new
    /// one there.
    pub code: Option<CodeHash>,
    /// Enter at once where the line is empty.
    pub may_enter: bool,
}

impl JoinRequest {
    /// Of a buyer of whom nothing else is known, and who waits even where the line is empty.
    pub fn new(lane: LaneId, device: DeviceHash) -> Self {
        Self { lane, device, member: None, presented: None, presented_by: None, code: None, may_enter: false }
    }
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
    /// The highest number called in the lane by now: later than the last snapshot where others entered an empty line since.
    pub serving_number: TicketNumber,
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
    /// The buyer has had as many sessions as the room allows one buyer.
    #[error("the buyer has had all sessions of one buyer")]
    BuyerLimit,
    /// The code is none of this event's.
    #[error("the code is not known")]
    CodeUnknown,
    /// Every use of the code is held or spent.
    #[error("the code is used")]
    CodeUsed,
    /// No such lane.
    #[error("the room has no such lane")]
    NoSuchLane,
    /// All 2^40 numbers of the lane are given out.
    #[error("the lane has no number left")]
    NumbersExhausted,
}

impl Room {
    /// Gives a place in line, the same one while an earlier one of this ticket, device or member is live.
    ///
    /// Where `may_enter` is set, nobody waits and a session is free: join, call and redeem are this one transition.
    ///
    /// # Errors
    /// [`JoinRefusal`]; no number is drawn, and a place in hand stays.
    pub fn join(&mut self, now: Timestamp, mut request: JoinRequest) -> Result<Joined, JoinRefusal> {
        let now = self.observe(now);
        let held = self.live_place(request);
        if let Some(joined) = held
            && !self.exchanges(joined, request.code)?
        {
            return Ok(joined);
        }
        match self.control.phase {
            Phase::Scheduled | Phase::Lobby | Phase::Drawing => return Err(JoinRefusal::NotOpenYet),
            Phase::SoldOut => return Err(JoinRefusal::SoldOut),
            Phase::Closed => return Err(JoinRefusal::Closed),
            Phase::Open | Phase::Paused | Phase::Passthrough => {}
        }
        let sessions = self.sessions_had(&request);
        if self.settings.sessions_per_buyer.is_some_and(|most| sessions >= most) {
            return Err(JoinRefusal::BuyerLimit);
        }
        if let Some(code) = request.code {
            request.lane = self.lane_by_code(code)?;
        }
        let enters = request.may_enter && self.session_free(now);
        let reissue = self.planted.has(Fault::NumberReissued);
        let due_s = self.newcomer_due_s(request.lane);
        let lane = self.lane_mut(request.lane).ok_or(JoinRefusal::NoSuchLane)?;
        let (mut number, reserved) = lane.issue(due_s).ok_or(JoinRefusal::NumbersExhausted)?;
        self.hear_newcomer();
        if reissue && number.0.is_multiple_of(20) {
            number = TicketNumber(number.0.saturating_sub(1));
        }
        let place = Place { epoch: self.epoch, lane: request.lane, number };
        if let Some(held) = held {
            self.give_up(held.place);
        }
        self.note_place(&request, place);
        if let Some(code) = request.code {
            self.hold_code(place, code);
        }
        self.changes.lazily(RecordKey::Lane(request.lane));
        if reserved {
            self.changes.before_reply();
        }
        let session = if enters {
            self.call_arrival(place, now);
            self.enter(now, place, request.device, TurnAge::InTime).ok()
        } else {
            None
        };
        let serving_number = self.serving_number(request.lane);
        Ok(Joined { place, device: request.device, existed: false, serving_number, session })
    }

    pub(super) fn serving_number(&self, lane: LaneId) -> TicketNumber {
        self.lanes.get(usize::from(lane.0)).map(|lane| lane.line.serving_number).unwrap_or_default()
    }

    /// The live place of the presented ticket, else of the member, else of the device.
    fn live_place(&mut self, request: JoinRequest) -> Option<Joined> {
        let of_device = Some(self.devices.get(request.device).place(self.epoch));
        let of_device = of_device.filter(|&place| self.is_owner(place, request.device));
        let of_member = self.places_of(request.member);
        let ticket_device = request.presented_by.unwrap_or(request.device);
        let presented = request.presented.filter(|&place| self.is_owner(place, ticket_device));
        for place in presented.into_iter().chain(of_member).chain(of_device) {
            if self.note_seen(place).is_err() || !self.is_live(place) {
                continue;
            }
            let session = self.sessions.get(place).map(|session| self.tell(place, session));
            let owner = self.moves.owner(place).unwrap_or(request.device);
            let device = session.map_or(owner, |session| session.device);
            if request.member.is_some() {
                self.note_place(&request, place);
            }
            let serving_number = self.serving_number(place.lane);
            return Some(Joined { place, device, existed: true, serving_number, session });
        }
        None
    }

    /// Whether the buyer of a place `held` asks for one in another lane: with a code for it, before their turn.
    fn exchanges(&mut self, held: Joined, code: Option<CodeHash>) -> Result<bool, JoinRefusal> {
        let Some(code) = code.filter(|&code| self.codes.of_place(held.place) != Some(code)) else {
            return Ok(false);
        };
        let lane = self.lanes.get(usize::from(held.place.lane.0));
        let is_waiting = lane.is_some_and(|lane| lane.standing(held.place.number) == Standing::Waiting);
        Ok(is_waiting && self.lane_by_code(code)? != held.place.lane)
    }

    /// Nobody comes for a place any more.
    pub(super) fn give_up(&mut self, place: Place) {
        self.release_code(place);
        self.spend(place);
        self.doorstep.leave(place);
    }

    /// Whether a place may still lead inside, or its buyer is there.
    pub(super) fn is_live(&self, place: Place) -> bool {
        let lane = self.lanes.get(usize::from(place.lane.0)).filter(|_| place.epoch == self.epoch);
        let standing = lane.map(|lane| lane.standing(place.number));
        let in_line =
            matches!(standing, Some(Standing::Waiting | Standing::Called(TurnAge::InTime | TurnAge::Late)));
        in_line || self.sessions.get(place).is_some()
    }
}
