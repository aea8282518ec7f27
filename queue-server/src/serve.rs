//! Starts the parts of the server, and stops them in order.

use crate::{
    access::AccessKeys,
    app::App,
    backup,
    clock::Clock,
    data_dir::DataDir,
    document::{ConfigDocument, LiveDocument},
    http,
    keys::{KeyFile, PassSigner},
    leader::{Leadership, Peers},
    limits::{
        BUDGET, Home, KEYS_MAX, LimitStore, Limits, Live, ProcessStore,
        journal::{Journal, Written},
        redis::RedisLimits,
    },
    listen::{self, ConnectionBounds},
    members::Members,
    metrics::Metrics,
    opened::{OpenedStore, Opening, StoreChoice},
    origins::{Origins, RoomOrigin},
    plant,
    reload::Reload,
    rooms::Rooms,
    tick::Ticker,
};
use anyhow::{Context, Result};
use shared::{config::Config, limiter::key::TableSeed, token::ServerKeys};
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
    /// The rooms are in this process only: a restart forgets the line.
    pub in_memory: bool,
    /// Instead of the configuration's URL of the store.
    pub store_url: Option<String>,
    /// The store of limits; `None`: this process.
    pub limits_redis: Option<String>,
    /// How many servers share that store.
    pub servers: u64,
}

/// Runs until SIGTERM or Ctrl-C.
pub fn run(options: ServeOptions) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(options))
}

async fn serve(options: ServeOptions) -> Result<()> {
    let ServeOptions { config, config_path, config_text, data_dir, limits_redis, servers, .. } = options;
    for warning in config.warnings() {
        warn!("{warning}");
    }
    let planted = plant::from_env()?;
    let clock = Clock::start();
    let _held = DataDir::take(&data_dir)?;
    let keys = KeyFile::open(&data_dir)?;
    let listener = bind(options.listen).await?;
    let address = listener.local_addr()?;
    let choice = if options.in_memory {
        StoreChoice::Memory
    } else {
        StoreChoice::of(&config, options.store_url, address)?
    };
    let opening = Opening {
        config: &config,
        planted,
        clock: &clock,
        data_dir: &data_dir,
        keys_made_at: keys.made_at(),
    };
    let (rooms, store) = opening.open(&choice)?;
    if let OpenedStore::Embedded(embedded) = &store {
        backup::listen(&data_dir, embedded.freezer());
    }
    let leadership = store.leadership().cloned();
    let metrics = Arc::new(Metrics::new());
    let (limits, journal) = open_limits(LimitsSetup {
        config: &config,
        data_dir: &data_dir,
        redis: limits_redis.as_deref(),
        servers,
        clock: &clock,
        keys: keys.server_keys(),
        metrics: &metrics,
        is_kept: choice != StoreChoice::Memory,
    })?;
    let members = Members::new(&config)?;
    let origins = Origins::new(&config, clock.now());
    let seats = rooms.keys().map(|id| config.event(id).and_then(|event| origins.seat(event))).collect();
    let mut tickers = start_tickers(&rooms, seats, leadership.as_ref(), &metrics).await?;
    let reload = Reload::new(config_path, data_dir.clone(), config.clone(), config_text.clone());
    let app = Arc::new(App {
        keys: keys.server_keys(),
        passes: PassSigner::new(keys.pass_keys())?,
        members,
        config,
        document: LiveDocument::new(ConfigDocument::new(config_text)),
        clock,
        rooms,
        peers: leadership.map(Peers::new).transpose()?,
        origins,
        limits,
        metrics,
    });
    tickers.spawn(reload.run(Arc::clone(&app), signal(SignalKind::hangup())?));
    let kind = choice.name();
    info!(%address, events = app.rooms.len(), store = kind, data_dir = %data_dir.display(), "the queue server listens");
    let stop = stop_signal()?;
    listen::serve(listener, http::router(app), ConnectionBounds::default(), stop).await;
    tickers.shutdown().await;
    store.close().await;
    if let Some(journal) = journal {
        journal.close().await;
    }
    info!("stopped");
    Ok(())
}

async fn start_tickers(
    rooms: &Rooms,
    seats: Vec<Option<RoomOrigin>>,
    leadership: Option<&Arc<Leadership>>,
    metrics: &Arc<Metrics>,
) -> Result<JoinSet<()>> {
    let mut tickers = JoinSet::new();
    for (room, seat) in rooms.values().zip(seats) {
        let mut ticker = Ticker::new(Arc::clone(room), Arc::clone(metrics)).heeding(seat);
        match leadership {
            Some(leadership) => ticker = ticker.led_by(Arc::clone(leadership)),
            // Nobody is answered before there is a snapshot to answer with.
            None => {
                ticker.tick().await.with_context(|| format!("the room of {} cannot start", room.event))?;
            }
        }
        tickers.spawn(ticker.run());
    }
    Ok(tickers)
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
    let live = Live::new(home.store(), config.clone(), access, written.overrides, journal.clone())
        .context("the store of the limits cannot keep what the configuration says")?;
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
