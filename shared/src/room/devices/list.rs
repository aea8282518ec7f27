//! Who has which number of a lane.

use crate::ids::{DeviceHash, TicketNumber};

/// The devices of so many numbers in a row, as one record of a store.
pub(in crate::room) type Chunk = [DeviceHash; CHUNK_NUMBERS];

/// Devices by number, in chunks that are only there while somebody is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct List {
    /// The last one is never empty.
    chunks: Vec<Option<Box<Chunk>>>,
}

/// Stands where nobody is. The one device in 2^64 whose hash it is has a record of its own instead.
const NOBODY: DeviceHash = DeviceHash([0; 8]);

/// Numbers in a chunk: a join that follows another one writes a quarter of a kilobyte anew.
const CHUNK_NUMBERS: usize = 32;
const CHUNK_BITS: u32 = 5;

impl List {
    pub(super) fn get(&self, number: TicketNumber) -> Option<DeviceHash> {
        let (chunk, offset) = locate(number);
        let device = *self.chunks.get(chunk)?.as_deref()?.get(offset)?;
        (device != NOBODY).then_some(device)
    }

    /// Notes whose a number is; false, and nothing noted, where it is somebody's already.
    ///
    /// Memory grows to the highest number noted, so callers note only numbers that the lane has given out.
    pub(super) fn put(&mut self, number: TicketNumber, device: DeviceHash) -> bool {
        if device == NOBODY || self.get(number).is_some() {
            return false;
        }
        let (chunk, offset) = locate(number);
        if self.chunks.len() <= chunk {
            self.chunks.resize_with(chunk.saturating_add(1), || None);
        }
        let chunk = self.chunks.get_mut(chunk);
        let chunk = chunk.map(|chunk| chunk.get_or_insert_with(|| Box::new([NOBODY; CHUNK_NUMBERS])));
        let Some(place) = chunk.and_then(|chunk| chunk.get_mut(offset)) else { return false };
        *place = device;
        true
    }

    /// The number is nobody's any more.
    pub(super) fn clear(&mut self, number: TicketNumber) {
        let (index, offset) = locate(number);
        let Some(chunk) = self.chunks.get_mut(index) else { return };
        if let Some(place) = chunk.as_deref_mut().and_then(|devices| devices.get_mut(offset)) {
            *place = NOBODY;
        }
        chunk.take_if(|devices| devices.iter().all(|&device| device == NOBODY));
        while self.chunks.pop_if(|last| last.is_none()).is_some() {}
    }

    /// The durable chunk that holds `number`.
    pub(super) fn chunk_of(number: TicketNumber) -> u64 {
        number.0 >> CHUNK_BITS
    }

    /// The numbers of a chunk.
    pub(super) fn numbers_of(chunk: u64) -> impl Iterator<Item = TicketNumber> {
        let first = chunk.checked_shl(CHUNK_BITS).unwrap_or(u64::MAX);
        (first..=u64::MAX).take(CHUNK_NUMBERS).map(TicketNumber)
    }

    /// The chunks in which somebody is.
    pub(super) fn chunks(&self) -> impl Iterator<Item = u64> {
        (0..).zip(&self.chunks).filter(|(_, chunk)| chunk.is_some()).map(|(index, _)| index)
    }

    /// The devices of one chunk; `None` where nobody is in it.
    pub(super) fn chunk(&self, chunk: u64) -> Option<Chunk> {
        self.chunks.get(usize::try_from(chunk).ok()?)?.as_deref().copied()
    }
}

fn locate(number: TicketNumber) -> (usize, usize) {
    let chunk = usize::try_from(number.0 >> CHUNK_BITS).unwrap_or(usize::MAX);
    let offset = number.0 & ((1 << CHUNK_BITS) - 1);
    (chunk, usize::try_from(offset).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_one_device_s_until_it_is_cleared() {
        let (ada, bob) = (DeviceHash([1; 8]), DeviceHash([2; 8]));
        let mut list = List::default();
        for number in [1, 31, 32, 33, 10_000].map(TicketNumber) {
            assert_eq!(list.get(number), None);
            assert!(list.put(number, ada));
            assert!(!list.put(number, bob) && list.get(number) == Some(ada));
        }
        assert_eq!(list.chunks().collect::<Vec<_>>(), [0, 1, 312]);
        list.clear(TicketNumber(10_000));
        assert_eq!((list.chunks.len(), list.get(TicketNumber(10_000))), (2, None), "no empty end");
        assert!(!list.put(TicketNumber(2), NOBODY));
        let numbers: Vec<_> = List::numbers_of(1).collect();
        assert_eq!((numbers.len(), numbers[0], numbers[31]), (32, TicketNumber(32), TicketNumber(63)));
        assert!(numbers.iter().all(|&number| List::chunk_of(number) == 1));
    }
}
