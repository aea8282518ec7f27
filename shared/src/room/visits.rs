//! What a room knows of one device: where it stands, and how often it was inside.

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
        self.number = TicketNumber(0);
    }
}
