//! What a store keeps of a room: small records by key, written after each transition that changed them.

use super::{
    Room, RoomSettings, Session,
    ended::EndedEntry,
    lane::{Lane, Line},
    machine::{RoomClock, lane_id},
    spent::SpentBits,
};
use crate::{
    ids::{DeviceHash, Epoch, LaneId, Place, TicketNumber},
    limiter::gcra::GcraState,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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
    /// The place of a device.
    Device(DeviceHash),
    /// An entry of the ended feed.
    Ended(u64),
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
    Device(LaneId, TicketNumber),
    /// Of [`RecordKey::Ended`].
    Ended(EndedEntry),
}

/// The room's own record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomRecord {
    epoch: Epoch,
    clock: RoomClock,
    ended_seq: u64,
    rate: GcraState,
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
    dirty: BTreeSet<RecordKey>,
    before_reply: bool,
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

impl Room {
    /// The records changed since the last call, with what they are now.
    pub fn take_changes(&mut self) -> Changes {
        let log = core::mem::take(&mut self.changes);
        let records = log.dirty.into_iter().map(|key| (key, self.record(key))).collect();
        Changes { records, before_reply: log.before_reply }
    }

    /// Whether the reply of what was just done must wait for a commit.
    pub fn must_commit(&self) -> bool {
        self.changes.before_reply
    }

    /// Rebuilds a room from its records: no number is reissued, no session or spent bit is lost.
    ///
    /// Numbers that were reserved ahead are burned, since the crash may have forgotten who got them.
    ///
    /// # Errors
    /// [`RecordError::Mismatched`] where key and value are of different kinds.
    pub fn restore(
        settings: RoomSettings,
        records: impl IntoIterator<Item = (RecordKey, RecordValue)>,
    ) -> Result<Self, RecordError> {
        let mut room = Self::new(settings);
        let mut lines: BTreeMap<LaneId, Line> = BTreeMap::new();
        let mut spent: BTreeMap<LaneId, SpentBits> = BTreeMap::new();
        for (key, value) in records {
            match (key, value) {
                (RecordKey::Room, RecordValue::Room(record)) => {
                    room.epoch = record.epoch;
                    room.clock = record.clock;
                    room.rate = record.rate;
                    room.ended.resume_after(record.ended_seq);
                }
                (RecordKey::Lane(id), RecordValue::Lane(line)) => {
                    lines.insert(id, line);
                }
                (RecordKey::Spent(lane, chunk), RecordValue::Spent(words)) => {
                    spent.entry(lane).or_default().restore_chunk(chunk, words);
                }
                (RecordKey::Session(place), RecordValue::Session(session)) => {
                    room.sessions.put(place, session);
                }
                (RecordKey::Device(device), RecordValue::Device(lane, number)) => {
                    room.devices.insert(device, (lane, number));
                }
                (RecordKey::Ended(seq), RecordValue::Ended(entry)) => room.ended.restore(seq, entry),
                _ => return Err(RecordError::Mismatched),
            }
        }
        for (index, lane) in room.lanes.iter_mut().enumerate() {
            if let Some(line) = lines.remove(&lane_id(index)) {
                lane.recover(line, spent.remove(&lane_id(index)).unwrap_or_default());
            }
        }
        Ok(room)
    }

    /// The room as it is after a crash that forgot nothing which was durable: what [`Room::restore`] gives.
    pub fn recover(&mut self) -> Result<(), RecordError> {
        let keys = self.all_keys();
        let records: Vec<_> = keys.into_iter().filter_map(|key| Some((key, self.record(key)?))).collect();
        let planted = self.planted;
        *self = Self::restore(self.settings.clone(), records)?.with_fault(planted);
        Ok(())
    }

    fn all_keys(&self) -> BTreeSet<RecordKey> {
        let mut keys = BTreeSet::from([RecordKey::Room]);
        for (index, lane) in self.lanes.iter().enumerate() {
            let id = lane_id(index);
            keys.insert(RecordKey::Lane(id));
            keys.extend(lane.spent.chunks().map(|chunk| RecordKey::Spent(id, chunk)));
        }
        keys.extend(self.sessions.places().map(RecordKey::Session));
        keys.extend(self.devices.keys().copied().map(RecordKey::Device));
        keys.extend(self.ended.seqs().map(RecordKey::Ended));
        keys
    }

    fn record(&self, key: RecordKey) -> Option<RecordValue> {
        let lane = |id: LaneId| -> Option<&Lane> { self.lanes.get(usize::from(id.0)) };
        match key {
            RecordKey::Room => Some(RecordValue::Room(RoomRecord {
                epoch: self.epoch,
                clock: self.clock,
                ended_seq: self.ended.last_seq(),
                rate: self.rate,
            })),
            RecordKey::Lane(id) => Some(RecordValue::Lane(lane(id)?.line.clone())),
            RecordKey::Spent(id, chunk) => Some(RecordValue::Spent(lane(id)?.spent.chunk(chunk))),
            RecordKey::Session(place) => self.sessions.get(place).map(RecordValue::Session),
            RecordKey::Device(device) => {
                self.devices.get(&device).map(|&(lane, number)| RecordValue::Device(lane, number))
            }
            RecordKey::Ended(seq) => self.ended.get(seq).map(RecordValue::Ended),
        }
    }
}
