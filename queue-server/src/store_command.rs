//! `fairgate store`: copies rooms, and moves them from one store to another.

use crate::{
    backup,
    clock::Clock,
    data_dir::DataDir,
    keys::KeyFile,
    opened::{Opening, StoreChoice},
    plant,
    store::{embedded_records, receive, set_aside},
};
use anyhow::{Context, Result, bail};
use clap::Subcommand;
use shared::config::Config;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub enum StoreAction {
    /// Copy the rooms of the data directory into a new file, while the server runs or when it is stopped.
    ///
    /// The copy takes the place of rooms.redb where that was lost; keys.toml belongs to it.
    Backup {
        /// The new file.
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
        /// Directory of the store.
        #[arg(long, value_name = "DIR", default_value = ".fairgate")]
        data_dir: PathBuf,
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
        let (config, data_dir, store_url) = match self {
            Self::Backup { to, data_dir } => return backup::make(&data_dir, &to),
            Self::Move { config, data_dir, store_url } => (config, data_dir, store_url),
        };
        let config = read_config(&config)?;
        let data_dir = data_dir.unwrap_or_else(|| PathBuf::from(&config.server.data_dir));
        let choice = StoreChoice::of(&config, store_url, config.server.listen)?;
        let StoreChoice::Redis(settings) = choice else {
            bail!("the configuration keeps rooms in the data directory: write [store] kind = \"redis\"");
        };
        let _held = DataDir::take(&data_dir)?;
        let clock = Clock::start();
        let keys = KeyFile::open(&data_dir)?;
        let opening = Opening {
            config: &config,
            planted: plant::from_env()?,
            clock: &clock,
            data_dir: &data_dir,
            keys_made_at: keys.made_at(),
        };
        let mut rooms = Vec::new();
        for room in opening.hosted() {
            let records = embedded_records(&data_dir, &room.event)?;
            rooms.push((room, records));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        receive(&runtime, &settings, &rooms, clock.now())?;
        set_aside(&data_dir)
            .context("the rooms are moved, but their file cannot be renamed: do it by hand")?;
        let moved = rooms.iter().map(|(room, records)| (&room.event, records.len()));
        let lines: Vec<String> =
            moved.map(|(event, count)| format!("{event}: {count} records moved.\n")).collect();
        Ok(lines.concat())
    }
}
