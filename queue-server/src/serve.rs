//! Starts the parts of the server, and stops them in order.

use crate::{
    access::AccessKeys,
    app::App,
    clock::Clock,
    data_dir::DataDir,
    document::{ConfigDocument, LiveDocument},
    http,
    keys::{KeyFile, PassSigner},
    limits::{
        BUDGET, Home, KEYS_MAX, LimitStore, Limits, Live, ProcessStore,
        journal::{Journal, Written},
        redis::RedisLimits,
    },
    listen,
    metrics::Metrics,
    plant,
    reload::Reload,
    rooms::{ActiveRoom, Rooms, room_settings},
    store::{EmbeddedStore, HostedRoom, MemoryStore, OpenError, RoomStore},
    tick::Ticker,
};
use anyhow::{Context, Result};
use shared::{
    config::{Config, EventConfig},
    ids::Epoch,
    limiter::key::TableSeed,
    room::{Planted, Room},
    time::Timestamp,
    token::ServerKeys,
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
use tracing::{info, warn};

/// What to run.
pub struct ServeOptions {
    pub config: Config,
    /// Where the configuration was read, to look for changes.
    pub config_path: PathBuf,
    /// The text that `config` was read from.
    pub config_text: String,
    pub data_dir: PathBuf,
    pub listen: SocketAddr,
    pub store: StoreKind,
    /// The store of limits; `None`: this process.
    pub limits_redis: Option<String>,
    /// How many servers share that store.
    pub servers: u64,
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
    let ServeOptions { config, config_path, config_text, data_dir, listen, store, limits_redis, servers } =
        options;
    for warning in config.warnings() {
        warn!("{warning}");
    }
    let planted = plant::from_env()?;
    let clock = Clock::start();
    let _held = DataDir::take(&data_dir)?;
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
    let (limits, journal) = open_limits(LimitsSetup {
        config: &config,
        data_dir: &data_dir,
        redis: limits_redis.as_deref(),
        servers,
        clock: &clock,
        keys: keys.server_keys(),
        metrics: &metrics,
        is_kept: store == StoreKind::Embedded,
    })?;
    let mut tickers = JoinSet::new();
    for room in rooms.values() {
        let mut ticker = Ticker::new(Arc::clone(room), Arc::clone(&metrics));
        // Nobody is answered before there is a snapshot to answer with.
        ticker.tick().await.with_context(|| format!("the room of {} cannot start", room.event))?;
        tickers.spawn(ticker.run());
    }
    let reload = Reload::new(config_path, data_dir.clone(), config.clone());
    let app = Arc::new(App {
        keys: keys.server_keys(),
        passes: PassSigner::new(keys.pass_keys())?,
        config,
        document: LiveDocument::new(ConfigDocument::new(config_text)),
        clock,
        rooms,
        limits,
        metrics,
    });
    tickers.spawn(reload.run(Arc::clone(&app), signal(SignalKind::hangup())?));
    let address = listener.local_addr()?;
    info!(%address, events = app.rooms.len(), ?store, data_dir = %data_dir.display(), "the queue server listens");
    let stop = stop_signal()?;
    listen::serve(listener, http::router(app), listen::HEAD_TIME_MAX, stop).await;
    tickers.shutdown().await;
    if let Some(store) = embedded {
        store.close().await;
    }
    if let Some(journal) = journal {
        journal.close().await;
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

/// What the limit service is made of.
struct LimitsSetup<'a> {
    config: &'a Config,
    data_dir: &'a Path,
    redis: Option<&'a str>,
    servers: u64,
    clock: &'a Clock,
    keys: ServerKeys,
    metrics: &'a Arc<Metrics>,
    /// Locks, long quotas and overrides outlive the process.
    is_kept: bool,
}

fn open_limits(setup: LimitsSetup<'_>) -> Result<(Limits, Option<Arc<Journal>>)> {
    let LimitsSetup { config, data_dir, redis, servers, clock, keys, metrics, is_kept } = setup;
    let (journal, written) = if is_kept {
        let (journal, written) = Journal::open(data_dir, clock.clone())?;
        (Some(Arc::new(journal)), written)
    } else {
        (None, Written::default())
    };
    let mut seed = [0; 16];
    getrandom::fill(&mut seed)?;
    let mut local = ProcessStore::new(KEYS_MAX, TableSeed(seed), clock.clone());
    // Beside Redis the limiter of this process only helps out, and Redis keeps what must be kept.
    if let (Some(journal), None) = (&journal, redis) {
        local = local.kept_in(Arc::clone(journal), &written);
    }
    let home = match redis {
        None => Home::local(Arc::new(local), clock.clone()),
        Some(url) => {
            let store: Arc<dyn LimitStore> = Arc::new(RedisLimits::open(url, BUDGET)?);
            Home::remote(store, servers, Arc::new(local), clock.clone())
        }
    };
    let access = AccessKeys::read(data_dir)?;
    let live = Live::new(config.clone(), access, written.overrides, journal.clone());
    Ok((Limits::new(live, home, keys, Arc::clone(metrics)), journal))
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
