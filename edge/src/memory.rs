//! What an isolate remembers of a room.

use shared::gate::{EndedPlaces, SnapshotSlot};
use std::cell::RefCell;

/// What is remembered of one room.
#[derive(Default)]
pub(crate) struct RoomMemory {
    pub(crate) slot: RefCell<SnapshotSlot>,
    pub(crate) ended: RefCell<EndedPlaces>,
}
