//! A room in the memory of this process: for tests and for trying things out. A restart forgets everything.

use super::{Called, RoomStore, Stored};
use crate::clock::Clock;
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
use std::sync::{Mutex, PoisonError};

pub struct MemoryStore {
    room: Mutex<Room>,
    clock: Clock,
}

impl MemoryStore {
    pub fn new(room: Room, clock: Clock) -> Self {
        Self { room: Mutex::new(room), clock }
    }

    /// Applies one transition. Changed records are dropped: nothing outlives the process.
    pub fn apply<T>(&self, transition: impl FnOnce(&mut Room, Timestamp) -> T) -> T {
        // A transition of `Room` leaves it whole even if a test's closure around it panicked.
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = transition(&mut room, self.clock.now());
        drop(room.take_changes());
        answer
    }
}

#[async_trait]
impl RoomStore for MemoryStore {
    async fn join(&self, request: JoinRequest) -> Stored<Result<Joined, JoinRefusal>> {
        Ok(self.apply(|room, now| room.join(now, request)))
    }

    async fn abandon(&self, place: Place, device: DeviceHash) -> Stored<Result<(), EnterRefusal>> {
        Ok(self.apply(|room, now| room.abandon(now, place, device)))
    }

    async fn redeem(&self, place: Place, device: DeviceHash) -> Stored<Result<Session, EnterRefusal>> {
        Ok(self.apply(|room, now| room.redeem(now, place, device)))
    }

    async fn renew(&self, place: Place) -> Stored<Result<Session, SessionRefusal>> {
        Ok(self.apply(|room, now| room.renew(now, place)))
    }

    async fn extend(&self, place: Place, by: Extender) -> Stored<Result<Session, SessionRefusal>> {
        Ok(self.apply(|room, now| room.extend(now, place, by)))
    }

    async fn operate(&self, by: String, action: Action) -> Stored<Result<Facts, ActionRefusal>> {
        Ok(self.apply(|room, now| room.operate(now, &by, action)))
    }

    async fn log(&self) -> Stored<Vec<LogEntry>> {
        Ok(self.apply(|room, _| room.log_entries().cloned().collect()))
    }

    async fn finish(&self, place: Place) -> Stored<Result<(), SessionRefusal>> {
        Ok(self.apply(|room, now| room.finish(now, place)))
    }

    async fn revoke(&self, place: Place) -> Stored<Result<(), SessionRefusal>> {
        Ok(self.apply(|room, now| room.revoke(now, place)))
    }

    async fn issue_codes(
        &self,
        lane: LaneId,
        uses: u32,
        codes: Vec<CodeHash>,
    ) -> Stored<Result<CodeCount, IssueRefusal>> {
        Ok(self.apply(|room, now| room.issue_codes(now, lane, uses, &codes)))
    }

    async fn code_count(&self, lane: LaneId) -> Stored<Option<CodeCount>> {
        Ok(self.apply(|room, _| room.code_count(lane)))
    }

    async fn offer_move(
        &self,
        place: Place,
        device: DeviceHash,
        code: CodeHash,
    ) -> Stored<Result<(), MoveRefusal>> {
        Ok(self.apply(|room, now| room.offer_move(now, place, device, code)))
    }

    async fn take_move(&self, code: CodeHash, device: DeviceHash) -> Stored<Result<Joined, MoveRefusal>> {
        Ok(self.apply(|room, now| room.take_move(now, code, device)))
    }

    async fn hear(&self, heard: Vec<Heard>) -> Stored<()> {
        self.apply(|room, now| room.hear(now, &heard));
        Ok(())
    }

    async fn expire(&self) -> Stored<Facts> {
        Ok(self.apply(Room::expire))
    }

    async fn call(&self, order: CallOrder) -> Stored<Called> {
        Ok(self.apply(|room, now| Called::after(room, now, &order)))
    }

    async fn ended_after(&self, seq: u64) -> Stored<EndedPage> {
        Ok(self.apply(|room, _| room.ended_after(seq)))
    }
}
