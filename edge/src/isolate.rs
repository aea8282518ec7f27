//! What one isolate remembers between requests. Many isolates exist, and each may vanish at any time.

use crate::memory::RoomMemory;
use shared::config::Config;
use shared::fault_row::FaultRow;
use shared::gate::Reports;
use shared::http::client::ClientAddress;
use shared::ids::EventId;
use shared::limiter::deny_cache::DenyCache;
use shared::limiter::key::TableSeed;
use shared::limiter::table::LimiterTable;
use shared::time::Timestamp;
use shared::token::EdgeKeys;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use uuid::Uuid;
use worker::{Env, console_error};

/// The checked configuration, and everything that is kept in memory. No borrow is held across an `await`.
pub(crate) struct Isolate {
    pub(crate) config: Config,
    pub(crate) keys: EdgeKeys,
    pub(crate) platform: Platform,
    pub(crate) deny_cache: RefCell<DenyCache>,
    pub(crate) polls: RefCell<LimiterTable>,
    pub(crate) rooms: BTreeMap<EventId, RoomMemory>,
    pub(crate) reports: RefCell<Reports>,
    pub(crate) jwks: RefCell<Option<Jwks>>,
    /// Calls to the queue server that failed.
    pub(crate) server_faults: RefCell<FaultRow>,
    /// Requests that the shop did not answer.
    pub(crate) origin_faults: RefCell<FaultRow>,
    /// Checks that passed because the object that holds the limit did not answer.
    pub(crate) open_checks: Cell<u64>,
    /// Gated requests that went on without a pass, because the queue server did not answer and nobody had to queue.
    pub(crate) unproved_requests: Cell<u64>,
}

/// The published keys, as the queue server wrote them.
#[derive(Clone)]
pub(crate) struct Jwks {
    pub(crate) text: String,
    pub(crate) taken_at: Timestamp,
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
            deny_cache: RefCell::new(DenyCache::new(DENY_CACHE_SETS, random_seed())),
            polls: RefCell::new(LimiterTable::new(POLLING_DEVICES_MAX, random_seed())),
            rooms: events.into_iter().map(|event| (event, RoomMemory::default())).collect(),
            reports: RefCell::default(),
            jwks: RefCell::default(),
            server_faults: RefCell::default(),
            origin_faults: RefCell::default(),
            open_checks: Cell::default(),
            unproved_requests: Cell::default(),
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

/// 4,096 refusals of about 150 bytes.
const DENY_CACHE_SETS: usize = 1_024;

/// Devices whose polls are counted at once; about 80 bytes each.
const POLLING_DEVICES_MAX: usize = 32_768;
