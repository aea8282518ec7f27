//! What a room knows of one device or one member: where they stand, and how often they were inside.

use crate::ids::{Epoch, LaneId, Place, TicketNumber};
use serde::{Deserialize, Serialize};

/// The visits of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visits {
    pub(super) lane: LaneId,
    /// Its number in this epoch, 0: none.
    pub(super) number: TicketNumber,
    /// Sessions it has had in the event.
    pub(super) sessions: u32,
}

impl Visits {
    /// Its place; with number 0 it has none.
    pub(super) fn place(&self, epoch: Epoch) -> Place {
        Place { epoch, lane: self.lane, number: self.number }
    }

    pub(super) fn forget_place(&mut self) {
        (self.lane, self.number) = (LaneId::default(), TicketNumber(0));
    }
}

/// What a room knows of one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Places of this epoch, the one that was had first in front; a handful at most.
    pub(super) places: Vec<(LaneId, TicketNumber)>,
    /// Sessions of the member in the event, on whatever device.
    pub(super) sessions: u32,
}
