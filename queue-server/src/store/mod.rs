//! Where rooms live: each operation applies one transition of [`shared::room::Room`] atomically.
//!
//! The store owns the clock, because the machine that keeps the state must also say when something happened to it.

mod embedded;
mod format;
mod keep;
mod kept;
mod memory;
mod redis;
mod writer;

pub use crate::database::{OpenError, Opener};
pub use embedded::EmbeddedStore;
pub(crate) use embedded::{Freezer, Restored, copy_of_frozen, copy_of_stopped, embedded_records, set_aside};
pub(crate) use keep::{Mandate, Records};
pub use kept::{HostedRoom, KeptRoom};
pub use memory::MemoryStore;
pub(crate) use redis::receive;
pub use redis::{ReceiveError, RedisSettings, RedisStore, RedisStoreError};

use async_trait::async_trait;
use shared::{
    ids::{CodeHash, DeviceHash, LaneId, Place},
    room::{
        Action, ActionRefusal, CallOrder, CodeCount, EnterRefusal, Extender, Facts, Heard, IssueRefusal,
        JoinRefusal, JoinRequest, Joined, LogEntry, MoveRefusal, Room, Session, SessionRefusal,
    },
    time::Timestamp,
    wire::EndedPage,
};

/// One room in a store. A refusal is a value; an error means that nobody knows whether the transition took place, and the
/// same call may be repeated without harm.
#[async_trait]
pub trait RoomStore: Send + Sync {
    /// Gives a place in line, or the one that the ticket or device already has.
    async fn join(&self, request: JoinRequest) -> Stored<Result<Joined, JoinRefusal>>;

    /// Gives a place up, with the session it may have.
    async fn abandon(&self, place: Place, device: DeviceHash) -> Stored<Result<(), EnterRefusal>>;

    /// Lets the owner of a called number in.
    async fn redeem(&self, place: Place, device: DeviceHash) -> Stored<Result<Session, EnterRefusal>>;

    /// Gives a session its full idle time again.
    async fn renew(&self, place: Place) -> Stored<Result<Session, SessionRefusal>>;

    /// Moves a session's hard maximum.
    async fn extend(&self, place: Place, by: Extender) -> Stored<Result<Session, SessionRefusal>>;

    /// Carries out an order of an operator; the answer leaves after it is durable.
    async fn operate(&self, by: String, action: Action) -> Stored<Result<Facts, ActionRefusal>>;

    /// What operators and schedule have changed, oldest first.
    async fn log(&self) -> Stored<Vec<LogEntry>>;

    /// Ends a session in success, at the word of the shop.
    async fn finish(&self, place: Place) -> Stored<Result<(), SessionRefusal>>;

    /// Ends a session without success.
    async fn revoke(&self, place: Place) -> Stored<Result<(), SessionRefusal>>;

    /// Issues codes for a lane, each for so many buyers.
    async fn issue_codes(
        &self,
        lane: LaneId,
        uses: u32,
        codes: Vec<CodeHash>,
    ) -> Stored<Result<CodeCount, IssueRefusal>>;

    /// How the codes of a lane stand; `None`: no such lane.
    async fn code_count(&self, lane: LaneId) -> Stored<Option<CodeCount>>;

    /// Offers a place to whoever brings the code.
    async fn offer_move(
        &self,
        place: Place,
        device: DeviceHash,
        code: CodeHash,
    ) -> Stored<Result<(), MoveRefusal>>;

    /// Moves the place that a code offers.
    async fn take_move(&self, code: CodeHash, device: DeviceHash) -> Stored<Result<Joined, MoveRefusal>>;

    /// Notes that these waiting buyers are still there. Nothing of it is durable.
    async fn hear(&self, heard: Vec<Heard>) -> Stored<()>;

    /// Drives the room's clock by one tick.
    async fn expire(&self) -> Stored<Facts>;

    /// Calls numbers. The answer leaves after everything it tells is durable, because a snapshot is made from it, and what
    /// buyers were shown must not fall behind in a crash.
    async fn call(&self, order: CallOrder) -> Stored<Called>;

    /// A page of the feed of ended sessions.
    async fn ended_after(&self, seq: u64) -> Stored<EndedPage>;
}

/// How a room stands after the calls of a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    pub facts: Facts,
    /// Whether an arrival may enter at once.
    pub session_free: bool,
}

impl Called {
    fn after(room: &mut Room, now: Timestamp, order: &CallOrder) -> Self {
        let facts = room.call(now, order);
        Self { session_free: room.session_free(now), facts }
    }
}

/// What a store answers.
pub type Stored<T> = Result<T, StoreError>;

/// Why a store did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It could not make the change durable.
    #[error("the store did not confirm")]
    Unavailable,
    /// More operations wait than it takes on.
    #[error("the store has more work than it takes on")]
    Overloaded,
}
