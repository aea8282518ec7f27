//! Starts the parts of the server, and stops them in order.

use crate::{
    app::App,
    clock::Clock,
    http,
    keys::{KeyFile, PassSigner},
    metrics::Metrics,
    plant,
    rooms::{ActiveRoom, Rooms, room_settings},
    store::{EmbeddedStore, HostedRoom, MemoryStore, OpenError, RoomStore},
    tick::Ticker,
};
use anyhow::{Context, Result};
use shared::{
    config::{Config, EventConfig},
    ids::Epoch,
    room::{Planted, Room},
    time::Timestamp,
};
use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    task::JoinSet,
};
use tracing::info;

/// What to run.
pub struct ServeOptions {
    pub config: Config,
    pub data_dir: PathBuf,
    pub listen: SocketAddr,
    pub store: StoreKind,
}

/// Where the rooms are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum StoreKind {
    /// On disk in the data directory: a crash loses no place.
    Embedded,
    /// In this process only: a restart forgets the line. For trying things out.
    Memory,
}

/// Runs until SIGTERM or Ctrl-C.
pub fn run(options: ServeOptions) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(options))
}

async fn serve(options: ServeOptions) -> Result<()> {
    let ServeOptions { config, data_dir, listen, store } = options;
    let planted = plant::from_env()?;
    let clock = Clock::start();
    let keys = KeyFile::open(&data_dir)?;
    let listener = bind(listen).await?;
    let (rooms, embedded) = match store {
        StoreKind::Memory => (memory_rooms(&config, planted, &clock), None),
        StoreKind::Embedded => {
            let first_epoch = first_epoch(keys.made_at(), clock.now());
            let store = open_embedded(&config, planted, &clock, &data_dir, first_epoch)?;
            (embedded_rooms(&config, planted, &store), Some(store))
        }
    };
    let metrics = Arc::new(Metrics::new());
    let mut tickers = JoinSet::new();
    for room in rooms.values() {
        let mut ticker = Ticker::new(Arc::clone(room), Arc::clone(&metrics));
        // Nobody is answered before there is a snapshot to answer with.
        ticker.tick().await.with_context(|| format!("the room of {} cannot start", room.event))?;
        tickers.spawn(ticker.run());
    }
    let app = Arc::new(App {
        keys: keys.server_keys(),
        passes: PassSigner::new(keys.pass_keys())?,
        config,
        clock,
        rooms,
        metrics,
    });
    let address = listener.local_addr()?;
    info!(%address, events = app.rooms.len(), ?store, data_dir = %data_dir.display(), "the queue server listens");
    let stop = stop_signal()?;
    axum::serve(listener, http::router(app)).with_graceful_shutdown(stop).await?;
    tickers.shutdown().await;
    if let Some(store) = embedded {
        store.close().await;
    }
    info!("stopped");
    Ok(())
}

fn memory_rooms(config: &Config, planted: Planted, clock: &Clock) -> Rooms {
    let room = |event| {
        let room = Room::new(room_settings(event)).with_fault(planted);
        let store: Arc<dyn RoomStore> = Arc::new(MemoryStore::new(room, clock.clone()));
        (event.id.clone(), Arc::new(ActiveRoom::new(event, planted, store)))
    };
    config.events.iter().map(room).collect()
}

fn open_embedded(
    config: &Config,
    planted: Planted,
    clock: &Clock,
    data_dir: &Path,
    first_epoch: Epoch,
) -> Result<EmbeddedStore, OpenError> {
    let hosted = |event: &EventConfig| HostedRoom {
        event: event.id.clone(),
        settings: room_settings(event),
        planted,
        first_epoch,
    };
    EmbeddedStore::open(data_dir, config.events.iter().map(hosted).collect(), clock.clone())
}

/// Where a room begins that the store does not know. Its keys may have sealed tickets for a store that was lost: counted by
/// the hours since the keys were made, the epoch is a later one.
fn first_epoch(keys_made_at: Timestamp, now: Timestamp) -> Epoch {
    let hours = now.since(keys_made_at).as_secs() / 3_600;
    Epoch(u16::try_from(hours).unwrap_or(u16::MAX).saturating_add(1))
}

fn embedded_rooms(config: &Config, planted: Planted, store: &EmbeddedStore) -> Rooms {
    let room = |event: &EventConfig| {
        let store: Arc<dyn RoomStore> = store.room(&event.id)?;
        Some((event.id.clone(), Arc::new(ActiveRoom::new(event, planted, store))))
    };
    config.events.iter().filter_map(room).collect()
}

async fn bind(listen: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(listen).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => anyhow::anyhow!(
            "port {} is taken by another program: stop it, or choose another with --listen",
            listen.port()
        ),
        _ => anyhow::Error::new(error).context(format!("cannot listen on {listen}")),
    })
}

/// Ends when the process is asked to stop.
fn stop_signal() -> Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        info!("stopping: open requests are answered first");
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_room_that_the_store_has_lost_begins_in_a_later_epoch() {
        let made_at = Timestamp::from_millis(1_796_000_000_000);
        let after = |hours: u64| first_epoch(made_at, made_at.saturating_add(Duration::from_hours(hours))).0;
        assert_eq!([after(0), after(1), after(24 * 365)], [1, 2, 8_761]);
        assert_eq!(after(1_000_000), u16::MAX);
        assert_eq!(first_epoch(made_at, Timestamp::default()).0, 1, "a clock before the keys");
    }
}
