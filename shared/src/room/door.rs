//! The exact check at redemption, beside which every earlier decision is only a guess.

use super::{Fault, Room, cohorts::TurnAge, lane::Standing, record::RecordKey, sessions::Session};
use crate::{
    ids::{DeviceHash, Place},
    limiter::{
        Decision,
        gcra::{GcraPolicy, GcraState},
    },
    time::Timestamp,
    wire::Phase,
};
use core::time::Duration;

/// Why a ticket does not enter now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnterRefusal {
    /// The ticket belongs to another epoch or to no lane of this room.
    #[error("the ticket is void")]
    Void,
    /// Its place has moved to another device.
    #[error("the place has moved to another device")]
    Moved,
    /// It was redeemed or abandoned before.
    #[error("the ticket is spent")]
    Spent,
    /// Its number is not called yet.
    #[error("the number is not called yet")]
    NotYourTurn,
    /// It was called too long ago.
    #[error("the turn has expired")]
    TurnExpired,
    /// No session is free, or the admission rate of this second is used up; the turn stays.
    #[error("the door is full")]
    Full {
        /// When to try again.
        retry_after: Duration,
    },
    /// Nobody enters in this phase; the turn stays.
    #[error("the line is held")]
    Held(Phase),
    /// The event is over.
    #[error("the event is closed")]
    Closed,
}

/// When a buyer in front of a full door should try again.
pub const RETRY_AT_DOOR: Duration = Duration::from_secs(2);

impl Room {
    /// Lets the owner of a called number in: exact, one-time, idempotent.
    ///
    /// # Errors
    /// [`EnterRefusal`], in the order of its checks: a live session answers first, capacity last.
    pub fn redeem(
        &mut self,
        now: Timestamp,
        place: Place,
        device: DeviceHash,
    ) -> Result<Session, EnterRefusal> {
        let now = self.observe(now);
        self.expire_sessions(now);
        if !self.is_owner(place, device) {
            return Err(EnterRefusal::Moved);
        }
        if let Some(session) = self.sessions.get(place) {
            return Ok(self.tell(place, session));
        }
        let age = self.turn_of(place)?;
        match self.control.phase {
            phase if phase.lets_in() => {}
            Phase::Closed => return Err(EnterRefusal::Closed),
            phase => return Err(EnterRefusal::Held(phase)),
        }
        self.note_come(place, age);
        self.enter(now, place, device, age)
    }

    /// The end of a redemption: a called buyer stands at the door.
    pub(super) fn enter(
        &mut self,
        now: Timestamp,
        place: Place,
        device: DeviceHash,
        age: TurnAge,
    ) -> Result<Session, EnterRefusal> {
        let late = age == TurnAge::Late;
        if !self.control.everyone_in {
            self.check_room(now, place, late)?;
        }
        self.doorstep.leave(place);
        self.doorstep.note_redeemed(now, late);
        if !self.planted.has(Fault::BitDropped) {
            self.spend(place);
        }
        let session = self.new_session(now, device);
        self.sessions.put(place, session);
        self.count_visit(device, place);
        self.queue_under_load(now);
        self.changes.lazily(RecordKey::Session(place));
        self.changes.lazily(RecordKey::Room);
        self.changes.before_reply();
        Ok(self.tell(place, session))
    }

    /// Capacity, the order of those who stand at the door, the admission rate, and the share of late buyers.
    fn check_room(&mut self, now: Timestamp, place: Place, late: bool) -> Result<(), EnterRefusal> {
        if late && !self.late_may_enter(now) {
            return Err(EnterRefusal::Full { retry_after: RETRY_AT_DOOR });
        }
        let sessions_free = self.door_capacity().saturating_sub(self.sessions.count());
        let free = sessions_free.min(self.admissions_left(now));
        let is_next = free == 0 || self.doorstep.is_next(place, free, now);
        if sessions_free == 0 || !is_next {
            self.doorstep.refuse_full(place, now);
            return Err(EnterRefusal::Full { retry_after: RETRY_AT_DOOR });
        }
        if let Some(retry_after) = self.take_admission(now) {
            self.doorstep.refuse_full(place, now);
            return Err(EnterRefusal::Full { retry_after });
        }
        Ok(())
    }

    /// Whether an arrival may enter at once: nobody waits, the admission rate allows it, and a session is free that nobody
    /// called is expected to take.
    pub fn session_free(&self, now: Timestamp) -> bool {
        let taken = self
            .sessions
            .count()
            .saturating_add(self.expected)
            .saturating_add(self.doorstep.waiting_count(now));
        let is_empty = self.lanes.iter().all(|lane| lane.waiting() == 0)
            && taken < self.door_capacity().min(self.capacity_for_newcomers())
            && self.admission_wait(now).is_none();
        self.control.phase.lets_in() && (self.control.everyone_in || is_empty)
    }

    fn turn_of(&mut self, place: Place) -> Result<TurnAge, EnterRefusal> {
        self.note_seen(place)?;
        match self.lane_mut(place.lane).ok_or(EnterRefusal::Void)?.standing(place.number) {
            Standing::Spent => Err(EnterRefusal::Spent),
            Standing::Waiting if self.planted.has(Fault::UncalledEnter) => Ok(TurnAge::InTime),
            Standing::Waiting => Err(EnterRefusal::NotYourTurn),
            Standing::Called(TurnAge::Expired) => Err(EnterRefusal::TurnExpired),
            Standing::Called(age) => Ok(age),
        }
    }

    fn note_come(&mut self, place: Place, age: TurnAge) {
        if age == TurnAge::InTime && !self.doorstep.knows(place) {
            let at = self.clock.at;
            if let Some(lane) = self.lane_mut(place.lane) {
                lane.note_come(place.number, at);
                self.changes.lazily(RecordKey::Lane(place.lane));
            }
        }
    }

    /// Late buyers take their small share, or a session that nobody in time wants.
    fn late_may_enter(&mut self, now: Timestamp) -> bool {
        self.session_free(now) || self.doorstep.late_share_left(now)
    }

    /// How long until the admission rate lets one more in; `None` when it has just done so.
    fn take_admission(&mut self, now: Timestamp) -> Option<Duration> {
        let (state, wait) = self.check_admission(now);
        self.rate = state;
        wait
    }

    /// The same without letting anybody in.
    fn admission_wait(&self, now: Timestamp) -> Option<Duration> {
        self.check_admission(now).1
    }

    /// How many the admission rate lets in at this moment.
    fn admissions_left(&self, now: Timestamp) -> u32 {
        let rate = u64::from(self.settings.admission_rate_per_s);
        let Ok(policy) = GcraPolicy::new(rate, rate, Duration::from_secs(1)) else { return 0 };
        u32::try_from(policy.check(self.rate, now, 0).decision.remaining()).unwrap_or(u32::MAX)
    }

    /// A rate of 0 lets nobody in.
    fn check_admission(&self, now: Timestamp) -> (GcraState, Option<Duration>) {
        let rate = u64::from(self.settings.admission_rate_per_s);
        let Ok(policy) = GcraPolicy::new(rate, rate, Duration::from_secs(1)) else {
            return (self.rate, Some(RETRY_AT_DOOR));
        };
        let transition = policy.check(self.rate, now, 1);
        let wait = match transition.decision {
            Decision::Allowed { .. } => None,
            Decision::Denied { .. } if self.planted.has(Fault::RateForgotten) => None,
            Decision::Denied { retry_after, .. } => Some(retry_after.unwrap_or(RETRY_AT_DOOR)),
        };
        (transition.state, wait)
    }

    fn door_capacity(&self) -> u32 {
        let one_too_many = u32::from(self.planted.has(Fault::DoorOffByOne));
        self.capacity().saturating_add(one_too_many)
    }

    fn new_session(&self, now: Timestamp, device: DeviceHash) -> Session {
        let ends_at = now.saturating_add(self.settings.session_max);
        let expires_at = now.saturating_add(self.settings.pass_life).min(ends_at);
        Session {
            started_at: now,
            expires_at,
            ends_at,
            device,
            extensions: 0,
            told_until: Timestamp::default(),
        }
    }
}
