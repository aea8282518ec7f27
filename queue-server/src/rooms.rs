//! The rooms of this server by event: settings, store and the snapshot that everybody reads.

use crate::store::RoomStore;
use axum::body::Bytes;
use shared::{
    config::{EventConfig, LaneConfig},
    gate::SNAPSHOTS_IN_USE,
    ids::{EventId, LaneId},
    room::{Facts, LaneSettings, Planted, RoomSettings},
    wire::{Phase, Snapshot},
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::watch;

/// Every room of the configuration.
pub type Rooms = BTreeMap<EventId, Arc<ActiveRoom>>;

/// One event's room as this server runs it.
pub struct ActiveRoom {
    pub event: EventId,
    pub title: String,
    pub shop_id: String,
    pub settings: RoomSettings,
    pub planted: Planted,
    pub store: Arc<dyn RoomStore>,
    published: watch::Sender<Option<Arc<Published>>>,
    /// The last ones, oldest first, at most [`SNAPSHOTS_IN_USE`].
    in_use: Mutex<VecDeque<Arc<Published>>>,
}

/// A snapshot as it is sent, made once a tick.
#[derive(Clone, Debug)]
pub struct Published {
    pub snapshot: Snapshot,
    /// What the snapshot was made from; `None` where another server made it.
    pub facts: Option<Facts>,
    pub json: Bytes,
    pub etag: String,
}

impl Published {
    fn new(snapshot: Snapshot, facts: Option<Facts>, json: Bytes) -> Self {
        let etag = format!("\"{}-{}-{}\"", snapshot.epoch.0, snapshot.tick, snapshot.server_time_ms);
        Self { snapshot, facts, json, etag }
    }
}

impl ActiveRoom {
    pub fn new(event: &EventConfig, planted: Planted, store: Arc<dyn RoomStore>) -> Self {
        Self {
            event: event.id.clone(),
            title: event.title.clone(),
            shop_id: event.shop_id.clone(),
            settings: room_settings(event),
            planted,
            store,
            published: watch::Sender::new(None),
            in_use: Mutex::default(),
        }
    }

    /// The oldest snapshot that an edge may still answer from.
    pub fn oldest_in_use(&self) -> Option<Arc<Published>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner).front().cloned()
    }

    fn note_in_use(&self, published: &Arc<Published>) {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        in_use.push_back(Arc::clone(published));
        while in_use.len() > SNAPSHOTS_IN_USE {
            in_use.pop_front();
        }
    }

    /// The newest snapshot; `None` before the first tick.
    pub fn published(&self) -> Option<Arc<Published>> {
        self.published.borrow().clone()
    }

    /// Tells of each new snapshot.
    pub fn subscribe(&self) -> watch::Receiver<Option<Arc<Published>>> {
        self.published.subscribe()
    }

    /// Publishes what this server found at a tick.
    pub fn publish(&self, snapshot: Snapshot, facts: Facts) -> Result<(), serde_json::Error> {
        let json = Bytes::from(serde_json::to_vec(&snapshot)?);
        let published = Arc::new(Published::new(snapshot, Some(facts), json));
        self.note_in_use(&published);
        self.published.send_replace(Some(published));
        Ok(())
    }

    /// Notes what an order changed: whoever asks for the room sees it at once, edges with the next snapshot.
    pub fn note_facts(&self, facts: Facts) {
        self.published.send_if_modified(|known| {
            if let Some(last) = known.take() {
                *known = Some(Arc::new(Published { facts: Some(facts), ..Published::clone(&last) }));
            }
            false
        });
    }

    /// Takes over what another server published, if it is newer.
    pub fn follow(&self, json: &[u8]) -> Result<(), serde_json::Error> {
        let snapshot: Snapshot = serde_json::from_slice(json)?;
        let newer = (snapshot.epoch, snapshot.tick);
        let is_newer = |known: &Option<Arc<Published>>| {
            known.as_ref().is_none_or(|known| (known.snapshot.epoch, known.snapshot.tick) < newer)
        };
        let followed = Arc::new(Published::new(snapshot, None, Bytes::copy_from_slice(json)));
        self.published.send_if_modified(|known| {
            let is_newer = is_newer(known);
            if is_newer {
                self.note_in_use(&followed);
                *known = Some(followed);
            }
            is_newer
        });
        Ok(())
    }

    /// The lane of a buyer who has proved nothing: the one named `guest`, else the first.
    pub fn guest_lane(&self) -> LaneId {
        let index = self.settings.lanes.iter().position(|lane| lane.name == "guest").unwrap_or(0);
        LaneId(u8::try_from(index).unwrap_or(0))
    }

    /// The lane of this name, if the event has one.
    pub fn lane_named(&self, name: &str) -> Option<LaneId> {
        self.settings.lanes.iter().position(|lane| lane.name == name).map(LaneId::at)
    }

    pub fn lane_name(&self, lane: LaneId) -> &str {
        self.settings.lanes.get(usize::from(lane.0)).map_or("", |lane| lane.name.as_str())
    }
}

/// What the configuration says of an event, as its room needs it.
pub fn room_settings(event: &EventConfig) -> RoomSettings {
    let lane = |lane: &LaneConfig| LaneSettings {
        name: lane.name.clone(),
        weight: lane.weight,
        floor_pct: lane.floor_pct,
        ceiling_pct: lane.ceiling_pct,
        codes_max: lane.codes_max,
    };
    RoomSettings {
        capacity: event.capacity,
        admission_rate_per_s: event.admission_rate_per_s,
        turn_grace: event.turn_grace,
        pass_life: event.pass_life,
        session_max: event.session_max,
        poll_budget_per_s: event.poll_budget_per_s,
        session_extensions_max: event.session_extensions_max,
        sessions_per_buyer: event.sessions_per_buyer,
        remembers_devices: event.remembers_devices,
        phase: if event.starts_in_passthrough { Phase::Passthrough } else { Phase::Open },
        opens_at: event.opens_at,
        closes_at: event.closes_at,
        lanes: event.lanes.iter().map(lane).collect(),
    }
}
