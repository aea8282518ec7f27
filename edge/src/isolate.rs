//! What one isolate remembers between requests. Many isolates exist, and each may vanish at any time.

use crate::memory::{Memory, RoomMemory};
use shared::config::Config;
use shared::http::client::ClientAddress;
use shared::ids::EventId;
use shared::limiter::key::TableSeed;
use shared::token::EdgeKeys;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use uuid::Uuid;
use worker::{Env, console_error};

/// The checked configuration with what belongs to it, and everything that is kept in memory. A request uses one from its
/// beginning to its end; the next may find another.
pub(crate) struct Isolate {
    pub(crate) config: Config,
    pub(crate) keys: EdgeKeys,
    pub(crate) platform: Platform,
    pub(crate) rooms: BTreeMap<EventId, Rc<RoomMemory>>,
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
        let events: Vec<EventId> = config.events.iter().map(|event| event.id.clone()).collect();
        Ok(Self {
            keys: keys.prepared_for(&events),
            platform,
            rooms: events.into_iter().map(|event| (event, Rc::default())).collect(),
            memory: Rc::new(Memory::new()),
            config,
        })
    }

    /// The address of a client, behind the hops that are trusted.
    pub(crate) fn client_address(&self, peer: IpAddr, forwarded_for: Option<&str>) -> ClientAddress {
        ClientAddress::from_forwarded(peer, forwarded_for.into_iter(), &self.config.site.trusted_proxies)
    }
}

/// The isolate's memory; `None` while its bindings cannot be used, which is logged once.
pub(crate) fn current(env: &Env) -> Option<Rc<Isolate>> {
    thread_local! {
        static CURRENT: OnceCell<Option<Rc<Isolate>>> = const { OnceCell::new() };
    }
    let load = || match Isolate::load(env) {
        Ok(isolate) => Some(Rc::new(isolate)),
        Err(message) => {
            console_error!("{message}");
            None
        }
    };
    CURRENT.with(|current| current.get_or_init(load).clone())
}

/// A layout that nobody outside can know.
pub(crate) fn random_seed() -> TableSeed {
    TableSeed(*Uuid::new_v4().as_bytes())
}
