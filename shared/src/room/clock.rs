//! A room's own time.

use crate::time::Timestamp;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// The two clocks of a room, both from 0 at its first tick and never back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomTime {
    /// Time in which the room's clock was driven: buyers come to the door in this time, whether or not it is full.
    pub up: Duration,
    /// The part of it in which a redemption could have succeeded: turns run out in this time.
    pub redeemable: Duration,
}

/// Where the host's clock and the room's were at one moment of this process. The room's goes on from the latest moment it
/// knew, by the time that passes: a host that comes back with another clock ends no session and holds up no door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Anchor {
    pub(super) host: Timestamp,
    pub(super) room: Timestamp,
}

impl Anchor {
    pub(super) fn to_room(self, host: Timestamp) -> Timestamp {
        self.room.saturating_add(host.since(self.host))
    }

    pub(super) fn to_host(self, room: Timestamp) -> Timestamp {
        if room >= self.room {
            self.host.saturating_add(room.since(self.room))
        } else {
            self.host.saturating_sub(self.room.since(room))
        }
    }
}

/// The room's own time, driven by its ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RoomClock {
    pub(super) latest: Timestamp,
    pub(super) tick: u64,
    pub(super) at: RoomTime,
}
