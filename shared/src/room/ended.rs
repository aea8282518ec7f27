//! The feed of sessions that ended before their pass ran out, so that edges stop honouring those passes.

use crate::{ids::Place, time::Timestamp, wire::EndedPage};
use std::collections::BTreeMap;

/// Entries in one page of the feed.
pub const PAGE_ENTRIES: usize = 4_096;

/// Ended sessions by sequence number; an entry goes when its pass has run out, so memory is at most the ends of one pass life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EndedFeed {
    last_seq: u64,
    entries: BTreeMap<u64, EndedEntry>,
}

/// One ended session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EndedEntry {
    /// The session's place.
    pub place: Place,
    /// When its last pass runs out.
    pub pass_expires_at: Timestamp,
}

impl EndedFeed {
    /// The newest sequence number, 0 before the first.
    pub(super) fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Adds an entry and returns its sequence number.
    pub(super) fn push(&mut self, entry: EndedEntry) -> u64 {
        self.last_seq = self.last_seq.saturating_add(1);
        self.entries.insert(self.last_seq, entry);
        self.last_seq
    }

    /// Puts back an entry that was read from a store.
    pub(super) fn restore(&mut self, seq: u64, entry: EndedEntry) {
        self.last_seq = self.last_seq.max(seq);
        self.entries.insert(seq, entry);
    }

    /// Sequence numbers are never given twice: resumes after the highest that was stored.
    pub(super) fn resume_after(&mut self, seq: u64) {
        self.last_seq = self.last_seq.max(seq);
    }

    /// Drops and names one entry whose pass has run out at `now`.
    ///
    /// Ends come nearly in the order in which their passes run out; one that ran out early waits behind its elders.
    pub(super) fn pop_outlived(&mut self, now: Timestamp) -> Option<u64> {
        let (&seq, entry) = self.entries.first_key_value()?;
        if entry.pass_expires_at > now {
            return None;
        }
        self.entries.remove(&seq);
        Some(seq)
    }

    /// One entry.
    pub(super) fn get(&self, seq: u64) -> Option<EndedEntry> {
        self.entries.get(&seq).copied()
    }

    /// The sequence numbers still kept.
    pub(super) fn seqs(&self) -> impl Iterator<Item = u64> {
        self.entries.keys().copied()
    }

    /// What came after `after`, at most [`PAGE_ENTRIES`]; a reader from the future (another store) starts anew.
    pub(super) fn page(&self, after: u64) -> EndedPage {
        let reset = after > self.last_seq;
        let start = if reset { 0 } else { after };
        let newer = self.entries.range(start.saturating_add(1)..).take(PAGE_ENTRIES);
        let mut page = EndedPage { seq: start, reset, ended: Vec::new() };
        for (&seq, entry) in newer {
            page.seq = seq;
            page.ended.push((entry.place.epoch, entry.place.lane, entry.place.number));
        }
        if page.ended.len() < PAGE_ENTRIES {
            page.seq = self.last_seq;
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Epoch, LaneId, TicketNumber};

    fn entry(number: u64) -> EndedEntry {
        let place = Place { epoch: Epoch(1), lane: LaneId(0), number: TicketNumber(number) };
        EndedEntry { place, pass_expires_at: Timestamp::from_millis(number) }
    }

    #[test]
    fn a_reader_gets_each_entry_once_page_by_page() {
        let mut feed = EndedFeed::default();
        let page = u64::try_from(PAGE_ENTRIES).unwrap();
        let total = page + 1;
        for number in 1..=total {
            feed.push(entry(number));
        }
        let first = feed.page(0);
        assert_eq!((first.ended.len(), first.seq), (PAGE_ENTRIES, page));
        let second = feed.page(first.seq);
        assert_eq!((second.ended.len(), second.seq, second.reset), (1, total, false));
        assert_eq!(feed.page(second.seq).ended.len(), 0);
    }

    #[test]
    fn a_reader_from_the_future_starts_anew() {
        let mut feed = EndedFeed::default();
        feed.push(entry(1));
        let page = feed.page(900);
        assert!(page.reset);
        assert_eq!((page.seq, page.ended.len()), (1, 1));
    }

    #[test]
    fn entries_go_when_their_pass_has_run_out() {
        let mut feed = EndedFeed::default();
        feed.push(entry(5));
        assert_eq!(feed.pop_outlived(Timestamp::from_micros(4_999)), None);
        assert_eq!(feed.pop_outlived(Timestamp::from_micros(5_000)), Some(1));
        assert_eq!(feed.last_seq(), 1);
    }
}
