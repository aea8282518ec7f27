//! One server, its controller and the rooms that share it: what each room heeds at its tick.

use super::{Advice, OriginHealth, OriginSample, OriginSettings, OriginState, RoomNeed, Shares};
use crate::room::{Facts, Heeded, Standstill};
use crate::time::Timestamp;

/// A server with a seat for each of its rooms.
#[derive(Clone, Debug)]
pub struct SharedOrigin {
    health: OriginHealth,
    advice: Advice,
    shares: Shares,
    /// Ended sessions of each room.
    ended: Vec<u64>,
}

impl SharedOrigin {
    /// A server of so many rooms that nothing is known of yet.
    pub fn new(settings: OriginSettings, rooms: usize, now: Timestamp) -> Self {
        Self {
            health: OriginHealth::new(settings, now),
            advice: Advice { capacity: settings.capacity_max, reason: None },
            shares: Shares::of(rooms),
            ended: vec![0; rooms],
        }
    }

    /// Hears what an edge saw.
    pub fn hear(&mut self, sample: &OriginSample, now: Timestamp) {
        self.health.hear(sample, now);
    }

    /// What the room of this seat heeds at its tick; `weight` is its own beside the others', 1 at least.
    pub fn heed(&mut self, seat: usize, weight: u32, facts: &Facts) -> Heeded {
        if let Some(ended) = self.ended.get_mut(seat) {
            *ended = facts.sessions_ended_total;
        }
        let ended_total = self.ended.iter().fold(0_u64, |sum, ended| sum.saturating_add(*ended));
        let of_all = OriginState { sessions: self.shares.sessions(), ended_total };
        self.advice = self.health.advise(of_all, facts.now);
        let wanted = wanted(facts);
        let need = RoomNeed { weight, sessions: facts.sessions, wanted };
        let share = self.shares.share(seat, need, self.advice.capacity);
        let is_bound = share < wanted;
        let reason = self
            .advice
            .reason
            .filter(|reason| reason.holds() || is_bound && *reason == Standstill::OriginSlow);
        Heeded { share: Some(share), reason }
    }

    /// The room of this seat has heeded its share; `facts` are those after it.
    pub fn heeded(&mut self, seat: usize, heeded: Heeded, facts: &Facts) {
        if let Some(share) = heeded.share {
            // On its way down to a smaller share it may fill more than has left by now.
            self.shares.heeded(seat, share, facts.sessions.max(facts.capacity));
        }
    }

    /// The operator fixes the capacity inside its bounds, or lets it follow the server again.
    pub fn fix(&mut self, capacity: Option<u32>) {
        self.health.fix(capacity);
    }

    /// The operator's fixed capacity.
    pub fn fixed(&self) -> Option<u32> {
        self.health.fixed()
    }

    /// What the rooms were last told.
    pub fn advice(&self) -> Advice {
        self.advice
    }

    /// Sessions of all rooms, as they last said.
    pub fn sessions(&self) -> u32 {
        self.shares.sessions()
    }
}

/// Sessions that the room could fill: a tenth more than those inside, called and in line, so that who comes within the second
/// finds a free one.
fn wanted(facts: &Facts) -> u32 {
    let called = facts.lanes.iter().flat_map(|lane| &lane.cohorts);
    let called = called.map(|cohort| u64::from(cohort.missing()));
    let waiting = facts.lanes.iter().map(|lane| lane.waiting);
    let people = called.chain(waiting).fold(u64::from(facts.sessions), u64::saturating_add);
    let people = people.saturating_add(people.div_ceil(10)).saturating_add(SPARE);
    u32::try_from(people).unwrap_or(u32::MAX).min(facts.own_capacity)
}

/// An empty room wants so many.
const SPARE: u64 = 5;
