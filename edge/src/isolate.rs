//! What one isolate remembers between requests. Many isolates exist, and each may vanish at any time.

use crate::memory::{Memory, RoomMemory};
use shared::config::Config;
use shared::flat::{self, LiteMap};
use shared::http::client::ClientAddress;
use shared::ids::EventId;
use shared::token::EdgeKeys;
use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use worker::{Env, console_error};

/// The checked configuration with what belongs to it, and everything that is kept in memory. A request uses one from its
/// beginning to its end; the next may find another.
pub(crate) struct Isolate {
    pub(crate) config: Config,
    pub(crate) keys: EdgeKeys,
    pub(crate) platform: Platform,
    pub(crate) rooms: LiteMap<EventId, Rc<RoomMemory>>,
    pub(crate) memory: Rc<Memory>,
}

/// Who tells the peer of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    /// Cloudflare, in `CF-Connecting-IP`.
    Cloudflare,
    /// Nobody: `workerd` alone does not say it, so the peer counts as this machine.
    Workerd,
}

impl Platform {
    /// The address of the peer, where `connecting_ip` is `CF-Connecting-IP`. An unreadable one is nobody's address: such
    /// requests share one limit.
    pub(crate) fn peer(self, connecting_ip: Option<&str>) -> IpAddr {
        let told = connecting_ip.and_then(|address| address.trim().parse().ok());
        match self {
            Self::Cloudflare => told.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            Self::Workerd => IpAddr::V4(Ipv4Addr::LOCALHOST),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "cloudflare" => Ok(Self::Cloudflare),
            "workerd" => Ok(Self::Workerd),
            _ => Err(format!("FAIRGATE_PLATFORM is {text:?}; write cloudflare or workerd")),
        }
    }
}

impl Isolate {
    fn load(env: &Env) -> Result<Self, String> {
        let binding = |name: &str| {
            let value = env.var(name).map(|value| value.to_string());
            value.map_err(|error| format!("the binding {name} is missing: {error}"))
        };
        let platform = Platform::parse(&binding("FAIRGATE_PLATFORM")?)?;
        let config = Config::parse("fairgate.toml", &binding("FAIRGATE_CONFIG")?);
        let config = config.map_err(|errors| format!("FAIRGATE_CONFIG cannot be used:\n{errors}"))?;
        let keys = EdgeKeys::parse(&binding("FAIRGATE_EDGE_KEYS")?);
        let keys = keys.map_err(|error| format!("FAIRGATE_EDGE_KEYS cannot be used: {error}"))?;
        Ok(Self::under(config, keys, platform, &LiteMap::new(), Rc::new(Memory::new())))
    }

    /// The same memory under another configuration; what an event has in memory stays with it.
    pub(crate) fn with(&self, config: Config) -> Self {
        Self::under(config, self.keys.clone(), self.platform, &self.rooms, Rc::clone(&self.memory))
    }

    fn under(
        config: Config,
        keys: EdgeKeys,
        platform: Platform,
        known_rooms: &LiteMap<EventId, Rc<RoomMemory>>,
        memory: Rc<Memory>,
    ) -> Self {
        let events: Vec<EventId> = config.events.iter().map(|event| event.id.clone()).collect();
        let keys = keys.prepared_for(&events);
        let room = |event: EventId| (event.clone(), known_rooms.get(&event).cloned().unwrap_or_default());
        let rooms = flat::map(events.into_iter().map(room));
        Self { config, keys, platform, rooms, memory }
    }

    /// The address of a client, behind the hops that are trusted.
    pub(crate) fn client_address(&self, peer: IpAddr, forwarded_for: Option<&str>) -> ClientAddress {
        ClientAddress::from_forwarded(peer, forwarded_for.into_iter(), &self.config.site.trusted_proxies)
    }
}

/// The isolate's memory; `None` while its bindings cannot be used, which is logged once.
pub(crate) fn current(env: &Env) -> Option<Rc<Isolate>> {
    CURRENT.with(|current| {
        let mut current = current.borrow_mut();
        if let Current::Unloaded = *current {
            *current = load(env).map_or(Current::Unusable, Current::Loaded);
        }
        match &*current {
            Current::Loaded(isolate) => Some(Rc::clone(isolate)),
            Current::Unusable | Current::Unloaded => None,
        }
    })
}

/// The requests that come from now on use this one.
pub(crate) fn replace(isolate: Isolate) {
    CURRENT.with(|current| *current.borrow_mut() = Current::Loaded(Rc::new(isolate)));
}

/// The requests that come from now on use the configuration that the isolate was deployed with, and the memory of `last`.
pub(crate) fn reset(env: &Env, last: &Isolate) {
    if let Some(deployed) = load(env) {
        replace(last.with(deployed.config.clone()));
    }
}

fn load(env: &Env) -> Option<Rc<Isolate>> {
    let loaded = Isolate::load(env).map(Rc::new);
    loaded.map_err(|message| console_error!("{message}")).ok()
}

thread_local! {
    static CURRENT: RefCell<Current> = const { RefCell::new(Current::Unloaded) };
}

enum Current {
    Unloaded,
    Unusable,
    Loaded(Rc<Isolate>),
}
