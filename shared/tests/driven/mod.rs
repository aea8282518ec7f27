//! A room driven by hand, as a leader drives it.

use shared::{
    ids::{DeviceHash, LaneId, Place},
    room::{CallOrder, EnterRefusal, JoinRequest, LaneSettings, Law, Room, RoomSettings},
    time::Timestamp,
    wire::Phase,
};
use std::time::Duration;

pub(crate) fn settings(capacity: u32) -> RoomSettings {
    RoomSettings {
        capacity,
        admission_rate_per_s: 50,
        turn_grace: Duration::from_secs(300),
        pass_life: Duration::from_secs(120),
        session_max: Duration::from_secs(900),
        poll_budget_per_s: 1_000,
        session_extensions_max: 10,
        sessions_per_buyer: None,
        remembers_devices: true,
        phase: Phase::Open,
        opens_at: None,
        closes_at: None,
        lanes: vec![LaneSettings::weighing("guest", 1)],
    }
}

pub(crate) fn device(id: u16) -> DeviceHash {
    let [high, low] = id.to_be_bytes();
    DeviceHash([high, low, 0, 0, 0, 0, 0, 1])
}

pub(crate) fn request(id: u16, may_enter: bool) -> JoinRequest {
    JoinRequest { may_enter, ..JoinRequest::new(LaneId(0), device(id)) }
}

pub(crate) struct Driven {
    pub(crate) room: Room,
    pub(crate) law: Law,
    pub(crate) now: Timestamp,
}

impl Driven {
    pub(crate) fn new(settings: RoomSettings) -> Self {
        Self { room: Room::new(settings), law: Law::default(), now: Timestamp::from_millis(1_000_000) }
    }

    /// One second passes.
    pub(crate) fn tick(&mut self) -> CallOrder {
        self.now = self.now.saturating_add(Duration::from_secs(1));
        let facts = self.room.expire(self.now);
        let order = self.law.decide(self.room.settings(), &facts);
        self.room.call(self.now, &order);
        order
    }

    pub(crate) fn join(&mut self, id: u16) -> Place {
        self.joins(id, false).0
    }

    /// The place, and whether it is inside.
    pub(crate) fn joins(&mut self, id: u16, may_enter: bool) -> (Place, bool) {
        let joined = self.room.join(self.now, request(id, may_enter)).expect("an open room takes joins");
        (joined.place, joined.session.is_some())
    }

    /// Whether the redemption began a session; false: it was there.
    pub(crate) fn redeem(&mut self, place: Place) -> Result<bool, EnterRefusal> {
        let before = self.sessions();
        self.room.redeem(self.now, place, device(0))?;
        Ok(self.sessions() > before)
    }

    pub(crate) fn sessions(&mut self) -> u32 {
        self.room.expire(self.now).sessions
    }
}
