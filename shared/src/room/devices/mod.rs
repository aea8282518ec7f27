//! Which place each device has, so that nobody gets a second one.
//!
//! Numbers are given in order, so who joined as which number is a list: eight bytes a buyer in memory and in the store, and joins that
//! follow each other are stored side by side. What does not fit in it has a record of its own: the sessions that a device has had, and a
//! place that more than one device knows.

mod index;
pub(super) mod list;

use super::{
    record::{ChangeLog, RecordKey},
    visits::Visits,
};
use crate::{
    ids::{DeviceHash, LaneId, TicketNumber},
    limiter::key::fold,
};
use index::{Entry, Index};
use list::{Chunk, List};
use std::collections::BTreeMap;

/// The devices of a room. A waiting one takes 8 bytes in a list, and 7 to find it there.
#[derive(Clone, Debug)]
pub(super) struct Devices {
    /// Who has which number, by lane. A device is in these at most once.
    lists: Vec<List>,
    /// Where in the lists each device is.
    index: Index,
    /// What the lists do not tell; the place here is the one that counts.
    visits: BTreeMap<DeviceHash, Visits>,
}

/// The index follows from the lists, and its order from their history.
impl PartialEq for Devices {
    fn eq(&self, other: &Self) -> bool {
        (&self.lists, &self.visits) == (&other.lists, &other.visits)
    }
}

impl Eq for Devices {}

impl Devices {
    /// Nobody yet, in so many lanes.
    pub(super) fn new(lanes: usize) -> Self {
        Self { lists: vec![List::default(); lanes], index: Index::new(), visits: BTreeMap::new() }
    }

    /// Where a device stands and how often it was inside; number 0: it has no place.
    pub(super) fn get(&self, device: DeviceHash) -> Visits {
        let own = self.visits.get(&device).copied().unwrap_or_default();
        if own.number != NONE {
            return own;
        }
        let (lane, number) = self.listed(device).unwrap_or_default();
        Visits { lane, number, ..own }
    }

    /// The device's place is this one from now on.
    pub(super) fn set_place(
        &mut self,
        device: DeviceHash,
        lane: LaneId,
        number: TicketNumber,
        changes: &mut ChangeLog,
    ) {
        self.forget_place(device, changes);
        if !self.enlist(device, lane, number, changes) {
            self.change(device, changes, |visits| (visits.lane, visits.number) = (lane, number));
        }
    }

    /// The device has no place any more.
    pub(super) fn forget_place(&mut self, device: DeviceHash, changes: &mut ChangeLog) {
        self.change(device, changes, Visits::forget_place);
        if let Some((lane, number)) = self.listed(device) {
            self.index.remove(slot_of(device), Entry::new(lane, number));
            if let Some(list) = self.lists.get_mut(usize::from(lane.0)) {
                list.clear(number);
                changes.lazily(RecordKey::Joined(lane, List::chunk_of(number)));
            }
        }
    }

    /// A session of the device has begun.
    pub(super) fn count_session(&mut self, device: DeviceHash, changes: &mut ChangeLog) {
        self.change(device, changes, |visits| visits.sessions = visits.sessions.saturating_add(1));
    }

    /// Numbering begins anew; sessions belong to the event and stay.
    pub(super) fn forget_places(&mut self, changes: &mut ChangeLog) {
        self.keys().for_each(|key| changes.lazily(key));
        *self = Self { visits: core::mem::take(&mut self.visits), ..Self::new(self.lists.len()) };
        self.visits.values_mut().for_each(Visits::forget_place);
        self.visits.retain(|_, visits| *visits != Visits::default());
    }

    /// The keys of everything that is known.
    pub(super) fn keys(&self) -> impl Iterator<Item = RecordKey> {
        let lists = self.lists.iter().enumerate();
        let joined = lists.flat_map(|(index, list)| {
            list.chunks().map(move |chunk| RecordKey::Joined(LaneId::at(index), chunk))
        });
        joined.chain(self.visits.keys().copied().map(RecordKey::Device))
    }

    /// What is stored of one device besides its place in a list.
    pub(super) fn visits(&self, device: DeviceHash) -> Option<Visits> {
        self.visits.get(&device).copied()
    }

    /// What is stored of the devices of these numbers.
    pub(super) fn chunk(&self, lane: LaneId, chunk: u64) -> Option<Chunk> {
        self.lists.get(usize::from(lane.0))?.chunk(chunk)
    }

    /// Puts back what was stored of one device.
    pub(super) fn restore(&mut self, device: DeviceHash, visits: Visits) {
        self.visits.insert(device, visits);
    }

    /// Puts back a chunk that was read from a store; one of a lane that the room no longer has is left out.
    pub(super) fn restore_chunk(&mut self, lane: LaneId, chunk: u64, devices: &Chunk) {
        for (number, &device) in List::numbers_of(chunk).zip(devices) {
            self.put(device, lane, number);
        }
    }

    fn listed(&self, device: DeviceHash) -> Option<(LaneId, TicketNumber)> {
        let found =
            self.index.find(slot_of(device), |entry| device_at(&self.lists, entry) == Some(device))?;
        Some((found.lane(), found.number()))
    }

    /// Puts a device in the list of its lane; false where its number is another's.
    fn enlist(
        &mut self,
        device: DeviceHash,
        lane: LaneId,
        number: TicketNumber,
        changes: &mut ChangeLog,
    ) -> bool {
        let is_listed = self.put(device, lane, number);
        if is_listed {
            changes.lazily(RecordKey::Joined(lane, List::chunk_of(number)));
        }
        is_listed
    }

    fn put(&mut self, device: DeviceHash, lane: LaneId, number: TicketNumber) -> bool {
        let list = self.lists.get_mut(usize::from(lane.0));
        let is_put = list.is_some_and(|list| list.put(number, device));
        if is_put {
            let lists = &self.lists;
            let slot_of = |entry| device_at(lists, entry).map_or(0, slot_of);
            self.index.insert(Entry::new(lane, number), slot_of);
        }
        is_put
    }

    /// Changes the device's own record, which is only there while it tells anything.
    fn change(&mut self, device: DeviceHash, changes: &mut ChangeLog, change: impl FnOnce(&mut Visits)) {
        let before = self.visits.get(&device).copied().unwrap_or_default();
        let mut after = before;
        change(&mut after);
        if after == before {
            return;
        }
        if after == Visits::default() {
            self.visits.remove(&device);
        } else {
            self.visits.insert(device, after);
        }
        changes.lazily(RecordKey::Device(device));
    }
}

fn device_at(lists: &[List], entry: Entry) -> Option<DeviceHash> {
    lists.get(usize::from(entry.lane().0))?.get(entry.number())
}

/// Spreads devices over the index. They are hashes already, but nobody has to keep them even.
fn slot_of(device: DeviceHash) -> u64 {
    fold(u64::from_le_bytes(device.0) ^ 0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03)
}

const NONE: TicketNumber = TicketNumber(0);

#[cfg(test)]
mod tests {
    use super::*;

    const LANES: [LaneId; 2] = [LaneId(0), LaneId(1)];

    fn device(id: u64) -> DeviceHash {
        DeviceHash(id.to_le_bytes())
    }

    /// The same devices from what a store keeps of them.
    fn restored(devices: &Devices) -> Devices {
        let mut restored = Devices::new(LANES.len());
        for key in devices.keys() {
            match key {
                RecordKey::Joined(lane, chunk) => {
                    restored.restore_chunk(lane, chunk, &devices.chunk(lane, chunk).unwrap());
                }
                RecordKey::Device(device) => restored.restore(device, devices.visits(device).unwrap()),
                other => panic!("{other:?}"),
            }
        }
        restored
    }

    /// A plain map of the same history.
    #[test]
    fn devices_equal_a_map_through_every_change_and_a_restart() {
        let (mut devices, mut map) = (Devices::new(LANES.len()), BTreeMap::<DeviceHash, Visits>::new());
        let mut changes = ChangeLog::default();
        for step in 0..40_000_u64 {
            // Some come again, some share a number, and number 0 of the ids is the hash that no list holds.
            let id = step * 7_919 % 9_001;
            let (who, visits) = (device(id), map.entry(device(id)).or_default());
            match step % 11 {
                0 => {
                    devices.forget_place(who, &mut changes);
                    visits.forget_place();
                }
                1 => {
                    devices.count_session(who, &mut changes);
                    visits.sessions += 1;
                }
                other => {
                    let lane = LANES[usize::from(other == 2)];
                    let number = TicketNumber(1 + step / if other == 3 { 2 } else { 1 });
                    devices.set_place(who, lane, number, &mut changes);
                    (visits.lane, visits.number) = (lane, number);
                }
            }
            if step % 5_000 == 0 {
                devices = restored(&devices);
            }
        }
        for id in 0..9_001 {
            assert_eq!(devices.get(device(id)), map.get(&device(id)).copied().unwrap_or_default(), "{id}");
        }
        assert_eq!(restored(&devices), devices);
        assert!(devices.visits.len() < 4_000, "{}: most need no record of their own", devices.visits.len());
        devices.forget_places(&mut changes);
        let sessions = |visits: &Visits| Visits { sessions: visits.sessions, ..Visits::default() };
        assert!(map.iter().all(|(&who, visits)| devices.get(who) == sessions(visits)));
        assert!(devices.keys().all(|key| matches!(key, RecordKey::Device(_))));
    }

    #[test]
    fn each_change_names_its_record_and_no_other() {
        let mut devices = Devices::new(LANES.len());
        let changed = |devices: &mut Devices, change: &dyn Fn(&mut Devices, &mut ChangeLog)| {
            let mut changes = ChangeLog::default();
            change(devices, &mut changes);
            changes.dirty.into_iter().collect::<Vec<_>>()
        };
        let [ada, bob] = [device(1), device(2)];
        let place = |who, number| {
            move |devices: &mut Devices, changes: &mut ChangeLog| {
                devices.set_place(who, LaneId(0), TicketNumber(number), changes);
            }
        };
        assert_eq!(changed(&mut devices, &place(ada, 40)), [RecordKey::Joined(LaneId(0), 1)]);
        assert_eq!(changed(&mut devices, &place(bob, 40)), [RecordKey::Device(bob)], "the number is ada's");
        assert_eq!(
            changed(&mut devices, &place(ada, 3)),
            [RecordKey::Joined(LaneId(0), 0), RecordKey::Joined(LaneId(0), 1)]
        );
        assert_eq!(
            changed(&mut devices, &|devices, changes| devices.count_session(ada, changes)),
            [RecordKey::Device(ada)]
        );
        assert_eq!(
            changed(&mut devices, &place(bob, 40)),
            [RecordKey::Device(bob), RecordKey::Joined(LaneId(0), 1)],
            "the number is free"
        );
        assert_eq!(devices.chunk(LaneId(0), 1).unwrap()[8], bob);
        changed(&mut devices, &|devices, changes| devices.forget_place(bob, changes));
        assert_eq!(devices.chunk(LaneId(0), 1), None, "nobody has a number of it");
    }
}
