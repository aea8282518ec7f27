//! The rooms of this server by event: settings, store and the snapshot that everybody reads.

use crate::store::RoomStore;
use axum::body::Bytes;
use shared::{
    config::{EventConfig, LaneConfig},
    ids::{EventId, LaneId},
    room::{Facts, LaneSettings, Planted, RoomSettings},
    wire::{Phase, Snapshot},
};
use std::{collections::BTreeMap, sync::Arc};
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
}

/// A snapshot as it is sent, made once a tick.
#[derive(Debug)]
pub struct Published {
    pub snapshot: Snapshot,
    /// What the snapshot was made from.
    pub facts: Facts,
    pub json: Bytes,
    pub etag: String,
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
        }
    }

    /// The newest snapshot; `None` before the first tick.
    pub fn published(&self) -> Option<Arc<Published>> {
        self.published.borrow().clone()
    }

    pub fn publish(&self, snapshot: Snapshot, facts: Facts) -> Result<(), serde_json::Error> {
        let json = Bytes::from(serde_json::to_vec(&snapshot)?);
        let etag = format!("\"{}-{}-{}\"", snapshot.epoch.0, snapshot.tick, snapshot.server_time_ms);
        self.published.send_replace(Some(Arc::new(Published { snapshot, facts, json, etag })));
        Ok(())
    }

    /// The lane of a buyer who has proved nothing: the one named `guest`, else the first.
    pub fn guest_lane(&self) -> LaneId {
        let index = self.settings.lanes.iter().position(|lane| lane.name == "guest").unwrap_or(0);
        LaneId(u8::try_from(index).unwrap_or(0))
    }

    pub fn lane_name(&self, lane: LaneId) -> &str {
        self.settings.lanes.get(usize::from(lane.0)).map_or("", |lane| lane.name.as_str())
    }
}

/// What the configuration says of an event, as its room needs it.
pub fn room_settings(event: &EventConfig) -> RoomSettings {
    let lane = |lane: &LaneConfig| LaneSettings { name: lane.name.clone(), weight: lane.weight };
    RoomSettings {
        capacity: event.capacity,
        admission_rate_per_s: event.admission_rate_per_s,
        turn_grace: event.turn_grace,
        pass_life: event.pass_life,
        session_max: event.session_max,
        poll_budget_per_s: event.poll_budget_per_s,
        session_extensions_max: event.session_extensions_max,
        sessions_per_buyer: event.sessions_per_buyer,
        phase: if event.starts_in_passthrough { Phase::Passthrough } else { Phase::Open },
        opens_at: event.opens_at,
        closes_at: event.closes_at,
        lanes: event.lanes.iter().map(lane).collect(),
    }
}
