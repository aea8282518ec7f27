//! Where the entry of a key lies: extendible hashing. A page that is full splits in two, so the index grows with its keys
//! and no insertion moves more than one page.
//!
//! See Fagin, Nievergelt, Pippenger and Strong, "Extendible hashing: a fast access method for dynamic files", 1979.

use hashbrown::HashTable;

/// Positions of entries by the slot hash of their keys. A page has 512 places of 5 bytes, and is at least half of seven
/// eighths full after it has split: 6 to 12 bytes a key.
#[derive(Debug)]
pub(super) struct Index {
    /// For each value of the first `depth` bits of a share, the place of its page.
    directory: Vec<u32>,
    depth: u32,
    pages: Vec<Page>,
}

#[derive(Debug, Default)]
struct Page {
    positions: HashTable<u32>,
    /// How many first bits all slots of this page have in common.
    depth: u32,
}

impl Index {
    pub(super) fn new() -> Self {
        Self { directory: vec![0], depth: 0, pages: vec![Page::default()] }
    }

    /// The position of the entry with this slot hash that `is_it`.
    #[inline]
    pub(super) fn find(&self, slot: u64, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let page = self.pages.get(self.page_of(slot))?;
        page.positions.find(slot, |position| is_it(widen(*position))).copied().map(widen)
    }

    /// Adds a position that is not in it; `slot_of` tells the slot hashes of all.
    pub(super) fn insert(&mut self, slot: u64, position: usize, slot_of: impl Fn(usize) -> u64) {
        let Ok(position) = u32::try_from(position) else { return };
        let slot_of = |position: &u32| slot_of(widen(*position));
        // Once, unless every slot of the page agrees in the next bit too.
        while self.pages.get(self.page_of(slot)).is_some_and(Page::is_full) && self.split(slot, slot_of) {}
        let page = self.page_of(slot);
        if let Some(page) = self.pages.get_mut(page) {
            page.positions.insert_unique(slot, position, slot_of);
        }
    }

    pub(super) fn remove(&mut self, slot: u64, position: usize) {
        let page = self.page_of(slot);
        let Some(page) = self.pages.get_mut(page) else { return };
        if let Ok(found) = page.positions.find_entry(slot, |candidate| widen(*candidate) == position) {
            found.remove();
        }
    }

    /// Notes that an entry has moved.
    pub(super) fn relocate(&mut self, slot: u64, from: usize, to: usize) {
        let page = self.page_of(slot);
        let Some(page) = self.pages.get_mut(page) else { return };
        let found = page.positions.find_mut(slot, |candidate| widen(*candidate) == from);
        if let (Some(position), Ok(to)) = (found, u32::try_from(to)) {
            *position = to;
        }
    }

    /// Splits the page of `slot` by the next bit; whether it could.
    fn split(&mut self, slot: u64, slot_of: impl Fn(&u32) -> u64) -> bool {
        let old = self.page_of(slot);
        let Some(page) = self.pages.get_mut(old).filter(|page| page.depth < DEPTH_MAX) else { return false };
        let before = page.depth;
        let depth = before.saturating_add(1);
        let [mut first, mut second] = [Page::split_to(depth), Page::split_to(depth)];
        // All are read before any is written: the entries lie anywhere, and so the processor waits for many at once.
        let moved: Vec<(u64, u32)> =
            page.positions.drain().map(|position| (slot_of(&position), position)).collect();
        for (slot, position) in moved {
            let half = if prefix(slot, depth) & 1 == 0 { &mut first } else { &mut second };
            half.positions.insert_unique(slot, position, &slot_of);
        }
        *page = first;
        let place = u32::try_from(self.pages.len()).unwrap_or(u32::MAX);
        self.pages.push(second);
        if depth > self.depth {
            self.directory = self.directory.iter().flat_map(|page| [*page, *page]).collect();
            self.depth = depth;
        }
        // The page had a run of the directory; the second half of it is now the other's.
        let half = 1_usize << self.depth.saturating_sub(depth);
        let run = widen(prefix(slot, before)).saturating_mul(half.saturating_mul(2));
        for page in self.directory.iter_mut().skip(run.saturating_add(half)).take(half) {
            *page = place;
        }
        true
    }

    #[inline]
    fn page_of(&self, slot: u64) -> usize {
        self.directory.get(widen(prefix(slot, self.depth))).copied().map_or(0, widen)
    }
}

impl Page {
    fn split_to(depth: u32) -> Self {
        Self { positions: HashTable::with_capacity(PAGE_KEYS_MAX), depth }
    }

    fn is_full(&self) -> bool {
        self.positions.len() >= PAGE_KEYS_MAX
    }
}

/// The first `depth` of the bits by which pages split, 11 to 26. A page itself uses the lowest bits and the highest, and
/// shards those between.
#[inline]
fn prefix(slot: u64, depth: u32) -> u32 {
    let share = u32::try_from((slot >> 11) & ((1 << DEPTH_MAX) - 1)).unwrap_or(0);
    share >> DEPTH_MAX.saturating_sub(depth)
}

#[inline]
fn widen(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// Of 512 places seven eighths may be taken.
const PAGE_KEYS_MAX: usize = 448;

/// 65,536 pages, for some twenty million keys; beyond them a page grows by doubling.
const DEPTH_MAX: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::key::fold;

    fn slot_of(position: usize) -> u64 {
        fold(u64::try_from(position).unwrap() ^ 0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03)
    }

    fn find(index: &Index, position: usize) -> Option<usize> {
        index.find(slot_of(position), |candidate| candidate == position)
    }

    #[test]
    fn every_position_is_found_while_pages_split_and_shrink() {
        const POSITIONS: usize = 20_000;
        let mut index = Index::new();
        for position in 0..POSITIONS {
            assert_eq!(find(&index, position), None);
            index.insert(slot_of(position), position, slot_of);
        }
        assert!((0..POSITIONS).all(|position| find(&index, position) == Some(position)));
        let keys_per_page = POSITIONS / index.pages.len();
        assert!((PAGE_KEYS_MAX / 2..PAGE_KEYS_MAX).contains(&keys_per_page), "{keys_per_page}");
        assert!(index.pages.iter().all(|page| page.positions.capacity() <= PAGE_KEYS_MAX), "no page doubles");
        for position in (0..POSITIONS).step_by(2) {
            index.remove(slot_of(position), position);
        }
        assert!((0..POSITIONS).all(|position| find(&index, position).is_some() == (position % 2 == 1)));
        index.relocate(slot_of(1), 1, POSITIONS);
        assert_eq!(index.find(slot_of(1), |_| true), Some(POSITIONS));
    }

    #[test]
    fn slots_that_all_agree_end_in_one_page() {
        let mut index = Index::new();
        let same = |_position: usize| u64::MAX;
        (0..3 * PAGE_KEYS_MAX).for_each(|position| index.insert(u64::MAX, position, same));
        let found = |position| index.find(u64::MAX, |candidate| candidate == position);
        assert!((0..3 * PAGE_KEYS_MAX).all(|position| found(position) == Some(position)));
    }
}
