//! Where the entry of a key lies. Many small tables instead of one large: each doubles alone, so no insertion moves more
//! than a page.

use hashbrown::HashTable;

/// Positions of entries by the slot hash of their keys. A page takes 5 bytes for each of its slots.
#[derive(Debug)]
pub(super) struct Index {
    pages: Box<[HashTable<u32>]>,
}

impl Index {
    /// An empty index for about `capacity` entries.
    pub(super) fn new(capacity: usize) -> Self {
        let pages = capacity.div_ceil(KEYS_PER_PAGE).max(1);
        Self { pages: (0..pages).map(|_| HashTable::new()).collect() }
    }

    /// The position of the entry with this slot hash that `is_it`.
    pub(super) fn find(&self, slot: u64, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let found = self.pages.get(self.page_of(slot))?.find(slot, |position| is_it(widen(*position)))?;
        Some(widen(*found))
    }

    /// Adds a position that is not in it; `slot_of` tells the slot hashes of the others.
    pub(super) fn insert(&mut self, slot: u64, position: usize, slot_of: impl Fn(usize) -> u64) {
        let page = self.page_of(slot);
        if let (Some(page), Ok(position)) = (self.pages.get_mut(page), u32::try_from(position)) {
            page.insert_unique(slot, position, |position| slot_of(widen(*position)));
        }
    }

    pub(super) fn remove(&mut self, slot: u64, position: usize) {
        let page = self.page_of(slot);
        let Some(page) = self.pages.get_mut(page) else { return };
        if let Ok(found) = page.find_entry(slot, |candidate| widen(*candidate) == position) {
            found.remove();
        }
    }

    /// Notes that an entry has moved.
    pub(super) fn relocate(&mut self, slot: u64, from: usize, to: usize) {
        let page = self.page_of(slot);
        let Some(page) = self.pages.get_mut(page) else { return };
        let found = page.find_mut(slot, |candidate| widen(*candidate) == from);
        if let (Some(position), Ok(to)) = (found, u32::try_from(to)) {
            *position = to;
        }
    }

    /// By bits 11 to 42: a page itself uses the lowest and the highest, and shards those between.
    fn page_of(&self, slot: u64) -> usize {
        let share = (slot >> 11) & u64::from(u32::MAX);
        let pages = u64::try_from(self.pages.len()).unwrap_or(u64::MAX);
        usize::try_from(share.saturating_mul(pages) >> 32).unwrap_or(0)
    }
}

fn widen(position: u32) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// Keys of a page when the table is full. Of 1,024 slots 896 may be taken, so hardly any page grows beyond them.
const KEYS_PER_PAGE: usize = 800;
