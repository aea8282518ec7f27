//! What an isolate remembers between requests, whatever its configuration. No borrow is held across an `await`.

use crate::limits::memory::LimitMemory;
use crate::random::table_seed;
use shared::fault_row::FaultRow;
use shared::flat::LiteMap;
use shared::gate::{EndedPlaces, Renewal, Reports, SnapshotSlot};
use shared::limiter::table::LimiterTable;
use shared::time::Timestamp;
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// What is remembered of everything but rooms.
pub(crate) struct Memory {
    pub(crate) configuration: RefCell<ConfigurationSlot>,
    pub(crate) limits: LimitMemory,
    pub(crate) polls: RefCell<LimiterTable>,
    pub(crate) reports: RefCell<Reports>,
    pub(crate) jwks: RefCell<Option<Jwks>>,
    pub(crate) proofs: RefCell<Proofs>,
    /// Calls to the queue server that failed.
    pub(crate) server_faults: RefCell<FaultRow>,
    /// Requests that the shop did not answer.
    pub(crate) origin_faults: RefCell<FaultRow>,
    /// Ids of shops whose last request got no reply.
    pub(crate) silent_shops: RefCell<LiteMap<String, ()>>,
    /// Gated requests that went on without a pass, because the queue server did not answer and nobody had to queue.
    pub(crate) unproved_requests: Cell<u64>,
}

/// What is known of the configuration in force.
pub(crate) struct ConfigurationSlot {
    pub(crate) renewal: Renewal,
    pub(crate) etag: Option<String>,
}

impl ConfigurationSlot {
    const fn new() -> Self {
        Self { renewal: Renewal::new(CONFIGURATION_FRESH_FOR, CONFIGURATION_IDLE_AFTER), etag: None }
    }
}

/// The published keys, as the queue server wrote them.
#[derive(Clone)]
pub(crate) struct Jwks {
    pub(crate) text: String,
    pub(crate) good_until: Timestamp,
}

/// Assertions of members whose signature is right, by their digests, at most [`PROOFS_MAX`]. Each is judged by its claims again.
#[derive(Default)]
pub(crate) struct Proofs {
    digests: LiteMap<[u8; 32], ()>,
}

impl Proofs {
    pub(crate) fn has(&self, digest: &[u8; 32]) -> bool {
        self.digests.contains_key(digest)
    }

    /// Forgets all where there is no room: they are found right again.
    pub(crate) fn note(&mut self, digest: [u8; 32]) {
        if self.digests.len() >= PROOFS_MAX {
            self.digests.clear();
        }
        self.digests.insert(digest, ());
    }
}

/// What is remembered of one room.
#[derive(Default)]
pub(crate) struct RoomMemory {
    pub(crate) slot: RefCell<SnapshotSlot>,
    pub(crate) ended: RefCell<EndedPlaces>,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self {
            configuration: RefCell::new(ConfigurationSlot::new()),
            limits: LimitMemory::new(),
            polls: RefCell::new(LimiterTable::new(POLLING_DEVICES_MAX, table_seed())),
            reports: RefCell::default(),
            jwks: RefCell::default(),
            proofs: RefCell::default(),
            server_faults: RefCell::default(),
            origin_faults: RefCell::default(),
            silent_shops: RefCell::default(),
            unproved_requests: Cell::default(),
        }
    }
}

/// Devices whose polls are counted at once; about 60 bytes each.
const POLLING_DEVICES_MAX: usize = 32_768;

/// 32 bytes each.
const PROOFS_MAX: usize = 4_096;

/// With a second for the server and one for the way, a change is in use everywhere within 5 s.
const CONFIGURATION_FRESH_FOR: Duration = Duration::from_secs(2);
const CONFIGURATION_IDLE_AFTER: Duration = Duration::from_secs(4);
