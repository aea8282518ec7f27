//! `fairgate store`: copies rooms, puts copies back, and moves them from one store to another.

use crate::{
    backup,
    clock::Clock,
    data_dir::DataDir,
    keys::KeyFile,
    opened::{Opening, StoreChoice},
    plant,
    restore::Restoring,
    store::{RedisSettings, embedded_records, receive, set_aside},
};
use anyhow::{Context, Result, bail};
use clap::Subcommand;
use shared::{
    config::{Config, StoreConfig},
    room::{BURNED_MAX, SinceCopy},
};
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub enum StoreAction {
    /// Copy the rooms of the data directory into a new file, while the server runs or when it is stopped.
    ///
    /// `restore` puts it back; keys.toml belongs to it.
    Backup {
        /// The new file.
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
        /// Directory of the store.
        #[arg(long, value_name = "DIR", default_value = ".fairgate")]
        data_dir: PathBuf,
    },
    /// Put a copy that `backup` made in the place of the rooms of the data directory, which no server may be using.
    ///
    /// The copy is older than what buyers were told since, so numbering does not simply go on. With --joined everybody keeps their
    /// places; without it every ticket is void. Either way nobody gets a number that another has.
    Restore {
        /// The copy.
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
        /// The configuration that names the rooms.
        #[arg(long, value_name = "FILE", default_value = "fairgate.toml")]
        config: PathBuf,
        /// Directory of the store, instead of the file's `server.data_dir`. It must hold the keys.toml of the copy.
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
        /// At most so many have joined one event since the copy was made: rather too many than too few. 0 where no server ran since.
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(..=BURNED_MAX))]
        joined: Option<u64>,
        /// Rooms that are there are set aside.
        #[arg(long)]
        force: bool,
    },
    /// Move every room from the data directory to the Redis of the configuration, with all places, sessions and spent tickets.
    ///
    /// In mid-sale: stop the server, move, start the servers with `[store] kind = "redis"`. Buyers keep their tickets; whoever asks
    /// meanwhile is told to ask again. The file stays behind as rooms.moved.redb.
    Move {
        /// The configuration that names Redis.
        #[arg(long, value_name = "FILE", default_value = "fairgate.toml")]
        config: PathBuf,
        /// Directory of the store, instead of the file's `server.data_dir`.
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
        /// Where Redis is, instead of the file's `store.url`.
        #[arg(long, value_name = "URL", env = "FAIRGATE_STORE_URL", hide_env_values = true)]
        store_url: Option<String>,
    },
}

impl StoreAction {
    /// Carries it out, and returns what it has to print; `read_config` reads a configuration file.
    pub(crate) fn run(self, read_config: impl Fn(&Path) -> Result<Config>) -> Result<String> {
        match self {
            Self::Backup { to, data_dir } => backup::make(&data_dir, &to),
            Self::Restore { from, config, data_dir, joined, force } => {
                let site = Site::of(read_config(&config)?, data_dir);
                if site.config.server.store != StoreConfig::Embedded {
                    bail!(
                        "the configuration keeps rooms in Redis: restore for one server, then `store move`"
                    );
                }
                let since = joined.map_or(SinceCopy::Unknown, SinceCopy::JoinedAtMost);
                site.opened(|opening| {
                    let (data_dir, now) = (opening.data_dir, opening.clock.now());
                    Restoring { from: &from, data_dir, since, force, now }.run(&opening.hosted())
                })
            }
            Self::Move { config, data_dir, store_url } => {
                let site = Site::of(read_config(&config)?, data_dir);
                let choice = StoreChoice::of(&site.config, store_url, site.config.server.listen)?;
                let StoreChoice::Redis(settings) = choice else {
                    bail!(
                        "the configuration keeps rooms in the data directory: write [store] kind = \"redis\""
                    );
                };
                site.opened(|opening| move_rooms(opening, &settings))
            }
        }
    }
}

/// A configuration, and where its data lie.
struct Site {
    config: Config,
    data_dir: PathBuf,
}

impl Site {
    fn of(config: Config, data_dir: Option<PathBuf>) -> Self {
        let data_dir = data_dir.unwrap_or_else(|| PathBuf::from(&config.server.data_dir));
        Self { config, data_dir }
    }

    /// Does something in the data directory while nobody else does.
    fn opened(&self, act: impl FnOnce(&Opening<'_>) -> Result<String>) -> Result<String> {
        let _held = DataDir::take(&self.data_dir)?;
        let clock = Clock::start();
        // Keys that are made here open no ticket of rooms that come from elsewhere.
        let keys = KeyFile::existing(&self.data_dir)?;
        act(&Opening {
            config: &self.config,
            planted: plant::from_env()?,
            clock: &clock,
            data_dir: &self.data_dir,
            keys_made_at: keys.made_at(),
        })
    }
}

fn move_rooms(opening: &Opening<'_>, settings: &RedisSettings) -> Result<String> {
    let mut rooms = Vec::new();
    for room in opening.hosted() {
        let records = embedded_records(opening.data_dir, &room.event)?;
        rooms.push((room, records));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    receive(&runtime, settings, &rooms, opening.clock.now())?;
    set_aside(opening.data_dir)
        .context("the rooms are moved, but their file cannot be renamed: do it by hand")?;
    let moved = rooms.iter().map(|(room, records)| (&room.event, records.len()));
    let lines: Vec<String> =
        moved.map(|(event, count)| format!("{event}: {count} records moved.\n")).collect();
    Ok(lines.concat())
}
