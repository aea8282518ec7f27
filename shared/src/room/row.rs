//! Values in a row that grows at its end and shrinks at its front, in pieces: however long it is, nothing is copied to another place, and
//! what is behind the front is given back.

use std::collections::VecDeque;

/// A queue of small values, by index from the front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row<T> {
    pieces: VecDeque<Box<[T; PIECE]>>,
    /// Places of the first piece that are in front of the row.
    passed: usize,
    len: usize,
}

/// Values that are allocated at once: 3 KiB for those of three bytes.
const PIECE: usize = 1 << PIECE_BITS;
const PIECE_BITS: u32 = 10;

impl<T: Copy> Row<T> {
    pub(super) fn new() -> Self {
        Self { pieces: VecDeque::new(), passed: 0, len: 0 }
    }

    pub(super) fn get(&self, index: usize) -> Option<T> {
        let (piece, offset) = self.locate(index)?;
        self.pieces.get(piece)?.get(offset).copied()
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let (piece, offset) = self.locate(index)?;
        self.pieces.get_mut(piece)?.get_mut(offset)
    }

    /// Makes the row so long, where it is shorter, with `value` in each place that is new.
    pub(super) fn grow_to(&mut self, len: usize, value: T) {
        while self.len < len {
            let (piece, offset) = split(self.passed.saturating_add(self.len));
            if piece == self.pieces.len() {
                self.pieces.push_back(Box::new([value; PIECE]));
            }
            let place = self.pieces.get_mut(piece).and_then(|piece| piece.get_mut(offset));
            let Some(place) = place else { return };
            *place = value;
            self.len = self.len.saturating_add(1);
        }
    }

    /// Drops the first value; false where there is none.
    pub(super) fn drop_first(&mut self) -> bool {
        let Some(len) = self.len.checked_sub(1) else { return false };
        self.len = len;
        self.passed = self.passed.saturating_add(1);
        if self.passed == PIECE {
            self.pieces.pop_front();
            self.passed = 0;
        }
        true
    }

    fn locate(&self, index: usize) -> Option<(usize, usize)> {
        (index < self.len).then(|| split(self.passed.saturating_add(index)))
    }
}

fn split(place: usize) -> (usize, usize) {
    (place >> PIECE_BITS, place & PIECE.wrapping_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_equals_a_queue_through_growth_and_loss() {
        let (mut row, mut queue) = (Row::new(), VecDeque::new());
        for step in 0..40_u32 {
            let len = queue.len() + usize::try_from(step * 97).unwrap();
            row.grow_to(len, step);
            queue.resize(len, step);
            for _ in 0..step * 83 {
                assert_eq!(row.drop_first(), queue.pop_front().is_some());
            }
            if let Some(value) = row.get_mut(7) {
                *value = 1_000 + step;
                queue[7] = 1_000 + step;
            }
            assert_eq!(row.len, queue.len());
            assert!((0..=queue.len()).all(|index| row.get(index) == queue.get(index).copied()), "{step}");
            assert!(row.pieces.len() <= row.len / PIECE + 2, "what has passed is given back");
        }
        while row.drop_first() {}
        assert_eq!((row.len, row.get(0)), (0, None));
        row.grow_to(1, 5);
        assert_eq!((row.get(0), row.get(1)), (Some(5), None));
    }
}
