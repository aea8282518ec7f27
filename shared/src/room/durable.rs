//! What a room hands to its store, and how it is rebuilt from that.

use super::{
    Action, ActionRefusal, Ahead, Facts, Room, RoomSettings,
    lane::Lane,
    line::Line,
    record::{Changes, RecordError, RecordKey, RecordValue, RoomRecord},
    spent::SpentBits,
};
use crate::{
    ids::{Epoch, LaneId},
    time::Timestamp,
};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of the joins between a copy of a room and the moment at which the copy takes the room's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinceCopy {
    /// At most so many in any one lane; more than [`BURNED_MAX`] count as that many.
    JoinedAtMost(u64),
    /// Nothing.
    Unknown,
}

/// Most numbers of a lane that are burned at once: until they are called, each takes four bytes of memory.
pub const BURNED_MAX: u64 = 10_000_000;

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
        let mut ahead: BTreeMap<LaneId, Ahead> = BTreeMap::new();
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
                (RecordKey::Ahead(lane), RecordValue::Ahead(table)) => {
                    ahead.insert(lane, table);
                }
                (RecordKey::Session(place), RecordValue::Session(session)) => {
                    room.sessions.put(place, session);
                }
                (RecordKey::Device(device), RecordValue::Device(visits)) => {
                    room.devices.restore(device, visits);
                }
                (RecordKey::Joined(lane, chunk), RecordValue::Joined(devices)) => {
                    room.devices.restore_chunk(lane, chunk, &devices);
                }
                (RecordKey::Member(hash), RecordValue::Member(member)) => room.members.restore(hash, member),
                (RecordKey::DeviceOfMember(device), RecordValue::DeviceOfMember(member)) => {
                    room.members.restore_device(device, member);
                }
                (RecordKey::Code(hash), RecordValue::Code(code)) => room.codes.restore(hash, code),
                (RecordKey::PlaceByCode(place), RecordValue::PlaceByCode(code)) => {
                    room.codes.restore_place(place, code);
                }
                (RecordKey::MovedPlace(place), RecordValue::MovedPlace(owner)) => {
                    room.moves.restore(place, owner);
                }
                (RecordKey::Control, RecordValue::Control(control)) => room.control = control,
                (RecordKey::Log(seq), RecordValue::Log(entry)) => {
                    room.log.insert(seq, entry);
                }
                (RecordKey::Ended(seq), RecordValue::Ended(entry)) => room.ended.restore(seq, entry),
                _ => return Err(RecordError::Mismatched),
            }
        }
        for index in 0..room.lanes.len() {
            let id = LaneId::at(index);
            let due_s = room.newcomer_due_s(id);
            if let (Some(line), Some(lane)) = (lines.remove(&id), room.lane_mut(id)) {
                let (spent, ahead) = (spent.remove(&id), ahead.remove(&id));
                lane.recover(line, spent.unwrap_or_default(), ahead.unwrap_or_default(), due_s);
            }
        }
        Ok(room)
    }

    /// Lets a room without records begin in a later epoch than the first: tickets of a store that was lost must not meet
    /// their numbers again.
    pub fn begin_in(&mut self, epoch: Epoch) {
        self.epoch = epoch;
        self.changes.lazily(RecordKey::Room);
    }

    /// The room as it is after a crash that forgot nothing which was durable: what [`Room::restore`] gives.
    pub fn recover(&mut self) -> Result<(), RecordError> {
        let planted = self.planted;
        *self = Self::restore(self.settings.clone(), self.records())?.with_fault(planted);
        Ok(())
    }

    /// Everything that a store keeps of this room, as it is now, for a store that has lost it.
    pub fn records(&self) -> Vec<(RecordKey, RecordValue)> {
        self.all_keys().into_iter().filter_map(|key| Some((key, self.record(key)?))).collect()
    }

    /// Burns as many numbers again as [`Room::restore`] just did, at least 64 in each lane: for a store that may have forgotten
    /// its last reservation together with the one before it. Like the others they are skipped without waiting.
    pub fn burn_margin(&mut self) {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            lane.burn_margin();
            self.changes.lazily(RecordKey::Lane(LaneId::at(index)));
        }
    }

    /// Goes on after [`Room::restore`] from a copy that is older than what buyers were told, so that no number means two of them. The store
    /// has to keep all of [`Room::records`] from then on.
    ///
    /// Where it is known how many have joined since, their numbers are burned: whoever owns one keeps the place. Otherwise every ticket is
    /// void, by the order of `by`.
    ///
    /// # Errors
    /// [`ActionRefusal::EpochsExhausted`]; nothing has changed.
    pub fn resume_from_copy(
        &mut self,
        now: Timestamp,
        by: &str,
        since: SinceCopy,
    ) -> Result<Facts, ActionRefusal> {
        match since {
            SinceCopy::JoinedAtMost(count) => {
                self.lanes.iter_mut().for_each(|lane| lane.burn(count.min(BURNED_MAX)));
                Ok(self.facts(now))
            }
            SinceCopy::Unknown => self.operate(now, by, Action::VoidTickets),
        }
    }

    fn all_keys(&self) -> BTreeSet<RecordKey> {
        let mut keys = BTreeSet::from([RecordKey::Room, RecordKey::Control]);
        for (index, lane) in self.lanes.iter().enumerate() {
            let id = LaneId::at(index);
            keys.extend([RecordKey::Lane(id), RecordKey::Ahead(id)]);
            keys.extend(lane.spent.chunks().map(|chunk| RecordKey::Spent(id, chunk)));
        }
        keys.extend(self.sessions.places().map(RecordKey::Session));
        keys.extend(self.devices.keys());
        keys.extend(self.members.keys());
        keys.extend(self.codes.keys());
        keys.extend(self.moves.keys());
        keys.extend(self.ended.seqs().map(RecordKey::Ended));
        keys.extend(self.log.keys().copied().map(RecordKey::Log));
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
            RecordKey::Ahead(id) => Some(RecordValue::Ahead(lane(id)?.ahead.clone())),
            RecordKey::Spent(id, chunk) => {
                let words = lane(id)?.spent.chunk(chunk);
                words.iter().any(|&word| word != 0).then_some(RecordValue::Spent(words))
            }
            RecordKey::Session(place) => self.sessions.get(place).map(RecordValue::Session),
            RecordKey::Device(device) => self.devices.visits(device).map(RecordValue::Device),
            RecordKey::Joined(lane, chunk) => self.devices.chunk(lane, chunk).map(RecordValue::Joined),
            RecordKey::Member(hash) => self.members.get(hash).cloned().map(RecordValue::Member),
            RecordKey::DeviceOfMember(device) => {
                self.members.of_device(device).map(RecordValue::DeviceOfMember)
            }
            RecordKey::Code(hash) => self.codes.get(hash).map(RecordValue::Code),
            RecordKey::PlaceByCode(place) => self.codes.of_place(place).map(RecordValue::PlaceByCode),
            RecordKey::MovedPlace(place) => self.moves.owner(place).map(RecordValue::MovedPlace),
            RecordKey::Control => Some(RecordValue::Control(self.control.clone())),
            RecordKey::Log(seq) => self.log.get(&seq).cloned().map(RecordValue::Log),
            RecordKey::Ended(seq) => self.ended.get(seq).map(RecordValue::Ended),
        }
    }
}
