//! Where a writer keeps what must outlive it: one file, or Redis.

use super::HostedRoom;
use shared::{
    ids::{Epoch, EventId},
    room::{RecordError, RecordKey, RecordValue, Room},
};

/// Everything that is kept of one room.
pub(crate) type Records = Vec<(RecordKey, RecordValue)>;

/// A file as it was at one moment.
pub(super) type Frozen = redb::ReadTransaction;

/// Keeps the records of rooms.
pub(super) trait Keep: Send + 'static {
    type Error: std::error::Error + From<RecordError>;

    /// Whether another writer may have reserved numbers that this keep has forgotten.
    const FORGETS: bool;

    /// Whether the rooms may be asked now.
    fn mandate(&self) -> Mandate;

    /// The latest epoch of a room that was told of by others.
    fn seen_epoch(&self, _event: &EventId) -> Option<Epoch> {
        None
    }

    /// Everything that is kept of one room, for whoever has the mandate of this term.
    fn read(&mut self, term: u64, event: &EventId) -> Result<Records, Self::Error>;

    /// Everything that is durable, as it is now, for a copy; `None` where others make copies.
    fn frozen(&mut self) -> Option<Frozen> {
        None
    }

    /// Makes durable what has changed in the rooms, which were read in this term and stand in the order of `hosted`.
    fn commit(
        &mut self,
        term: u64,
        hosted: &[HostedRoom],
        rooms: &mut [Room],
    ) -> Result<(), Broken<Self::Error>>;
}

/// Whether a writer may run its rooms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mandate {
    /// It may. Rooms that were read in another term are void.
    Given { term: u64 },
    /// Not for now: another may begin to run them. Nobody is answered, and the rooms stay as they are.
    Suspended,
    /// Another runs them.
    Gone,
}

/// Why a commit has not confirmed.
#[derive(Debug)]
pub(super) enum Broken<E> {
    /// Nothing was kept: the rooms go back to what is durable.
    Undone(E),
    /// Nobody knows. The keep remembers what it owes, and the next commit brings it again; until one holds, no answer leaves.
    Unconfirmed(E),
}
