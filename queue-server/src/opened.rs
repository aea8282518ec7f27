//! The rooms of a server, opened where they are kept.

use crate::{
    clock::Clock,
    leader::Leadership,
    rooms::{ActiveRoom, Rooms, room_settings},
    store::{EmbeddedStore, HostedRoom, MemoryStore, OpenError, RedisSettings, RedisStore, RoomStore},
};
use anyhow::{Result, bail};
use shared::{
    config::{Config, EventConfig, StoreConfig},
    ids::Epoch,
    room::{Planted, Room},
    time::Timestamp,
};
use std::{net::SocketAddr, path::Path, sync::Arc};

/// What keeps the rooms.
pub enum OpenedStore {
    Memory,
    Embedded(EmbeddedStore),
    Redis(Box<RedisStore>),
}

/// Where the rooms are to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreChoice {
    Memory,
    Embedded,
    Redis(RedisSettings),
}

/// What rooms are made of.
pub struct Opening<'a> {
    pub config: &'a Config,
    pub planted: Planted,
    pub clock: &'a Clock,
    pub data_dir: &'a Path,
    /// When the keys were made that seal the rooms' tickets.
    pub keys_made_at: Timestamp,
}

impl Opening<'_> {
    /// Opens every room of the configuration.
    pub fn open(&self, store: &StoreChoice) -> Result<(Rooms, OpenedStore)> {
        match store {
            StoreChoice::Memory => Ok((self.memory_rooms(), OpenedStore::Memory)),
            StoreChoice::Embedded => {
                let store = self.embedded()?;
                Ok((self.rooms(|event| store.room(&event.id)), OpenedStore::Embedded(store)))
            }
            StoreChoice::Redis(settings) => {
                let mut store = RedisStore::open(settings, self.hosted(), self.clock.clone())?;
                let rooms = self.rooms(|event| store.room(&event.id));
                for room in rooms.values() {
                    store.share(Arc::clone(room));
                }
                Ok((rooms, OpenedStore::Redis(Box::new(store))))
            }
        }
    }

    fn memory_rooms(&self) -> Rooms {
        self.rooms(|event| {
            let room = Room::new(room_settings(event)).with_fault(self.planted);
            Some(Arc::new(MemoryStore::new(room, self.clock.clone())))
        })
    }

    fn embedded(&self) -> Result<EmbeddedStore, OpenError> {
        EmbeddedStore::open(self.data_dir, self.hosted(), self.clock.clone())
    }

    /// Every room of the configuration, to be kept.
    pub(crate) fn hosted(&self) -> Vec<HostedRoom> {
        let first_epoch = first_epoch(self.keys_made_at, self.clock.now());
        let hosted = |event: &EventConfig| HostedRoom {
            event: event.id.clone(),
            settings: room_settings(event),
            planted: self.planted,
            first_epoch,
        };
        self.config.events.iter().map(hosted).collect()
    }

    fn rooms<S: RoomStore + 'static>(&self, store: impl Fn(&EventConfig) -> Option<Arc<S>>) -> Rooms {
        let room = |event: &EventConfig| {
            let room = ActiveRoom::new(event, self.planted, store(event)?);
            Some((event.id.clone(), Arc::new(room)))
        };
        self.config.events.iter().filter_map(room).collect()
    }
}

impl OpenedStore {
    /// How this server stands among others; `None`: it is alone.
    pub fn leadership(&self) -> Option<&Arc<Leadership>> {
        match self {
            Self::Memory | Self::Embedded(_) => None,
            Self::Redis(store) => Some(store.leadership()),
        }
    }

    /// Makes everything durable.
    pub async fn close(self) {
        match self {
            Self::Memory => {}
            Self::Embedded(store) => store.close().await,
            Self::Redis(store) => store.close().await,
        }
    }
}

impl StoreChoice {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Embedded => "embedded",
            Self::Redis(_) => "redis",
        }
    }

    /// What the configuration chooses for a server that listens on `listen`; `url` replaces the one of the file.
    pub fn of(config: &Config, url: Option<String>, listen: SocketAddr) -> Result<Self> {
        let StoreConfig::Redis(redis) = &config.server.store else { return Ok(Self::Embedded) };
        let Some(url) = url.or_else(|| redis.url.clone()) else {
            bail!("the store has no URL: write [store] url, or give it by FAIRGATE_STORE_URL");
        };
        let advertise = match &config.server.advertise {
            Some(advertise) => advertise.as_str().to_owned(),
            None if listen.ip().is_unspecified() => {
                bail!(
                    "other servers cannot reach {listen}: write [server] advertise = \"http://<host>:<port>\""
                )
            }
            None => format!("http://{listen}"),
        };
        let (prefix, replicas, budget) = (redis.prefix.clone(), redis.replicas.into(), redis.budget);
        Ok(Self::Redis(RedisSettings { url, prefix, replicas, budget, advertise }))
    }
}

/// Where a room begins that the store does not know. Its keys may have sealed tickets for a store that was lost: counted by
/// the age of the keys, the epoch is a later one.
fn first_epoch(keys_made_at: Timestamp, now: Timestamp) -> Epoch {
    let mut age_s = now.since(keys_made_at).as_secs();
    let mut epoch = 1;
    for (span_s, step_s) in EPOCH_STEPS {
        epoch += age_s.min(span_s) / step_s;
        age_s = age_s.saturating_sub(span_s);
    }
    Epoch(u16::try_from(epoch).unwrap_or(u16::MAX))
}

/// For so long an epoch begins this often: the first minute is one, then each second of four hours, each minute of two weeks, and each
/// hour, which is enough for three years. A store is lost most often while things are tried out.
const EPOCH_STEPS: [(u64, u64); 4] = [(60, 60), (4 * 3_600, 1), (14 * 86_400, 60), (u64::MAX, 3_600)];

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_room_that_the_store_has_lost_begins_in_a_later_epoch() {
        let made_at = Timestamp::from_millis(1_796_000_000_000);
        let after = |age: Duration| first_epoch(made_at, made_at.saturating_add(age)).0;
        let (seconds, hours) = (Duration::from_secs, Duration::from_hours);
        assert_eq!(
            [after(seconds(0)), after(seconds(59)), after(seconds(60)), after(seconds(61))],
            [1, 1, 2, 3]
        );
        let later = [hours(4), hours(4 + 14 * 24), hours(24 * 365)].map(|age| after(age + seconds(60)));
        assert_eq!(later, [14_402, 34_562, 42_982]);
        assert_eq!(after(hours(1_000_000)), u16::MAX);
        assert_eq!(first_epoch(made_at, Timestamp::default()).0, 1, "a clock before the keys");
    }
}
