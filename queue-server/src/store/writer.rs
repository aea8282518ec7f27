//! The one thread that touches rooms and what keeps them.

use super::{
    HostedRoom,
    keep::{Broken, Keep, Mandate},
};
use crate::clock::Clock;
use shared::{room::Room, time::Timestamp};
use tokio::sync::mpsc;
use tracing::{debug, error, info};

/// What the writer is asked to do.
pub(super) enum Message {
    Apply {
        room: usize,
        run: Transition,
    },
    /// Whether it may run the rooms has changed.
    Look,
    Close,
    Crash,
}

/// Applies an operation to its room.
pub(super) type Transition = Box<dyn FnOnce(&mut Room, Timestamp) -> Reply + Send>;

/// Sends the answer. Dropped unsent, it says `Unavailable`.
pub(super) type Reply = Box<dyn FnOnce() + Send>;

/// Owns the rooms and what keeps them.
pub(super) struct Writer<K> {
    keep: K,
    hosted: Vec<HostedRoom>,
    /// In the order of `hosted`; `None` until they are read, and again after a commit that was undone.
    rooms: Option<Vec<Room>>,
    /// The term in which the rooms were read.
    term: u64,
    /// The last commit is unconfirmed: whatever the rooms say may tell of it.
    owes: bool,
    /// The rooms could not be read in this batch: its other operations do not try again.
    unreadable: bool,
    clock: Clock,
    /// Commits that failed since the last one that held: the log tells the first, and the end of them.
    failed_commits: u64,
}

/// Operations in one transaction.
pub(super) const BATCH_MAX: usize = 512;

impl<K: Keep> Writer<K> {
    /// A writer that reads its rooms when it is first asked.
    pub(super) fn new(keep: K, hosted: Vec<HostedRoom>, clock: Clock) -> Self {
        Self { keep, hosted, rooms: None, term: 0, owes: false, unreadable: false, clock, failed_commits: 0 }
    }

    /// A writer that has its rooms.
    pub(super) fn start(keep: K, hosted: Vec<HostedRoom>, clock: Clock) -> Result<Self, K::Error> {
        let mut writer = Self::new(keep, hosted, clock);
        writer.rooms = Some(read_back(&mut writer.keep, 0, &writer.hosted)?);
        Ok(writer)
    }

    /// Works until it is closed, or until nobody can ask any more.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while queue.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
            let mut held = Vec::new();
            self.unreadable = false;
            for message in batch.drain(..) {
                match message {
                    Message::Apply { room, run } => held.extend(self.apply(room, run)),
                    Message::Look => drop(self.rooms()),
                    Message::Close => {
                        self.finish_batch(held, true);
                        return;
                    }
                    Message::Crash => return,
                }
            }
            self.finish_batch(held, false);
        }
    }

    /// Applies one operation. Its answer leaves at once, unless it or an earlier one of the same room and batch must be
    /// durable first: then it is handed back.
    fn apply(&mut self, index: usize, run: Transition) -> Option<Reply> {
        let now = self.clock.now();
        let room = self.rooms()?.get_mut(index)?;
        let reply = run(room, now);
        let must_commit = room.must_commit();
        if must_commit || self.owes {
            return Some(reply);
        }
        reply();
        None
    }

    /// Commits what must be durable, and with it everything else that changed; then the answers that waited leave.
    fn finish_batch(&mut self, held: Vec<Reply>, is_last: bool) {
        if held.is_empty() && !is_last {
            return;
        }
        let Some(rooms) = &mut self.rooms else { return };
        match self.keep.commit(self.term, &self.hosted, rooms) {
            Ok(()) => {
                self.owes = false;
                let failed_commits = std::mem::take(&mut self.failed_commits);
                if failed_commits > 0 {
                    info!(failed_commits, "commits hold again; operations are confirmed");
                }
                for reply in held {
                    reply();
                }
            }
            Err(Broken::Undone(error)) => {
                self.note_failure(&error);
                self.rooms = None;
            }
            Err(Broken::Unconfirmed(error)) => {
                self.note_failure(&error);
                self.owes = true;
            }
        }
    }

    fn note_failure(&mut self, error: &K::Error) {
        if self.failed_commits == 0 {
            error!(%error, "a commit failed; nothing is confirmed until one holds");
        }
        self.failed_commits = self.failed_commits.saturating_add(1);
    }

    /// The rooms, if they may be asked; read back where they are not in memory.
    fn rooms(&mut self) -> Option<&mut Vec<Room>> {
        match self.keep.mandate() {
            Mandate::Given { term } if term == self.term => {}
            Mandate::Given { term } => {
                self.rooms = None;
                self.term = term;
            }
            Mandate::Suspended => return None,
            Mandate::Gone => {
                self.rooms = None;
                return None;
            }
        }
        if self.rooms.is_none() && !self.unreadable {
            self.owes = false;
            match read_back(&mut self.keep, self.term, &self.hosted) {
                Ok(rooms) => self.rooms = Some(rooms),
                Err(error) => {
                    self.unreadable = true;
                    debug!(%error, "the rooms cannot be read back yet");
                }
            }
        }
        self.rooms.as_mut()
    }
}

fn read_back<K: Keep>(keep: &mut K, term: u64, hosted: &[HostedRoom]) -> Result<Vec<Room>, K::Error> {
    let room = |hosted: &HostedRoom| {
        let records = keep.read(term, &hosted.event)?;
        let is_new = records.is_empty();
        let mut room = Room::restore(hosted.settings.clone(), records)?.with_fault(hosted.planted);
        if is_new {
            room.begin_in(hosted.first_epoch);
        } else if K::FORGETS {
            room.burn_margin();
        }
        Ok(room)
    };
    hosted.iter().map(room).collect()
}
