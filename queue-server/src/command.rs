//! The command line.

use crate::{
    access::AccessAction,
    check,
    keys::{KeyFile, PreparedKey},
    serve::{self, ServeOptions},
    store_command::StoreAction,
};
use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use shared::{
    config::{Config, StoreConfig},
    token::KeyId,
};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// Fairgate's queue server: holds the line in front of a flash sale.
#[derive(Debug, Parser)]
#[command(name = "fairgate", version)]
pub struct Command {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run the queue server until it is told to stop (Ctrl-C or SIGTERM).
    Serve(Serve),
    /// Read a configuration file and say in words what it asks for, or where it is wrong.
    Check {
        /// The configuration file.
        #[arg(long, value_name = "FILE", default_value = "fairgate.toml")]
        config: PathBuf,
        /// The configuration that runs now: say what becomes of what its limits have counted.
        #[arg(long, value_name = "FILE")]
        before: Option<PathBuf>,
    },
    /// Say how large a limit may be, from the workers or connections behind it.
    Size {
        /// Places in the pool: how many requests it works on at once.
        #[arg(long)]
        pool: u32,
        /// How long one request holds its place.
        #[arg(long, value_name = "MS")]
        work_ms: u64,
    },
    /// Print the keys that an edge gets, one line, for its secret binding. Makes the secrets on the first run.
    EdgeKeys(DataDir),
    /// Change the secrets that tickets and passes are signed with.
    #[command(subcommand)]
    Keys(KeysAction),
    /// The bearer keys of the service side.
    #[command(subcommand)]
    Access(AccessAction),
    /// The rooms' records.
    #[command(subcommand)]
    Store(StoreAction),
}

#[derive(Debug, Args)]
struct Serve {
    /// The configuration file, shared with the edge.
    #[arg(long, value_name = "FILE", default_value = "fairgate.toml")]
    config: PathBuf,
    /// Address to listen on, instead of the file's `server.listen`.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Directory of the store and of the secrets, instead of the file's `server.data_dir`.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Where limits are kept instead of in this process: a Redis or Valkey that several servers share.
    #[arg(long, value_name = "URL", env = "FAIRGATE_LIMITS_REDIS", hide_env_values = true)]
    limits_redis: Option<String>,
    /// How many servers share that store: while it does not answer, each lets pass its share.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    servers: u64,
    /// Where the rooms are kept, instead of the file's `store.kind`.
    #[arg(long, value_enum)]
    store: Option<StoreKind>,
    /// Where Redis is, instead of the file's `store.url`: a URL with a login belongs here, because edges read the file.
    #[arg(long, value_name = "URL", env = "FAIRGATE_STORE_URL", hide_env_values = true)]
    store_url: Option<String>,
}

/// What a store may be without a word in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum StoreKind {
    /// On disk in the data directory: a crash loses no place.
    Embedded,
    /// In this process only: a restart forgets the line. For trying things out.
    Memory,
}

#[derive(Debug, Args)]
struct DataDir {
    /// Directory of the secrets.
    #[arg(long, value_name = "DIR", default_value = ".fairgate")]
    data_dir: PathBuf,
}

#[derive(Debug, Subcommand)]
enum KeysAction {
    /// Add a key, and at the second call make it sign; older keys go on verifying, so no ticket is lost.
    ///
    /// In a running sale: `rotate`, restart the server, give every edge its new keys (`edge-keys`), `rotate` again, and restart
    /// the server again.
    Rotate {
        #[command(flatten)]
        dir: DataDir,
        /// The new key signs from the next start on, whether or not edges know it: for a key that was stolen. Until an edge has
        /// its new keys, it believes nothing that is new.
        #[arg(long)]
        at_once: bool,
    },
    /// Drop a key. Every ticket sealed under it is void: wait until 24 hours after the rotation.
    Retire {
        #[command(flatten)]
        dir: DataDir,
        /// The key id, as `rotate` printed it.
        id: u8,
    },
}

impl Command {
    /// Whether it runs a server, instead of saying something.
    pub fn serves(&self) -> bool {
        matches!(self.action, Action::Serve(_))
    }

    /// Carries it out, and returns what it has to print.
    pub fn run(self) -> Result<String> {
        match self.action {
            Action::Serve(options) => serve(options).map(|()| String::new()),
            Action::Check { config, before } => check(&config, before.as_deref()),
            Action::Size { pool, work_ms } => Ok(format!("{}\n", check::sizing(pool, work_ms)?)),
            Action::EdgeKeys(DataDir { data_dir }) => {
                Ok(format!("{}\n", KeyFile::open(&data_dir)?.server_keys().edge().to_text()))
            }
            Action::Keys(KeysAction::Rotate { dir, at_once }) => rotate(&dir.data_dir, at_once),
            Action::Keys(KeysAction::Retire { dir, id }) => retire(&dir.data_dir, id),
            Action::Access(action) => action.run(),
            Action::Store(action) => action.run(|path| Ok(read_config(path)?.0)),
        }
    }
}

fn serve(options: Serve) -> Result<()> {
    let (mut config, config_text) = read_config(&options.config)?;
    if options.store.is_some() {
        config.server.store = StoreConfig::Embedded;
    }
    let data_dir = options.data_dir.clone().unwrap_or_else(|| PathBuf::from(&config.server.data_dir));
    let listen = options.listen.unwrap_or(config.server.listen);
    let in_memory = options.store == Some(StoreKind::Memory);
    let Serve { config: config_path, limits_redis, servers, store_url, .. } = options;
    serve::run(ServeOptions {
        config,
        config_path,
        config_text,
        data_dir,
        listen,
        in_memory,
        store_url,
        limits_redis,
        servers,
    })
}

fn check(path: &Path, before: Option<&Path>) -> Result<String> {
    let (config, _) = read_config(path)?;
    let mut said = format!("{}: good.\n{}\n", path.display(), check::report(&config));
    if let Some(before) = before {
        said.push_str(&check::changes(&read_config(before)?.0, &config));
        said.push('\n');
    }
    said.extend(config.warnings().iter().map(|warning| format!("Warning: {warning}.\n")));
    Ok(said)
}

fn rotate(data_dir: &Path, at_once: bool) -> Result<String> {
    let mut keys = KeyFile::existing(data_dir)?;
    let PreparedKey { id, signs } =
        keys.rotate(at_once).context("retire the oldest key first: `fairgate keys retire <id>`")?;
    keys.save(data_dir)?;
    let id = id.0;
    Ok(if signs {
        format!(
            "Key {id} signs from the next start on. Restart the server and give every edge its keys (`fairgate edge-keys`).\n"
        )
    } else {
        format!(
            "Key {id} is prepared: it verifies, and signs nothing yet. Restart the server, give every edge its keys \
             (`fairgate edge-keys`), then rotate again.\n"
        )
    })
}

fn retire(data_dir: &Path, id: u8) -> Result<String> {
    let mut keys = KeyFile::existing(data_dir)?;
    keys.retire(KeyId(id)).context("this key cannot be retired")?;
    keys.save(data_dir)?;
    Ok(format!(
        "Key {id} is retired. Restart the server and give every edge its keys (`fairgate edge-keys`).\n"
    ))
}

/// The configuration, and the text of its file.
fn read_config(path: &Path) -> Result<(Config, String)> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let config = Config::parse(&name, &text);
    let config = config.map_err(|errors| anyhow::anyhow!("the configuration has errors\n{errors}"))?;
    Ok((config, text))
}
