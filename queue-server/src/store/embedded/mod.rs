//! Rooms in the memory of this process, their records durable in one file: the default, with nothing to install.
//!
//! One writer thread takes operations in batches, applies them in order, and makes the batch durable in one transaction. An
//! answer that tells of changes which must not be lost leaves after that; so does every later answer of the same room.

mod disk;
mod writer;

pub(crate) use disk::opener;
pub use disk::{OpenError, Opener};

use super::{Called, RoomStore, StoreError, Stored};
use crate::clock::Clock;
use async_trait::async_trait;
use disk::Disk;
use shared::{
    ids::{DeviceHash, Epoch, EventId, Place},
    room::{
        Action, ActionRefusal, CallOrder, EnterRefusal, Extender, Facts, JoinRefusal, JoinRequest, Joined,
        LogEntry, Planted, Room, RoomSettings, Session, SessionRefusal,
    },
    time::Timestamp,
    wire::EndedPage,
};
use std::{path::Path, sync::Arc, thread::JoinHandle};
use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot,
};
use writer::{Message, Reply, Writer};

/// A room to be kept.
pub struct HostedRoom {
    pub event: EventId,
    pub settings: RoomSettings,
    pub planted: Planted,
    /// Where a room without records begins.
    pub first_epoch: Epoch,
}

/// The store of one data directory.
pub struct EmbeddedStore {
    events: Vec<EventId>,
    queue: mpsc::Sender<Message>,
    writer: JoinHandle<()>,
}

/// One room of an [`EmbeddedStore`].
pub struct EmbeddedRoom {
    index: usize,
    queue: mpsc::Sender<Message>,
}

/// Operations that wait for the writer: more than the requests that run at once, so that ticks always find room.
const QUEUE_MAX: usize = 2 * crate::http::CALLS_MAX;

impl EmbeddedStore {
    /// Opens the store of `data_dir` and brings back its rooms, or begins a new one.
    pub fn open(data_dir: &Path, rooms: Vec<HostedRoom>, clock: Clock) -> Result<Self, OpenError> {
        Self::open_with(opener(data_dir, "rooms.redb"), rooms, clock)
    }

    /// As [`open`](Self::open), with a database of the caller's.
    pub fn open_with(opener: Opener, rooms: Vec<HostedRoom>, clock: Clock) -> Result<Self, OpenError> {
        let events = rooms.iter().map(|room| room.event.clone()).collect();
        let writer = Writer::start(Disk::open(opener)?, rooms, clock)?;
        let (queue, operations) = mpsc::channel(QUEUE_MAX);
        let writer = std::thread::Builder::new()
            .name("fairgate-store".to_owned())
            .spawn(move || writer.run(operations))
            .map_err(OpenError::Thread)?;
        Ok(Self { events, queue, writer })
    }

    /// The room of an event that was named at the opening.
    pub fn room(&self, event: &EventId) -> Option<Arc<EmbeddedRoom>> {
        let index = self.events.iter().position(|hosted| hosted == event)?;
        Some(Arc::new(EmbeddedRoom { index, queue: self.queue.clone() }))
    }

    /// Makes everything durable and ends the writer. Later operations are `Unavailable`.
    pub async fn close(self) {
        self.end(Message::Close).await;
    }

    /// Ends the writer as a crash would: what no answer waited for is lost. For tests.
    pub async fn crash(self) {
        self.end(Message::Crash).await;
    }

    async fn end(self, message: Message) {
        // A writer that is gone already has nothing left to end.
        let _ = self.queue.send(message).await;
        let _ = tokio::task::spawn_blocking(|| self.writer.join()).await;
    }
}

impl EmbeddedRoom {
    /// Queues one transition and waits for its answer. The writer drops the answer of a change that it could not make durable.
    pub async fn apply<T: Send + 'static>(
        &self,
        transition: impl FnOnce(&mut Room, Timestamp) -> T + Send + 'static,
    ) -> Stored<T> {
        let (answered, answer) = oneshot::channel();
        let run = move |room: &mut Room, now: Timestamp| -> Reply {
            let told = transition(room, now);
            // Nobody listens any more where the client has gone away.
            Box::new(move || drop(answered.send(told)))
        };
        let operation = Message::Apply { room: self.index, run: Box::new(run) };
        self.queue.try_send(operation).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Overloaded,
            TrySendError::Closed(_) => StoreError::Unavailable,
        })?;
        answer.await.map_err(|_| StoreError::Unavailable)
    }
}

#[async_trait]
impl RoomStore for EmbeddedRoom {
    async fn join(&self, request: JoinRequest) -> Stored<Result<Joined, JoinRefusal>> {
        self.apply(move |room, now| room.join(now, request)).await
    }

    async fn abandon(&self, place: Place, device: DeviceHash) -> Stored<Result<(), EnterRefusal>> {
        self.apply(move |room, now| room.abandon(now, place, device)).await
    }

    async fn redeem(&self, place: Place, device: DeviceHash) -> Stored<Result<Session, EnterRefusal>> {
        self.apply(move |room, now| room.redeem(now, place, device)).await
    }

    async fn renew(&self, place: Place) -> Stored<Result<Session, SessionRefusal>> {
        self.apply(move |room, now| room.renew(now, place)).await
    }

    async fn extend(&self, place: Place, by: Extender) -> Stored<Result<Session, SessionRefusal>> {
        self.apply(move |room, now| room.extend(now, place, by)).await
    }

    async fn operate(&self, by: String, action: Action) -> Stored<Result<Facts, ActionRefusal>> {
        self.apply(move |room, now| room.operate(now, &by, action)).await
    }

    async fn log(&self) -> Stored<Vec<LogEntry>> {
        self.apply(|room, _| room.log_entries().cloned().collect()).await
    }

    async fn finish(&self, place: Place) -> Stored<Result<(), SessionRefusal>> {
        self.apply(move |room, now| room.finish(now, place)).await
    }

    async fn expire(&self) -> Stored<Facts> {
        self.apply(Room::expire).await
    }

    async fn call(&self, order: CallOrder) -> Stored<Called> {
        self.apply(move |room, now| Called::after(room, now, &order)).await
    }

    async fn ended_after(&self, seq: u64) -> Stored<EndedPage> {
        self.apply(move |room, _| room.ended_after(seq)).await
    }
}
