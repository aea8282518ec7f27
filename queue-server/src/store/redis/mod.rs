//! Rooms of several servers, their records in Redis or Valkey.
//!
//! The room of an event is the one machine of [`shared::room`], in the memory of the server that leads. Redis keeps the same
//! records as the file of the embedded store: a hash for each event, changed by one script for each batch, which refuses whoever
//! no longer leads. So every rule of a room has one home, and Redis decides nothing.

mod board;
mod event;
mod keep;
mod keys;
mod receive;
mod wire;

pub use receive::ReceiveError;
pub(crate) use receive::receive;

use super::{
    kept::{HostedRoom, KeptRoom, WriterThread},
    writer::{Message, Writer},
};
use crate::{
    clock::Clock,
    leader::{Campaign, Leadership, Lease, LeaseKeys},
    redis::{Address, AddressError, Link},
    rooms::ActiveRoom,
};
use board::Board;
use event::KeptEvent;
use keep::RedisKeep;
use keys::EventKeys;
use shared::{ids::EventId, room::RoomSettings, time::Timestamp};
use std::{io, sync::Arc, time::Duration};
use tokio::{runtime::Handle, task::JoinSet};
use uuid::Uuid;
use wire::{KeepError, Wire};

/// The rooms of one server among several.
pub struct RedisStore {
    thread: WriterThread,
    leadership: Arc<Leadership>,
    lease: Lease,
    link: Link,
    prefix: String,
    tasks: JoinSet<()>,
}

/// Where the records lie and how sure they must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisSettings {
    pub url: String,
    /// What stands before every key.
    pub prefix: String,
    /// Replicas that must have a change before its answer leaves.
    pub replicas: u64,
    /// The time limit of a commit.
    pub budget: Duration,
    /// Where other servers reach this one, such as `http://10.0.0.5:8701`.
    pub advertise: String,
}

/// Why rooms cannot be kept in Redis.
#[derive(Debug, thiserror::Error)]
pub enum RedisStoreError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("the store's thread cannot be started: {0}")]
    Thread(#[from] io::Error),
    #[error("no client for calls between servers: {0}")]
    Client(#[from] reqwest::Error),
}

impl RedisStore {
    /// Begins to connect and to ask who leads, in the runtime that this is called in, which must have threads of its own. Until
    /// this server leads, its rooms are `Unavailable`.
    pub fn open(
        settings: &RedisSettings,
        rooms: Vec<HostedRoom>,
        clock: Clock,
    ) -> Result<Self, RedisStoreError> {
        let connect = || -> Result<Link, AddressError> {
            Ok(Link::open(Address::parse(&settings.url, settings.budget)?, settings.budget))
        };
        // Whoever waits for replicas holds up a connection, so the lease has another one.
        let (link, commits) = (connect()?, connect()?);
        let id = Uuid::new_v4().simple().to_string();
        let leadership = Arc::new(Leadership::new(id, settings.advertise.clone()));
        let now = clock.now();
        let keep = RedisKeep {
            wire: Wire::new(Handle::current(), commits),
            leadership: Arc::clone(&leadership),
            events: rooms
                .iter()
                .map(|room| (room.event.clone(), kept_event(&settings.prefix, room, now)))
                .collect(),
            replicas: settings.replicas,
        };
        let events = rooms.iter().map(|room| room.event.clone()).collect();
        let thread = WriterThread::spawn(Writer::new(keep, rooms, clock), events)?;
        let lease = || Lease::new(link.clone(), LeaseKeys::new(&settings.prefix));
        let mut tasks = JoinSet::new();
        tasks.spawn(Campaign::new(Arc::clone(&leadership), lease())?.run());
        let (mut changes, queue) = (leadership.subscribe(), thread.queue().clone());
        tasks.spawn(async move {
            while changes.changed().await.is_ok() && queue.send(Message::Look).await.is_ok() {}
        });
        Ok(Self { thread, leadership, lease: lease(), link, prefix: settings.prefix.clone(), tasks })
    }

    /// The room of an event that was named at the opening.
    pub fn room(&self, event: &EventId) -> Option<Arc<KeptRoom>> {
        self.thread.room(event)
    }

    pub fn leadership(&self) -> &Arc<Leadership> {
        &self.leadership
    }

    /// Shares the snapshots of a room with the other servers.
    pub fn share(&mut self, room: Arc<ActiveRoom>) {
        let keys = EventKeys::new(&self.prefix, &room.event);
        let (link, leadership) = (self.link.clone(), Arc::clone(&self.leadership));
        self.tasks.spawn(Board { link, keys, leadership, room }.run());
    }

    /// Makes everything durable, ends the writer and lets another server lead. Later operations are `Unavailable`.
    pub async fn close(self) {
        self.end(Message::Close).await;
    }

    /// As a crash would, but that another server may lead at once. For tests.
    pub async fn crash(self) {
        self.end(Message::Crash).await;
    }

    async fn end(mut self, message: Message) {
        self.thread.end(message).await;
        self.tasks.shutdown().await;
        self.lease.resign(self.leadership.id()).await;
    }
}

fn kept_event(prefix: &str, room: &HostedRoom, now: Timestamp) -> KeptEvent {
    KeptEvent::new(EventKeys::new(prefix, &room.event), life(&room.settings, now))
}

/// How long an event's records outlive its last commit: a week after its end, or a month where no end is known.
fn life(settings: &RoomSettings, now: Timestamp) -> Duration {
    settings.closes_at.map_or(LIFE_WITHOUT_END, |end| end.since(now) + LIFE_AFTER_END)
}

const LIFE_AFTER_END: Duration = Duration::from_hours(7 * 24);
const LIFE_WITHOUT_END: Duration = Duration::from_hours(30 * 24);
