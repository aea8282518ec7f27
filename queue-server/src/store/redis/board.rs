//! What the leader publishes for every server: the snapshot of each room.

use super::keys::EventKeys;
use crate::{
    leader::{Leader, Leadership},
    redis::{Link, LinkError},
    rooms::ActiveRoom,
};
use redis::{Cmd, Value};
use std::{sync::Arc, time::Duration};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::debug;

/// One room's place on it.
pub(crate) struct Board {
    pub(crate) link: Link,
    pub(crate) keys: EventKeys,
    pub(crate) leadership: Arc<Leadership>,
    pub(crate) room: Arc<ActiveRoom>,
}

impl Board {
    /// Writes what this server publishes while it leads, and reads what another one does. Goes on until the task is dropped.
    pub(crate) async fn run(self) {
        let mut published = self.room.subscribe();
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_news = tokio::select! {
                changed = published.changed() => changed.is_ok(),
                _ = looks.tick() => false,
            };
            let shared = match (self.leadership.leader(), is_news) {
                (Leader::Me, true) => self.write().await,
                (Leader::Other(_) | Leader::Nobody, false) => self.read().await,
                _ => Ok(()),
            };
            if let Err(error) = shared {
                debug!(?error, event = %self.room.event, "the snapshot is not shared");
            }
        }
    }

    async fn write(&self) -> Result<(), LinkError> {
        let Some(published) = self.room.published() else { return Ok(()) };
        self.leadership.see_epoch(&self.room.event, published.snapshot.epoch);
        let mut set = redis::cmd("SET");
        set.arg(&self.keys.snapshot).arg(&published.json[..]).arg("PX").arg(LIFE_MS);
        self.ask(&set).await.map(drop)
    }

    async fn read(&self) -> Result<(), LinkError> {
        let mut get = redis::cmd("GET");
        let value = self.ask(get.arg(&self.keys.snapshot)).await?;
        if let Value::BulkString(json) = value
            && let Err(error) = self.room.follow(&json)
        {
            debug!(%error, event = %self.room.event, "what was published is no snapshot");
        }
        if let Some(published) = self.room.published() {
            self.leadership.see_epoch(&self.room.event, published.snapshot.epoch);
        }
        Ok(())
    }

    async fn ask(&self, command: &Cmd) -> Result<Value, LinkError> {
        timeout(ANSWER_MAX, self.link.send(command)).await.unwrap_or_else(|_| {
            self.link.silent();
            Err(LinkError::Gone)
        })
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(500);
const ANSWER_MAX: Duration = Duration::from_millis(250);
/// As long as an edge goes on with its last good copy.
const LIFE_MS: u64 = 24 * 60 * 60 * 1_000;
