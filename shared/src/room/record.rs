//! What a store keeps of a room: small records by key, written after each transition that changed them.

use super::{
    Ahead, LogEntry, Session,
    clock::RoomClock,
    code::Code,
    control::Control,
    devices::list::Chunk,
    ended::EndedEntry,
    line::Line,
    visits::{Member, Visits},
};
use crate::{
    ids::{CodeHash, DeviceHash, Epoch, LaneId, MemberHash, Place},
    limiter::gcra::GcraState,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Names one record of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RecordKey {
    /// Epoch, clock and door rate.
    Room,
    /// Numbers and cohorts of a lane.
    Lane(LaneId),
    /// A live session.
    Session(Place),
    /// One chunk of the spent bits of a lane.
    Spent(LaneId, u64),
    /// The sessions of a device, and its place where no list has it.
    Device(DeviceHash),
    /// An entry of the ended feed.
    Ended(u64),
    /// Phase, capacity and message as operator and schedule left them.
    Control,
    /// An entry of the log of changes.
    Log(u64),
    /// How many of those who wait in a lane are still there.
    Ahead(LaneId),
    /// Places and visits of a member.
    Member(MemberHash),
    /// Whose device this is.
    DeviceOfMember(DeviceHash),
    /// An invitation code.
    Code(CodeHash),
    /// The code that opened a place's lane.
    PlaceByCode(Place),
    /// Whose device a place has moved to.
    MovedPlace(Place),
    /// One chunk of the list of a lane: who joined as which number.
    Joined(LaneId, u64),
}

/// The content of one record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordValue {
    /// Of [`RecordKey::Room`].
    Room(RoomRecord),
    /// Of [`RecordKey::Lane`].
    Lane(Line),
    /// Of [`RecordKey::Session`].
    Session(Session),
    /// Of [`RecordKey::Spent`].
    Spent([u64; 8]),
    /// Of [`RecordKey::Device`].
    Device(Visits),
    /// Of [`RecordKey::Ended`].
    Ended(EndedEntry),
    /// Of [`RecordKey::Control`].
    Control(Control),
    /// Of [`RecordKey::Log`].
    Log(LogEntry),
    /// Of [`RecordKey::Ahead`].
    Ahead(Ahead),
    /// Of [`RecordKey::Member`].
    Member(Member),
    /// Of [`RecordKey::DeviceOfMember`].
    DeviceOfMember(MemberHash),
    /// Of [`RecordKey::Code`].
    Code(Code),
    /// Of [`RecordKey::PlaceByCode`].
    PlaceByCode(CodeHash),
    /// Of [`RecordKey::MovedPlace`].
    MovedPlace(DeviceHash),
    /// Of [`RecordKey::Joined`].
    Joined(Chunk),
}

/// The room's own record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomRecord {
    pub(super) epoch: Epoch,
    pub(super) clock: RoomClock,
    pub(super) ended_seq: u64,
    pub(super) rate: GcraState,
}

/// A record that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The bytes are not a record of this version.
    #[error("a stored record cannot be decoded")]
    Undecodable,
    /// Key and value are of different kinds.
    #[error("a stored record does not fit its key")]
    Mismatched,
}

/// The records that transitions changed since the last time they were taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// New content by key; `None`: the record is gone.
    pub records: Vec<(RecordKey, Option<RecordValue>)>,
    /// The reply must not leave before these records are durable. Otherwise losing them is harmless.
    pub before_reply: bool,
}

/// Which records are dirty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChangeLog {
    pub(super) dirty: BTreeSet<RecordKey>,
    pub(super) before_reply: bool,
}

impl ChangeLog {
    /// Notes a changed record; it travels with the next commit.
    pub(super) fn lazily(&mut self, key: RecordKey) {
        self.dirty.insert(key);
    }

    /// The reply of this transition waits for the commit.
    pub(super) fn before_reply(&mut self) {
        self.before_reply = true;
    }
}

impl RecordKey {
    /// The key as bytes, for an ordered store.
    ///
    /// # Errors
    /// Never for a key of this type; the codec's signature allows for it.
    pub fn encode(&self) -> Result<Vec<u8>, RecordError> {
        postcard::to_allocvec(self).map_err(|_| RecordError::Undecodable)
    }

    /// Reads a key.
    ///
    /// # Errors
    /// [`RecordError::Undecodable`].
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        postcard::from_bytes(bytes).map_err(|_| RecordError::Undecodable)
    }
}

impl RecordValue {
    /// The value as bytes.
    ///
    /// # Errors
    /// Never for a value of this type; the codec's signature allows for it.
    pub fn encode(&self) -> Result<Vec<u8>, RecordError> {
        postcard::to_allocvec(self).map_err(|_| RecordError::Undecodable)
    }

    /// Reads a value.
    ///
    /// # Errors
    /// [`RecordError::Undecodable`].
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        postcard::from_bytes(bytes).map_err(|_| RecordError::Undecodable)
    }
}
