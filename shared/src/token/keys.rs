//! The keys of the server and of the edge, derived from the keyring by purpose and event.

use super::keyring::{EDGE, KeyId, KeyringError, MasterKeys, Ring};
use super::mac::{MacKey, RootKey, Secret};
use crate::flat::{self, LiteMap};
use crate::ids::EventId;
use core::fmt;
use std::borrow::Cow;

/// What the edge may hold: it checks tickets, passes and device cookies, and signs device cookies and its own requests.
///
/// Whoever steals these keys can pass the edge, but cannot mint a ticket that the server accepts, nor a pass that the shop accepts.
/// The text form, for a secret of the Worker: `edge;current=1;1=<43 characters>`.
#[derive(Clone)]
pub struct EdgeKeys {
    ring: Ring,
    by_id: LiteMap<KeyId, EdgeKey>,
}

/// One generation of the edge's keys, ready for use.
#[derive(Clone)]
pub(crate) struct EdgeKey {
    tickets: TicketKeys,
    pub(crate) device: MacKey,
    pub(crate) pass: MacKey,
    pub(crate) signature: MacKey,
}

impl EdgeKeys {
    /// Reads the text form; white space around it is ignored.
    ///
    /// # Errors
    /// See [`KeyringError`].
    pub fn parse(text: &str) -> Result<Self, KeyringError> {
        Ring::parse(EDGE, text).map(Self::from_ring)
    }

    /// The text form. It is the secret itself: only for the edge's secret binding.
    pub fn to_text(&self) -> String {
        self.ring.to_text(EDGE)
    }

    /// These keys, quick for the configured events: opening a ticket of another event takes some microseconds more.
    #[must_use]
    pub fn prepared_for(mut self, events: &[EventId]) -> Self {
        self.by_id.iter_mut().for_each(|(_, key)| key.tickets.prepare(events));
        self
    }

    fn from_ring(ring: Ring) -> Self {
        let by_id = flat::map(ring.secrets.iter().map(|(id, secret)| (*id, EdgeKey::new(secret))));
        Self { ring, by_id }
    }

    /// The id that signs, with its key.
    #[expect(clippy::expect_used, reason = "Ring::checked keeps a secret for the current id")]
    pub(crate) fn current(&self) -> (KeyId, &EdgeKey) {
        let id = self.ring.current;
        (id, self.by_id.get(&id).expect("the current key exists"))
    }

    pub(crate) fn get(&self, id: KeyId) -> Option<&EdgeKey> {
        self.by_id.get(&id)
    }

    /// Every live key, at most [`super::keyring::MAX_LIVE_KEYS`], by ascending id.
    pub(crate) fn all(&self) -> impl Iterator<Item = &EdgeKey> {
        self.by_id.values()
    }
}

impl EdgeKey {
    fn new(secret: &Secret) -> Self {
        let root = RootKey::new(secret);
        Self {
            device: root.mac_key("device-cookie", ""),
            pass: root.mac_key("pass", ""),
            signature: root.mac_key("edge-signature", ""),
            tickets: TicketKeys::new(root, "ticket-edge"),
        }
    }

    /// The key of the edge's tag on the tickets of `event`.
    pub(crate) fn ticket(&self, event: &EventId) -> Cow<'_, MacKey> {
        self.tickets.of(event)
    }
}

/// Everything symmetric that the queue server signs with: the edge's keys and its own.
#[derive(Clone)]
pub struct ServerKeys {
    edge: EdgeKeys,
    masters: LiteMap<KeyId, MasterKey>,
}

/// One generation of what the server alone can derive.
#[derive(Clone)]
pub(crate) struct MasterKey {
    edge_root: Secret,
    tickets: TicketKeys,
    pub(crate) receipt: MacKey,
}

impl ServerKeys {
    /// Derives all keys.
    pub fn new(master: &MasterKeys) -> Self {
        let Ring { current, secrets } = &master.0;
        let masters = flat::map(secrets.iter().map(|(id, secret)| (*id, MasterKey::new(secret))));
        let secrets = flat::map(masters.iter().map(|(id, master)| (*id, master.edge_root)));
        Self { edge: EdgeKeys::from_ring(Ring { current: *current, secrets }), masters }
    }

    /// These keys, quick for the configured events: see [`EdgeKeys::prepared_for`].
    #[must_use]
    pub fn prepared_for(mut self, events: &[EventId]) -> Self {
        self.edge = self.edge.prepared_for(events);
        self.masters.iter_mut().for_each(|(_, key)| key.tickets.prepare(events));
        self
    }

    /// What the edge gets.
    pub fn edge(&self) -> &EdgeKeys {
        &self.edge
    }

    /// The master key that signs.
    #[expect(clippy::expect_used, reason = "there is a master key for every key of the edge")]
    pub(crate) fn current(&self) -> &MasterKey {
        self.masters.get(&self.edge.ring.current).expect("the current key exists")
    }

    /// The id that signs, with its key.
    pub(crate) fn current_with_id(&self) -> (KeyId, &MasterKey) {
        (self.edge.ring.current, self.current())
    }

    pub(crate) fn get(&self, id: KeyId) -> Option<&MasterKey> {
        self.masters.get(&id)
    }
}

impl MasterKey {
    fn new(secret: &Secret) -> Self {
        let root = RootKey::new(secret);
        Self {
            edge_root: root.secret("edge-root", ""),
            receipt: root.mac_key("limit-receipt", ""),
            tickets: TicketKeys::new(root, "ticket-server"),
        }
    }

    /// The key of the server's tag on the tickets of `event`.
    pub(crate) fn ticket(&self, event: &EventId) -> Cow<'_, MacKey> {
        self.tickets.of(event)
    }
}

/// The keys of one kind of ticket tag, one for each event.
#[derive(Clone)]
struct TicketKeys {
    root: RootKey,
    purpose: &'static str,
    /// Derived ahead, because deriving costs several times what checking a tag does.
    prepared: LiteMap<EventId, MacKey>,
}

impl TicketKeys {
    fn new(root: RootKey, purpose: &'static str) -> Self {
        Self { root, purpose, prepared: LiteMap::new() }
    }

    fn prepare(&mut self, events: &[EventId]) {
        self.prepared = flat::map(events.iter().map(|event| (event.clone(), self.derived(event))));
    }

    fn of(&self, event: &EventId) -> Cow<'_, MacKey> {
        self.prepared.get(event).map_or_else(|| Cow::Owned(self.derived(event)), Cow::Borrowed)
    }

    fn derived(&self, event: &EventId) -> MacKey {
        self.root.mac_key(self.purpose, event.as_str())
    }
}

impl fmt::Debug for EdgeKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ring.fmt_ids("EdgeKeys", f)
    }
}

impl fmt::Debug for ServerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.edge.ring.fmt_ids("ServerKeys", f)
    }
}
