//! One bit for each number of a lane: redeemed, abandoned or burned, for the whole epoch.

use crate::ids::TicketNumber;

/// Numbers whose bit is set can never be redeemed again. 1.25 MB for ten million numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SpentBits {
    words: Vec<u64>,
}

/// Numbers in one durable chunk.
pub(super) const CHUNK_NUMBERS: u64 = 512;
const CHUNK_WORDS: usize = 8;

impl SpentBits {
    /// Whether `number` is spent.
    pub(super) fn contains(&self, number: TicketNumber) -> bool {
        let (word, mask) = locate(number);
        self.words.get(word).is_some_and(|bits| bits & mask != 0)
    }

    /// Marks `number`; false where it was marked already.
    ///
    /// Memory grows to the highest number marked, so callers mark only numbers that the lane has given out.
    pub(super) fn insert(&mut self, number: TicketNumber) -> bool {
        let (word, mask) = locate(number);
        if self.words.len() <= word {
            self.words.resize(word.saturating_add(1), 0);
        }
        let Some(bits) = self.words.get_mut(word) else { return false };
        let fresh = *bits & mask == 0;
        *bits |= mask;
        fresh
    }

    /// The durable chunk that holds `number`.
    pub(super) fn chunk_of(number: TicketNumber) -> u64 {
        number.0.checked_div(CHUNK_NUMBERS).unwrap_or(0)
    }

    /// The chunks in which a bit is set.
    pub(super) fn chunks(&self) -> impl Iterator<Item = u64> {
        let set = |words: &[u64]| words.iter().any(|&word| word != 0);
        (0..).zip(self.words.chunks(CHUNK_WORDS)).filter(move |(_, words)| set(words)).map(|(chunk, _)| chunk)
    }

    /// The words of one chunk, missing ones as 0.
    pub(super) fn chunk(&self, chunk: u64) -> [u64; CHUNK_WORDS] {
        let start = usize::try_from(chunk).unwrap_or(usize::MAX).saturating_mul(CHUNK_WORDS);
        core::array::from_fn(|offset| self.words.get(start.saturating_add(offset)).copied().unwrap_or(0))
    }

    /// Puts back a chunk that was read from a store.
    pub(super) fn restore_chunk(&mut self, chunk: u64, words: [u64; CHUNK_WORDS]) {
        let Ok(chunk) = usize::try_from(chunk) else { return };
        let end = chunk.saturating_add(1).saturating_mul(CHUNK_WORDS);
        if self.words.len() < end {
            self.words.resize(end, 0);
        }
        let start = end.saturating_sub(CHUNK_WORDS);
        if let Some(target) = self.words.get_mut(start..end) {
            target.copy_from_slice(&words);
        }
    }
}

fn locate(number: TicketNumber) -> (usize, u64) {
    let word = usize::try_from(number.0 >> 6).unwrap_or(usize::MAX);
    (word, 1_u64 << (number.0 & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_spent_once() {
        let mut bits = SpentBits::default();
        for number in [1, 63, 64, 511, 512, 10_000_000].map(TicketNumber) {
            assert!(!bits.contains(number));
            assert!(bits.insert(number));
            assert!(!bits.insert(number));
            assert!(bits.contains(number));
        }
        assert!(!bits.contains(TicketNumber(65)));
    }

    #[test]
    fn chunks_carry_every_bit() {
        let mut bits = SpentBits::default();
        let numbers = [1, 500, 511, 512, 1023, 1024, 1500].map(TicketNumber);
        for number in numbers {
            bits.insert(number);
        }
        let mut copy = SpentBits::default();
        for chunk in [2, 0, 1] {
            copy.restore_chunk(chunk, bits.chunk(chunk));
        }
        for number in 0..2000 {
            assert_eq!(copy.contains(TicketNumber(number)), numbers.contains(&TicketNumber(number)));
        }
    }
}
