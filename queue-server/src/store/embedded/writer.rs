//! The one thread that touches rooms and disk.

use super::{
    HostedRoom,
    disk::{Disk, OpenError},
};
use crate::clock::Clock;
use shared::{
    ids::EventId,
    room::{Changes, Room},
    time::Timestamp,
};
use tokio::sync::mpsc;
use tracing::{debug, error, info};

/// What the writer is asked to do.
pub(super) enum Message {
    Apply { room: usize, run: Transition },
    Close,
    Crash,
}

/// Applies an operation to its room.
pub(super) type Transition = Box<dyn FnOnce(&mut Room, Timestamp) -> Reply + Send>;

/// Sends the answer. Dropped unsent, it says `Unavailable`.
pub(super) type Reply = Box<dyn FnOnce() + Send>;

/// Owns the rooms and their file.
pub(super) struct Writer {
    disk: Disk,
    hosted: Vec<HostedRoom>,
    /// In the order of `hosted`; `None` after a failed commit, until they are read back.
    rooms: Option<Vec<Room>>,
    clock: Clock,
    /// Commits that failed since the last one that held: the log tells the first, and the end of them.
    failed_commits: u64,
}

/// Operations in one transaction.
pub(super) const BATCH_MAX: usize = 512;

impl Writer {
    pub(super) fn start(mut disk: Disk, hosted: Vec<HostedRoom>, clock: Clock) -> Result<Self, OpenError> {
        let rooms = read_back(&mut disk, &hosted)?;
        Ok(Self { disk, hosted, rooms: Some(rooms), clock, failed_commits: 0 })
    }

    /// Works until it is closed, or until nobody can ask any more.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while queue.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
            let mut held = Vec::new();
            for message in batch.drain(..) {
                match message {
                    Message::Apply { room, run } => held.extend(self.apply(room, run)),
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
        if room.must_commit() {
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
        let changed: Vec<(&EventId, Changes)> = self
            .hosted
            .iter()
            .map(|hosted| &hosted.event)
            .zip(rooms.iter_mut().map(Room::take_changes))
            .collect();
        match self.disk.commit(&changed) {
            Ok(()) => {
                let failed_commits = std::mem::take(&mut self.failed_commits);
                if failed_commits > 0 {
                    info!(failed_commits, "commits hold again; operations are confirmed");
                }
                for reply in held {
                    reply();
                }
            }
            Err(error) => {
                if self.failed_commits == 0 {
                    error!(%error, "a commit failed; the rooms go back to what is durable, and nothing is confirmed until one holds");
                }
                self.failed_commits = self.failed_commits.saturating_add(1);
                self.rooms = None;
            }
        }
    }

    /// The rooms, read back from what is durable after a failed commit.
    fn rooms(&mut self) -> Option<&mut Vec<Room>> {
        if self.rooms.is_none() {
            match read_back(&mut self.disk, &self.hosted) {
                Ok(rooms) => self.rooms = Some(rooms),
                Err(error) => debug!(%error, "the rooms cannot be read back yet"),
            }
        }
        self.rooms.as_mut()
    }
}

fn read_back(disk: &mut Disk, hosted: &[HostedRoom]) -> Result<Vec<Room>, OpenError> {
    let room = |hosted: &HostedRoom| {
        let records = disk.records(&hosted.event)?;
        let is_new = records.is_empty();
        let mut room = Room::restore(hosted.settings.clone(), records)?.with_fault(hosted.planted);
        if is_new {
            room.begin_in(hosted.first_epoch);
        }
        Ok(room)
    };
    hosted.iter().map(room).collect()
}
