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

/// The room's own time, driven by its ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RoomClock {
    pub(super) latest: Timestamp,
    pub(super) tick: u64,
    pub(super) at: RoomTime,
}
