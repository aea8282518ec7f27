//! The one thread that touches rooms and what keeps them.

use super::{
    HostedRoom,
    keep::{Broken, Frozen, Keep, Mandate},
};
use crate::{
    clock::Clock,
    plant::{self, ServerFault},
};
use shared::{ids::Epoch, room::Room, time::Timestamp};
use tokio::sync::{mpsc, oneshot};
use tracing::{debug, error, info};

/// What the writer is asked to do.
pub(super) enum Message {
    Apply {
        room: usize,
        run: Transition,
    },
    /// Whether it may run the rooms has changed.
    Look,
    /// A copy is to be made of what is durable.
    Freeze(oneshot::Sender<Option<Frozen>>),
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
    /// Answers of this batch that speak of `rooms` and leave when what they say is durable.
    held: Vec<Reply>,
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
        Self {
            keep,
            hosted,
            rooms: None,
            term: 0,
            held: Vec::new(),
            owes: false,
            unreadable: false,
            clock,
            failed_commits: 0,
        }
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
            self.unreadable = false;
            for message in batch.drain(..) {
                match message {
                    Message::Apply { room, run } => self.apply(room, run),
                    Message::Look => drop(self.rooms()),
                    Message::Freeze(asked) => drop(asked.send(self.keep.frozen())),
                    Message::Close => {
                        self.commit();
                        return;
                    }
                    Message::Crash => return,
                }
            }
            if !self.held.is_empty() {
                self.commit();
            }
        }
    }

    /// Applies one operation. Its answer leaves at once, unless it or an earlier one of the same room and batch must be
    /// durable first: then it is held.
    fn apply(&mut self, index: usize, run: Transition) {
        let now = self.clock.now();
        let Some(room) = self.rooms().and_then(|rooms| rooms.get_mut(index)) else { return };
        let reply = run(room, now);
        let must_wait = room.must_commit() || self.owes;
        if must_wait && !plant::has(ServerFault::AnswerEarly) {
            self.held.push(reply);
        } else {
            reply();
        }
    }

    /// Commits what must be durable, and with it everything else that changed; then the answers that waited leave.
    fn commit(&mut self) {
        let Some(rooms) = &mut self.rooms else { return };
        match self.keep.commit(self.term, &self.hosted, rooms) {
            Ok(()) => {
                self.owes = false;
                let failed_commits = std::mem::take(&mut self.failed_commits);
                if failed_commits > 0 {
                    info!(failed_commits, "commits hold again; operations are confirmed");
                }
                for reply in self.held.drain(..) {
                    reply();
                }
            }
            Err(Broken::Undone(error)) => {
                self.note_failure(&error);
                self.forget_rooms();
            }
            Err(Broken::Unconfirmed(error)) => {
                self.note_failure(&error);
                self.held.clear();
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

    /// Drops the rooms, and with them the answers that speak of them: what comes after them confirms nothing of theirs.
    fn forget_rooms(&mut self) {
        self.rooms = None;
        self.held.clear();
    }

    /// The rooms, if they may be asked; read back where they are not in memory.
    fn rooms(&mut self) -> Option<&mut Vec<Room>> {
        match self.keep.mandate() {
            Mandate::Given { term } if term == self.term => {}
            Mandate::Given { term } => {
                self.forget_rooms();
                self.term = term;
            }
            Mandate::Suspended => return None,
            Mandate::Gone => {
                self.forget_rooms();
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
            // Tickets of a room that was lost must not meet their numbers again.
            let after = |seen: Epoch| Epoch(seen.0.saturating_add(1)).max(hosted.first_epoch);
            room.begin_in(keep.seen_epoch(&hosted.event).map_or(hosted.first_epoch, after));
        } else if K::FORGETS {
            room.burn_margin();
        }
        Ok(room)
    };
    hosted.iter().map(room).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::keep::Records, *};
    use shared::{
        ids::{DeviceHash, Epoch, EventId, LaneId},
        room::{JoinRequest, LaneSettings, Planted, RecordError, RoomSettings},
        wire::Phase,
    };
    use std::{
        sync::{Arc, Mutex},
        time::Duration,
    };

    /// Whoever has the term that stands here keeps everything, and forgets it with the term.
    struct Forgetful(Arc<Mutex<u64>>);

    impl Keep for Forgetful {
        type Error = RecordError;
        const FORGETS: bool = false;

        fn mandate(&self) -> Mandate {
            Mandate::Given { term: *self.0.lock().unwrap() }
        }

        fn read(&mut self, _: u64, _: &EventId) -> Result<Records, RecordError> {
            Ok(Vec::new())
        }

        fn commit(
            &mut self,
            _: u64,
            _: &[HostedRoom],
            rooms: &mut [Room],
        ) -> Result<(), Broken<RecordError>> {
            for room in rooms.iter_mut() {
                drop(room.take_changes());
            }
            Ok(())
        }
    }

    fn hosted() -> HostedRoom {
        let settings = RoomSettings {
            capacity: 3,
            admission_rate_per_s: 5,
            turn_grace: Duration::from_secs(10),
            pass_life: Duration::from_secs(10),
            session_max: Duration::from_secs(30),
            poll_budget_per_s: 100,
            session_extensions_max: 10,
            sessions_per_buyer: None,
            phase: Phase::Open,
            opens_at: None,
            closes_at: None,
            lanes: vec![LaneSettings::weighing("guest", 1)],
        };
        let event = EventId::parse("drop").unwrap();
        HostedRoom { event, settings, planted: Planted::default(), first_epoch: Epoch(1) }
    }

    #[test]
    fn what_was_done_in_one_term_is_not_confirmed_in_the_next() {
        let (clock, _) = Clock::manual(Timestamp::from_millis(1_796_000_000_000));
        let term = Arc::new(Mutex::new(1));
        let mut writer = Writer::new(Forgetful(Arc::clone(&term)), vec![hosted()], clock);
        let confirmed = Arc::new(Mutex::new(Vec::new()));
        let join = |device: u8| -> Transition {
            let confirmed = Arc::clone(&confirmed);
            Box::new(move |room, now| {
                let device = DeviceHash([device; 8]);
                let request = JoinRequest { may_enter: true, ..JoinRequest::new(LaneId(0), device) };
                room.join(now, request).unwrap();
                Box::new(move || confirmed.lock().unwrap().push(device))
            })
        };
        writer.apply(0, join(1));
        *term.lock().unwrap() = 2;
        writer.apply(0, join(2));
        writer.commit();
        assert_eq!(*confirmed.lock().unwrap(), [DeviceHash([2; 8])]);
    }
}
