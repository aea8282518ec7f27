//! One room that a writer runs, and the way to it.

use super::{
    Called, RoomStore, StoreError, Stored,
    keep::Keep,
    writer::{Apply, AtOnce, Message, Reply, Shared, Transition, Writer},
};
use async_trait::async_trait;
use shared::{
    ids::{CodeHash, DeviceHash, Epoch, EventId, LaneId, Place},
    room::{
        Action, ActionRefusal, CallOrder, CodeCount, EnterRefusal, Extender, Facts, Heard, IssueRefusal,
        JoinRefusal, JoinRequest, Joined, LogEntry, MoveRefusal, Planted, Room, RoomSettings, Session,
        SessionRefusal,
    },
    time::Timestamp,
    wire::EndedPage,
};
use std::{
    io,
    sync::{Arc, Mutex},
    thread::JoinHandle,
};
use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot,
};

/// A room to be kept.
pub struct HostedRoom {
    pub event: EventId,
    pub settings: RoomSettings,
    pub planted: Planted,
    /// Where a room without records begins.
    pub first_epoch: Epoch,
}

/// One room of a store that keeps it.
pub struct KeptRoom {
    index: usize,
    writer: Arc<dyn Apply>,
    queue: mpsc::Sender<Message>,
}

/// A writer at work.
pub(super) struct WriterThread {
    events: Vec<EventId>,
    writer: Arc<dyn Apply>,
    queue: mpsc::Sender<Message>,
    thread: JoinHandle<()>,
}

/// Operations that wait for the writer: more than the requests that run at once, so that ticks always find room.
const QUEUE_MAX: usize = 2 * crate::http::CALLS_MAX;

impl WriterThread {
    pub(super) fn spawn<K: Keep>(writer: Writer<K>, events: Vec<EventId>) -> io::Result<Self> {
        let (queue, operations) = mpsc::channel(QUEUE_MAX);
        let shared = Arc::new(Mutex::new(Some(writer)));
        let writer: Arc<dyn Apply> = Arc::<Shared<K>>::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("fairgate-store".to_owned())
            .spawn(move || Writer::run(&shared, operations))?;
        Ok(Self { events, writer, queue, thread })
    }

    /// The room of an event that was named at the opening.
    pub(super) fn room(&self, event: &EventId) -> Option<Arc<KeptRoom>> {
        let index = self.events.iter().position(|hosted| hosted == event)?;
        let writer = Arc::clone(&self.writer);
        Some(Arc::new(KeptRoom { index, writer, queue: self.queue.clone() }))
    }

    /// The way to the writer.
    pub(super) fn queue(&self) -> &mpsc::Sender<Message> {
        &self.queue
    }

    /// Sends its last message and waits until it has ended.
    pub(super) async fn end(self, message: Message) {
        // A writer that is gone already has nothing left to end.
        let _ = self.queue.send(message).await;
        let _ = tokio::task::spawn_blocking(|| self.thread.join()).await;
    }
}

impl KeptRoom {
    /// Applies one transition, here or behind others, and waits for its answer. The writer drops the answer of a change that it could
    /// not make durable.
    pub async fn apply<T: Send + 'static>(
        &self,
        transition: impl FnOnce(&mut Room, Timestamp) -> T + Send + 'static,
    ) -> Stored<T> {
        let (run, answer) = asking(transition);
        match self.writer.at_once(self.index, run) {
            AtOnce::Applied => {}
            // Where the queue is full the thread has enough to do, and commits in the end.
            AtOnce::Waits => drop(self.queue.try_send(Message::Commit)),
            AtOnce::Busy(run) => self.enqueue(run)?,
        }
        answer.await.map_err(|_| StoreError::Unavailable)
    }

    /// The same for what takes its time: always on the writer's own thread.
    async fn apply_aside<T: Send + 'static>(
        &self,
        transition: impl FnOnce(&mut Room, Timestamp) -> T + Send + 'static,
    ) -> Stored<T> {
        let (run, answer) = asking(transition);
        self.enqueue(run)?;
        answer.await.map_err(|_| StoreError::Unavailable)
    }

    fn enqueue(&self, run: Transition) -> Stored<()> {
        self.queue.try_send(Message::Apply { room: self.index, run }).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Overloaded,
            TrySendError::Closed(_) => StoreError::Unavailable,
        })
    }
}

/// A transition that sends its answer, and where that arrives.
fn asking<T: Send + 'static>(
    transition: impl FnOnce(&mut Room, Timestamp) -> T + Send + 'static,
) -> (Transition, oneshot::Receiver<T>) {
    let (answered, answer) = oneshot::channel();
    let run = move |room: &mut Room, now: Timestamp| -> Reply {
        let told = transition(room, now);
        // Nobody listens any more where the client has gone away.
        Box::new(move || drop(answered.send(told)))
    };
    (Box::new(run), answer)
}

#[async_trait]
impl RoomStore for KeptRoom {
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

    async fn revoke(&self, place: Place) -> Stored<Result<(), SessionRefusal>> {
        self.apply(move |room, now| room.revoke(now, place)).await
    }

    async fn issue_codes(
        &self,
        lane: LaneId,
        uses: u32,
        codes: Vec<CodeHash>,
    ) -> Stored<Result<CodeCount, IssueRefusal>> {
        self.apply(move |room, now| room.issue_codes(now, lane, uses, &codes)).await
    }

    async fn code_count(&self, lane: LaneId) -> Stored<Option<CodeCount>> {
        self.apply(move |room, _| room.code_count(lane)).await
    }

    async fn offer_move(
        &self,
        place: Place,
        device: DeviceHash,
        code: CodeHash,
    ) -> Stored<Result<(), MoveRefusal>> {
        self.apply(move |room, now| room.offer_move(now, place, device, code)).await
    }

    async fn take_move(&self, code: CodeHash, device: DeviceHash) -> Stored<Result<Joined, MoveRefusal>> {
        self.apply(move |room, now| room.take_move(now, code, device)).await
    }

    async fn hear(&self, heard: Vec<Heard>) -> Stored<()> {
        self.apply(move |room, now| room.hear(now, &heard)).await
    }

    async fn expire(&self) -> Stored<Facts> {
        self.apply_aside(Room::expire).await
    }

    async fn call(&self, order: CallOrder) -> Stored<Called> {
        self.apply_aside(move |room, now| Called::after(room, now, &order)).await
    }

    async fn ended_after(&self, seq: u64) -> Stored<EndedPage> {
        self.apply(move |room, _| room.ended_after(seq)).await
    }
}
