//! Where in the lists a device is. Buckets split one at a time, in turn, so the index grows with its entries and no insertion moves more
//! than one bucket.
//!
//! See Litwin, "Linear hashing: a new tool for file and table addressing", 1980.

use crate::ids::{LaneId, TicketNumber};

/// A place in seven bytes, found by the slot hash of the device that has it.
#[derive(Clone, Debug)]
pub(super) struct Index {
    buckets: Vec<Vec<Stored>>,
    len: usize,
}

/// Lane, and the five bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry([u8; 6]);

/// An entry behind a byte of its slot hash: of a bucket's entries only one in 256 is looked at in vain.
type Stored = (u8, Entry);

/// Entries for each bucket, on average. Each is looked at for its byte, eight or more at a time.
const LOAD: usize = 64;
/// Entries by which a full bucket grows.
const GROWTH: usize = 8;

impl Entry {
    pub(super) fn new(lane: LaneId, number: TicketNumber) -> Self {
        // Numbers have 40 bits.
        let number = number.0.to_le_bytes();
        let byte = |at: usize| at.checked_sub(1).and_then(|at| number.get(at)).copied().unwrap_or(lane.0);
        Self(core::array::from_fn(byte))
    }

    pub(super) fn lane(self) -> LaneId {
        LaneId(self.0[0])
    }

    pub(super) fn number(self) -> TicketNumber {
        let mut number = [0; 8];
        for (byte, stored) in number.iter_mut().zip(self.0.into_iter().skip(1)) {
            *byte = stored;
        }
        TicketNumber(u64::from_le_bytes(number))
    }
}

impl Index {
    pub(super) fn new() -> Self {
        Self { buckets: vec![Vec::new()], len: 0 }
    }

    /// The entry with this slot hash that `is_it`.
    pub(super) fn find(&self, slot: u64, is_it: impl Fn(Entry) -> bool) -> Option<Entry> {
        let bucket = self.buckets.get(self.bucket_of(slot))?;
        let alike = bucket.iter().filter(|(byte, _)| *byte == byte_of(slot));
        alike.map(|(_, entry)| *entry).find(|&entry| is_it(entry))
    }

    /// Adds an entry that is not in it; `slot_of` tells the slot hashes of all.
    pub(super) fn insert(&mut self, entry: Entry, slot_of: impl Fn(Entry) -> u64) {
        self.put(slot_of(entry), entry);
        self.len = self.len.saturating_add(1);
        if self.len > self.buckets.len().saturating_mul(LOAD) {
            self.split(slot_of);
        }
    }

    pub(super) fn remove(&mut self, slot: u64, entry: Entry) {
        let bucket = self.bucket_of(slot);
        let Some(bucket) = self.buckets.get_mut(bucket) else { return };
        if let Some(position) = bucket.iter().position(|(_, candidate)| *candidate == entry) {
            bucket.swap_remove(position);
            self.len = self.len.saturating_sub(1);
        }
    }

    /// Adds a bucket, and spreads those of one other over both.
    fn split(&mut self, slot_of: impl Fn(Entry) -> u64) {
        let added = self.buckets.len();
        self.buckets.push(Vec::new());
        let Some(bucket) = self.buckets.get_mut(without_highest_bit(added)) else { return };
        for (_, entry) in core::mem::take(bucket) {
            self.put(slot_of(entry), entry);
        }
    }

    fn put(&mut self, slot: u64, entry: Entry) {
        let bucket = self.bucket_of(slot);
        let Some(bucket) = self.buckets.get_mut(bucket) else { return };
        if bucket.len() == bucket.capacity() {
            bucket.reserve_exact(GROWTH);
        }
        bucket.push((byte_of(slot), entry));
    }

    /// As many low bits as there are buckets for; a bucket that is still to come is in its sibling.
    fn bucket_of(&self, slot: u64) -> usize {
        let count = self.buckets.len();
        let mask = count.next_power_of_two().saturating_sub(1);
        let low = usize::try_from(slot & 0xffff_ffff).unwrap_or(usize::MAX) & mask;
        if low < count { low } else { without_highest_bit(low) }
    }
}

fn without_highest_bit(number: usize) -> usize {
    number.checked_ilog2().map_or(0, |bit| number ^ (1 << bit))
}

/// The highest byte, of which no bucket knows anything.
fn byte_of(slot: u64) -> u8 {
    slot.to_be_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::key::fold;

    fn slot_of(entry: Entry) -> u64 {
        fold(entry.number().0 ^ 0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03)
    }

    fn entry(number: u64) -> Entry {
        Entry::new(LaneId(3), TicketNumber(number))
    }

    fn find(index: &Index, number: u64) -> Option<Entry> {
        index.find(slot_of(entry(number)), |candidate| candidate == entry(number))
    }

    #[test]
    fn every_entry_is_found_while_buckets_split_and_shrink() {
        const ENTRIES: u64 = 20_000;
        let mut index = Index::new();
        for number in 0..ENTRIES {
            assert_eq!(find(&index, number), None);
            index.insert(entry(number), slot_of);
        }
        assert!((0..ENTRIES).all(|number| find(&index, number) == Some(entry(number))));
        let longest = index.buckets.iter().map(Vec::len).max().unwrap();
        assert!(longest < 4 * LOAD, "{longest}");
        let taken: usize = index.buckets.iter().map(|bucket| bucket.capacity() * size_of::<Stored>()).sum();
        assert!(taken < 20_000 * 8, "{taken} bytes");
        (0..ENTRIES).step_by(2).for_each(|number| index.remove(slot_of(entry(number)), entry(number)));
        assert!((0..ENTRIES).all(|number| find(&index, number).is_some() == (number % 2 == 1)));
        assert_eq!(index.len, 10_000);
    }

    #[test]
    fn an_entry_holds_the_highest_number_of_the_highest_lane() {
        let entry = Entry::new(LaneId(u8::MAX), TicketNumber::MAX);
        assert_eq!((entry.lane(), entry.number()), (LaneId(u8::MAX), TicketNumber::MAX));
    }

    #[test]
    fn slots_that_all_agree_end_in_one_bucket() {
        let mut index = Index::new();
        (0..1_000).for_each(|number| index.insert(entry(number), |_| u64::MAX));
        assert!((0..1_000).all(|number| index.find(u64::MAX, |found| found == entry(number)).is_some()));
    }
}
