//! Takes up a changed `fairgate.toml` or `access.toml` while the server runs: whole, or not at all.
//!
//! Limits, their routes and the bearer keys change within two seconds, or at once on SIGHUP. A file that is wrong is told
//! in the log with its place, and the last good one stays. Everything else in the file needs a restart, and holds back what is
//! changed beside it: otherwise this server and its edges would go by different files.

use crate::{access::AccessKeys, app::App, document::ConfigDocument, limits::Limits};
use shared::config::Config;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    signal::unix::Signal,
    time::{MissedTickBehavior, interval},
};
use tracing::{error, info, warn};

/// The files that are watched, and what was last read from them.
pub struct Reload {
    config_path: PathBuf,
    data_dir: PathBuf,
    config_text: Option<String>,
    access_text: Option<String>,
    /// As the server started, for what only a restart changes.
    started_with: Config,
}

/// Files are read this often: a look at a clock or a length would miss a change within the same second.
const LOOK_EVERY: Duration = Duration::from_secs(2);

impl Reload {
    /// `started_with` and `config_text` are what the server read at its start: what has changed since is news.
    pub fn new(config_path: PathBuf, data_dir: PathBuf, started_with: Config, config_text: String) -> Self {
        let access_text = read(&AccessKeys::path_in(&data_dir));
        Self { config_path, data_dir, config_text: Some(config_text), access_text, started_with }
    }

    /// Looks until the task is dropped.
    pub async fn run(mut self, app: Arc<App>, mut hangup: Signal) {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_told = tokio::select! {
                _ = looks.tick() => false,
                _ = hangup.recv() => true,
            };
            if let Some(text) = self.look(&app.limits, is_told).await {
                app.document.replace(ConfigDocument::new(text));
            }
        }
    }

    /// Takes up what has changed. `is_told` says so in the log even if nothing has. Returns the text of a configuration that came
    /// into force, for the edges.
    pub async fn look(&mut self, limits: &Limits, is_told: bool) -> Option<String> {
        let text = read(&self.config_path);
        let mut for_edges = None;
        if is_told || text != self.config_text {
            if self.take_config(limits, text.as_deref()).await {
                for_edges.clone_from(&text);
            }
            self.config_text = text;
        }
        let text = read(&AccessKeys::path_in(&self.data_dir));
        if is_told || text != self.access_text {
            self.take_access(limits).await;
            self.access_text = text;
        }
        for_edges
    }

    /// Whether it came into force.
    async fn take_config(&self, limits: &Limits, text: Option<&str>) -> bool {
        let path = self.config_path.display();
        let Some(text) = text else {
            error!(%path, "the configuration cannot be read; the last good one stays");
            return false;
        };
        let config = match Config::parse(&path.to_string(), text) {
            Ok(config) => config,
            Err(errors) => {
                error!(%path, "the configuration has errors; the last good one stays\n{errors}");
                return false;
            }
        };
        let changed = self.needing_restart(&config).join(", ");
        if !changed.is_empty() {
            warn!(%path, changed, "what the file changes needs a restart; until then all of it waits, its limits too");
            return false;
        }
        if let Err(beyond) = limits.live.replace_config(config).await {
            error!(%path, "the store of the limits cannot keep what the file says; the last good one stays\n{beyond}");
            return false;
        }
        info!(%path, "the limits of the configuration are in force");
        true
    }

    async fn take_access(&self, limits: &Limits) {
        match AccessKeys::read(&self.data_dir) {
            Ok(access) => {
                let keys = access.iter().count();
                limits.live.replace_access(access).await;
                info!(keys, "the bearer keys are in force");
            }
            Err(error) => error!(%error, "the bearer keys cannot be read; the last good ones stay"),
        }
    }

    /// What is changed of that which this server does as it was started: edges by the new file would not find what they ask for.
    fn needing_restart(&self, config: &Config) -> Vec<&'static str> {
        let old = &self.started_with;
        let shops = |config: &Config| {
            let shops = config.shops.iter();
            shops
                .map(|shop| {
                    (shop.id.clone(), shop.hosts.clone(), shop.origin.clone(), shop.allowed_origins.clone())
                })
                .collect::<Vec<_>>()
        };
        let parts = [
            ("[server] or [store]", old.server != config.server),
            ("site.prefix", old.site.prefix != config.site.prefix),
            ("site.public_url", old.site.public_url != config.site.public_url),
            ("site.cookie_domain", old.site.cookie_mode != config.site.cookie_mode),
            ("edge.queue_server", old.edge.queue_server != config.edge.queue_server),
            ("an event", old.events != config.events),
            ("[[origin]]", old.origins != config.origins),
            ("a shop's hosts, origin or allowed_origins", shops(old) != shops(config)),
        ];
        parts.into_iter().filter_map(|(name, is_changed)| is_changed.then_some(name)).collect()
    }
}

/// `None` where there is no such file, or none that can be read.
fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}
