//! The one owner of rooms and of what keeps them.
//!
//! A thread of its own commits. An operation that finds the writer at rest is applied where it was asked, because most joins wait for no
//! commit, and a way to another thread and back costs more than a place; all others wait in a queue for the thread.

use super::{
    HostedRoom,
    keep::{Broken, Frozen, Keep, Mandate},
};
use crate::{
    clock::Clock,
    plant::{self, ServerFault},
};
use shared::{ids::Epoch, room::Room, time::Timestamp};
use std::sync::{Mutex, TryLockError};
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
    /// Answers wait for a commit.
    Commit,
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

/// A writer between its thread and those who ask; nothing is left of it when it has ended.
pub(super) type Shared<K> = Mutex<Option<Writer<K>>>;

/// What became of an operation that wanted to be applied at once.
pub(super) enum AtOnce {
    /// It is answered, or will be after a commit that is on its way.
    Applied,
    /// It is answered after a commit, which has to be asked for.
    Waits,
    /// The writer is at work, or has no rooms in memory: the thread has to do it.
    Busy(Transition),
}

/// Applies operations where they are asked.
pub(super) trait Apply: Send + Sync {
    /// Never waits, neither for the writer nor for what keeps the rooms.
    fn at_once(&self, room: usize, run: Transition) -> AtOnce;
}

impl<K: Keep> Apply for Shared<K> {
    fn at_once(&self, room: usize, run: Transition) -> AtOnce {
        let mut writer = match self.try_lock() {
            Ok(writer) => writer,
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => return AtOnce::Busy(run),
        };
        match writer.as_mut() {
            Some(writer) if writer.is_ready() => {
                let waited = !writer.held.is_empty();
                writer.perform(room, run);
                if waited || writer.held.is_empty() { AtOnce::Applied } else { AtOnce::Waits }
            }
            _ => AtOnce::Busy(run),
        }
    }
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

    /// Works until it is closed, or until nobody can ask any more. An operation that panics ends it, too: what it has left of the
    /// rooms is not to be believed.
    pub(super) fn run(shared: &Shared<K>, mut queue: mpsc::Receiver<Message>) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while queue.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
            let Ok(mut writer) = shared.lock() else { return };
            let Some(working) = writer.as_mut() else { return };
            if !working.handle(batch.drain(..)) {
                *writer = None;
                return;
            }
        }
    }

    /// One batch; false: it was the last one.
    fn handle(&mut self, batch: impl Iterator<Item = Message>) -> bool {
        self.unreadable = false;
        for message in batch {
            match message {
                Message::Apply { room, run } => self.apply(room, run),
                Message::Look => drop(self.rooms()),
                Message::Commit => {}
                Message::Freeze(asked) => {
                    // A copy holds whatever was answered before it.
                    self.commit();
                    drop(asked.send(self.keep.frozen()));
                }
                Message::Close => {
                    self.commit();
                    return false;
                }
                Message::Crash => return false,
            }
        }
        if !self.held.is_empty() {
            self.commit();
        }
        true
    }

    /// Whether the rooms are in memory and may be asked now.
    fn is_ready(&self) -> bool {
        self.rooms.is_some() && self.keep.mandate() == Mandate::Given { term: self.term }
    }

    /// Applies one operation, where the rooms may be asked.
    fn apply(&mut self, index: usize, run: Transition) {
        if self.rooms().is_some() {
            self.perform(index, run);
        }
    }

    /// Applies one operation to the rooms in memory. Its answer leaves at once, unless it or an earlier one of the same room must be
    /// durable first: then it is held.
    fn perform(&mut self, index: usize, run: Transition) {
        let now = self.clock.now();
        let Some(room) = self.rooms.as_mut().and_then(|rooms| rooms.get_mut(index)) else { return };
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
            remembers_devices: true,
            phase: Phase::Open,
            opens_at: None,
            closes_at: None,
            lanes: vec![LaneSettings::weighing("guest", 1)],
        };
        let event = EventId::parse("drop").unwrap();
        HostedRoom { event, settings, planted: Planted::default(), first_epoch: Epoch(1) }
    }

    #[test]
    fn an_operation_is_applied_at_once_only_by_a_writer_at_rest_that_has_its_rooms() {
        let (clock, _) = Clock::manual(Timestamp::from_millis(1_796_000_000_000));
        let term = Arc::new(Mutex::new(1));
        let answered = Arc::new(Mutex::new(0));
        let join = |may_enter| -> Transition {
            let answered = Arc::clone(&answered);
            Box::new(move |room, now| {
                let request = JoinRequest { may_enter, ..JoinRequest::new(LaneId(0), DeviceHash([1; 8])) };
                room.join(now, request).unwrap();
                Box::new(move || *answered.lock().unwrap() += 1)
            })
        };
        let shared: Shared<Forgetful> =
            Mutex::new(Some(Writer::new(Forgetful(Arc::clone(&term)), vec![hosted()], clock)));
        assert!(matches!(shared.at_once(0, join(false)), AtOnce::Busy(_)), "its rooms are not read yet");
        let handle = |messages: Vec<Message>| {
            shared.lock().unwrap().as_mut().unwrap().handle(messages.into_iter());
        };
        handle(vec![Message::Look]);
        let busy = shared.lock().unwrap();
        assert!(matches!(shared.at_once(0, join(false)), AtOnce::Busy(_)), "it is at work");
        drop(busy);
        // The first number has to be reserved; what comes after it tells of it.
        assert!(matches!(shared.at_once(0, join(false)), AtOnce::Waits));
        assert!(matches!(shared.at_once(0, join(false)), AtOnce::Applied));
        assert_eq!(*answered.lock().unwrap(), 0);
        handle(vec![Message::Commit]);
        assert_eq!(*answered.lock().unwrap(), 2);
        assert!(matches!(shared.at_once(0, join(false)), AtOnce::Applied));
        assert_eq!(*answered.lock().unwrap(), 3, "nothing to wait for");
        *term.lock().unwrap() = 2;
        assert!(matches!(shared.at_once(0, join(false)), AtOnce::Busy(_)), "these rooms are of another term");
        shared.lock().unwrap().take();
        assert!(matches!(shared.at_once(0, join(false)), AtOnce::Busy(_)), "it has ended");
        assert_eq!(*answered.lock().unwrap(), 3);
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
