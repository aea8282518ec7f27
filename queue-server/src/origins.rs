//! The watched servers of shops: what edges say of them, and what each room heeds of it.

use shared::{
    config::{Config, EventConfig, OriginConfig},
    ids::EventId,
    origin::{Advice, OriginHealth, OriginSample, OriginSettings, OriginState, RoomNeed, Shares},
    room::{Facts, Heeded, Standstill},
    time::Timestamp,
    wire::OriginReport,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Every `[[origin]]` of the configuration.
pub struct Origins(Vec<Arc<Origin>>);

/// One watched server.
pub struct Origin {
    config: OriginConfig,
    /// Shops that have it.
    shops: Vec<String>,
    rooms: Vec<EventId>,
    state: Mutex<State>,
}

struct State {
    health: OriginHealth,
    advice: Advice,
    shares: Shares,
    /// Ended sessions of each room.
    ended: Vec<u64>,
}

/// A room's seat at its server.
pub struct RoomOrigin {
    origin: Arc<Origin>,
    index: usize,
    weight: u32,
}

/// How a server stands, as its operator sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginStanding {
    pub advice: Advice,
    pub sessions: u32,
    /// The operator's word.
    pub fixed: Option<u32>,
}

impl Origins {
    pub fn new(config: &Config, now: Timestamp) -> Self {
        let origin = |of: &OriginConfig| {
            let shops = config.shops.iter().filter(|shop| shop.origin == of.url);
            let shops: Vec<String> = shops.map(|shop| shop.id.clone()).collect();
            let events = config.events.iter().filter(|event| shops.contains(&event.shop_id));
            let rooms: Vec<EventId> = events.map(|event| event.id.clone()).collect();
            let state = State {
                health: OriginHealth::new(of.settings, now),
                advice: Advice { capacity: of.settings.capacity_max, reason: None },
                shares: Shares::of(rooms.len()),
                ended: vec![0; rooms.len()],
            };
            Arc::new(Origin { config: of.clone(), shops, rooms, state: Mutex::new(state) })
        };
        Self(config.origins.iter().map(origin).collect())
    }

    /// The seat of an event's room; `None` where its server is not watched.
    pub fn seat(&self, event: &EventConfig) -> Option<RoomOrigin> {
        self.0.iter().find_map(|origin| {
            let index = origin.rooms.iter().position(|room| *room == event.id)?;
            Some(RoomOrigin { origin: Arc::clone(origin), index, weight: event.weight })
        })
    }

    pub fn all(&self) -> &[Arc<Origin>] {
        &self.0
    }

    /// The server of this URL.
    pub fn get(&self, url: &str) -> Option<&Arc<Origin>> {
        self.0.iter().find(|origin| origin.url() == url)
    }

    /// Hears what an edge saw; an event whose server is not watched is passed over.
    pub fn hear(&self, report: &OriginReport, now: Timestamp) {
        if let Some(origin) = self.0.iter().find(|origin| origin.rooms.contains(&report.event)) {
            origin.lock().health.hear(&OriginSample::from(report), now);
        }
    }
}

impl Origin {
    pub fn url(&self) -> &str {
        self.config.url.as_str()
    }

    pub fn settings(&self) -> OriginSettings {
        self.config.settings
    }

    pub fn shops(&self) -> &[String] {
        &self.shops
    }

    pub fn standing(&self) -> OriginStanding {
        let state = self.lock();
        let fixed = state.health.fixed();
        OriginStanding { advice: state.advice, sessions: state.shares.sessions(), fixed }
    }

    /// Fixes the capacity at the operator's word, inside the configured bounds, or lets it follow the server again.
    pub fn fix(&self, capacity: Option<u32>) {
        self.lock().health.fix(capacity);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RoomOrigin {
    /// What the room heeds at this tick.
    pub fn heed(&self, facts: &Facts) -> Heeded {
        let mut state = self.origin.lock();
        if let Some(ended) = state.ended.get_mut(self.index) {
            *ended = facts.sessions_ended_total;
        }
        let ended_total = state.ended.iter().fold(0_u64, |sum, ended| sum.saturating_add(*ended));
        let of_all = OriginState { sessions: state.shares.sessions(), ended_total };
        let advice = state.health.advise(of_all, facts.now);
        state.advice = advice;
        let wanted = wanted(facts);
        let need = RoomNeed { weight: self.weight, sessions: facts.sessions, wanted };
        let share = state.shares.share(self.index, need, advice.capacity);
        let is_bound = share < wanted;
        let reason =
            advice.reason.filter(|reason| reason.holds() || is_bound && *reason == Standstill::OriginSlow);
        Heeded { share: Some(share), reason }
    }

    /// The room has heeded its share.
    pub fn heeded(&self, heeded: Heeded, sessions: u32) {
        if let Some(share) = heeded.share {
            self.origin.lock().shares.heeded(self.index, share, sessions);
        }
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
