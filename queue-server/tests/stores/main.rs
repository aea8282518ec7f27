//! The stores: both answer alike, a crash breaks no promise, and a failing disk is survived.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod faults;
mod full_disk;
mod golden;
mod history;
mod parity;
mod promises;

use queue_server::{
    clock::Clock,
    store::{EmbeddedStore, HostedRoom, KeptRoom},
};
use shared::{
    ids::EventId,
    room::{LaneSettings, Planted, RoomSettings},
    time::Timestamp,
    wire::Phase,
};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

fn event() -> EventId {
    EventId::parse("drop").unwrap()
}

/// A small room, so that short histories meet its limits.
fn settings() -> RoomSettings {
    let lane = |name: &str, weight| LaneSettings::weighing(name, weight);
    RoomSettings {
        capacity: 3,
        admission_rate_per_s: 5,
        turn_grace: Duration::from_secs(10),
        pass_life: Duration::from_secs(10),
        session_max: Duration::from_secs(30),
        poll_budget_per_s: 100,
        session_extensions_max: 10,
        sessions_per_buyer: None,
        remembers_devices: true,
        phase: Phase::Open,
        opens_at: None,
        closes_at: None,
        lanes: vec![lane("guest", 1), lane("member", 3)],
    }
}

fn hosted() -> Vec<HostedRoom> {
    vec![HostedRoom {
        event: event(),
        settings: settings(),
        planted: Planted::default(),
        first_epoch: shared::ids::Epoch(1),
    }]
}

fn open(dir: &Path, clock: &Clock) -> (EmbeddedStore, Arc<KeptRoom>) {
    let store = EmbeddedStore::open(dir, hosted(), clock.clone()).unwrap();
    let room = store.room(&event()).unwrap();
    (store, room)
}

/// A clock by hand, from a moment in 2026.
fn manual_clock() -> (Clock, Arc<AtomicU64>) {
    Clock::manual(Timestamp::from_millis(1_796_000_000_000))
}

fn advance(clock: &AtomicU64, span: Duration) {
    clock.fetch_add(u64::try_from(span.as_micros()).unwrap(), Ordering::SeqCst);
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
