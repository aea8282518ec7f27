//! Which of several servers runs the rooms.
//!
//! One leads: it has the rooms in memory and keeps their records in Redis. The lease on leading says so, and a term counts the
//! leaders. Whoever led before is kept out twice: it stops answering by its own clock before its lease can have run out, and
//! Redis refuses commits of an older term.

mod campaign;
mod lease;
mod peers;

pub(crate) use campaign::Campaign;
pub(crate) use lease::{Lease, LeaseKeys, LeaseTaken};
pub use peers::Peers;

use crate::{
    plant::{self, ServerFault},
    store::Mandate,
};
use shared::ids::{Epoch, EventId};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Instant,
};
use tokio::sync::watch;

/// How this server stands, for everybody in it.
pub struct Leadership {
    id: String,
    address: String,
    standing: Mutex<Standing>,
    /// Counts changes.
    changes: watch::Sender<u64>,
    /// The latest epoch of each room that was published, by whomever.
    epochs: Mutex<BTreeMap<EventId, Epoch>>,
}

/// Who leads, as far as this server knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leader {
    Me,
    /// The server at this address.
    Other(String),
    Nobody,
}

#[derive(Debug, Default)]
struct Standing {
    /// The term that this server leads in, 0: none.
    term: u64,
    /// Up to here nobody else can lead.
    until: Option<Instant>,
    /// Where the server that leads is reached.
    other: Option<String>,
    /// The highest term seen, whoever led.
    seen: u64,
    /// This server cannot read the rooms, so it leaves the lead to others.
    is_barred: bool,
}

impl Leadership {
    /// A server that leads nothing yet; `address` is where other servers reach it.
    pub fn new(id: String, address: String) -> Self {
        Self {
            id,
            address,
            standing: Mutex::default(),
            changes: watch::Sender::new(0),
            epochs: Mutex::default(),
        }
    }

    /// This server among the others; new with every start.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn leader(&self) -> Leader {
        let standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        match (standing.mandate(), &standing.other) {
            (Mandate::Given { .. }, _) => Leader::Me,
            (Mandate::Gone, Some(address)) => Leader::Other(address.clone()),
            (Mandate::Gone | Mandate::Suspended, _) => Leader::Nobody,
        }
    }

    /// The term whose rooms this server has in memory, whether or not it may answer for them now; 0: none.
    pub fn held_term(&self) -> u64 {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).term
    }

    pub(crate) fn mandate(&self) -> Mandate {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).mandate()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// A snapshot of this epoch was published.
    pub(crate) fn see_epoch(&self, event: &EventId, epoch: Epoch) {
        let mut epochs = self.epochs.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = epochs.entry(event.clone()).or_insert(epoch);
        *seen = epoch.max(*seen);
    }

    /// The latest epoch that was seen of a room.
    pub(crate) fn seen_epoch(&self, event: &EventId) -> Option<Epoch> {
        self.epochs.lock().unwrap_or_else(PoisonError::into_inner).get(event).copied()
    }

    /// A record of a later leader was seen: what this server did in `term` is over.
    pub(crate) fn overtaken(&self, term: u64, by: u64) {
        self.change(|standing| {
            standing.seen = standing.seen.max(by);
            if standing.term == term && !plant::has(ServerFault::FenceIgnored) {
                (standing.term, standing.until) = (0, None);
            }
        });
    }

    /// The rooms of `term` are not to be read by this build: it gives up the lead and takes it no more. Whether that is news.
    pub(crate) fn bar(&self, term: u64) -> bool {
        let mut is_news = false;
        self.change(|standing| {
            is_news = !standing.is_barred;
            standing.is_barred = true;
            if standing.term == term {
                (standing.term, standing.until) = (0, None);
            }
        });
        is_news
    }

    fn is_barred(&self) -> bool {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).is_barred
    }

    fn seen(&self) -> u64 {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).seen
    }

    fn lead(&self, term: u64, until: Instant) {
        self.change(|standing| {
            standing.seen = standing.seen.max(term);
            if !standing.is_barred {
                (standing.term, standing.until, standing.other) = (term, Some(until), None);
            }
        });
    }

    fn follow(&self, other: Option<String>, term: u64) {
        self.change(|standing| {
            standing.seen = standing.seen.max(term);
            if standing.term > 0 && plant::has(ServerFault::FenceIgnored) {
                return;
            }
            (standing.term, standing.until, standing.other) = (0, None, other);
        });
    }

    /// Wakes whoever waits for it where the term or the leader is another one.
    fn change(&self, change: impl FnOnce(&mut Standing)) {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = (standing.term, standing.other.clone());
        change(&mut standing);
        let is_news = before != (standing.term, standing.other.clone());
        drop(standing);
        if is_news {
            self.changes.send_modify(|count| *count = count.wrapping_add(1));
        }
    }
}

impl Standing {
    fn mandate(&self) -> Mandate {
        match (self.term, self.until) {
            (0, _) => Mandate::Gone,
            (term, Some(until)) if Instant::now() < until || plant::has(ServerFault::FenceIgnored) => {
                Mandate::Given { term }
            }
            _ => Mandate::Suspended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_mins(1)
    }

    #[test]
    fn a_lease_that_may_have_run_out_suspends_and_a_later_leader_ends() {
        let leadership = Leadership::new("a".to_owned(), "http://a".to_owned());
        assert_eq!((leadership.mandate(), leadership.leader()), (Mandate::Gone, Leader::Nobody));
        leadership.lead(3, soon());
        assert_eq!((leadership.mandate(), leadership.leader()), (Mandate::Given { term: 3 }, Leader::Me));
        leadership.lead(3, Instant::now());
        assert_eq!((leadership.mandate(), leadership.leader()), (Mandate::Suspended, Leader::Nobody));
        assert_eq!(leadership.held_term(), 3, "its rooms are kept: nobody may have followed");
        leadership.follow(Some("http://b".to_owned()), 4);
        assert_eq!(leadership.leader(), Leader::Other("http://b".to_owned()));
        assert_eq!((leadership.held_term(), leadership.seen()), (0, 4));
    }

    #[test]
    fn only_the_term_that_was_overtaken_ends() {
        let leadership = Leadership::new("a".to_owned(), "http://a".to_owned());
        leadership.lead(5, soon());
        leadership.overtaken(4, 5);
        assert_eq!(leadership.mandate(), Mandate::Given { term: 5 });
        leadership.overtaken(5, 7);
        assert_eq!((leadership.mandate(), leadership.seen()), (Mandate::Gone, 7));
    }

    #[test]
    fn who_cannot_read_the_rooms_leads_no_more() {
        let leadership = Leadership::new("a".to_owned(), "http://a".to_owned());
        leadership.lead(1, soon());
        assert!(leadership.bar(1));
        assert!(!leadership.bar(1), "told once");
        leadership.lead(1, soon());
        assert_eq!((leadership.mandate(), leadership.held_term()), (Mandate::Gone, 0));
        leadership.follow(Some("http://b".to_owned()), 2);
        assert_eq!(leadership.leader(), Leader::Other("http://b".to_owned()));
    }

    #[test]
    fn who_waits_is_woken_by_changes_and_not_by_renewals() {
        let leadership = Leadership::new("a".to_owned(), "http://a".to_owned());
        let mut changes = leadership.subscribe();
        leadership.lead(1, soon());
        assert!(changes.has_changed().unwrap());
        changes.borrow_and_update();
        leadership.lead(1, soon());
        assert!(!changes.has_changed().unwrap());
    }
}
