//! The watched servers of shops: what edges say of them, and what each room heeds of it.

use shared::{
    config::{Config, EventConfig, OriginConfig},
    ids::EventId,
    origin::{Advice, OriginSample, OriginSettings, SharedOrigin},
    room::{Facts, Heeded},
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
    state: Mutex<SharedOrigin>,
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
            let state = SharedOrigin::new(of.settings, rooms.len(), now);
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
            origin.lock().hear(&OriginSample::from(report), now);
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
        OriginStanding { advice: state.advice(), sessions: state.sessions(), fixed: state.fixed() }
    }

    /// Fixes the capacity at the operator's word, inside the configured bounds, or lets it follow the server again.
    pub fn fix(&self, capacity: Option<u32>) {
        self.lock().fix(capacity);
    }

    fn lock(&self) -> MutexGuard<'_, SharedOrigin> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RoomOrigin {
    /// What the room heeds at this tick.
    pub fn heed(&self, facts: &Facts) -> Heeded {
        self.origin.lock().heed(self.index, self.weight, facts)
    }

    /// The room has heeded its share.
    pub fn heeded(&self, heeded: Heeded, facts: &Facts) {
        self.origin.lock().heeded(self.index, heeded, facts);
    }
}
