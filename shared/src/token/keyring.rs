//! The keys of the server and of the edge, from one master secret per key id.

use super::mac::{MacKey, RootKey, Secret};
use crate::ids::EventId;
use core::fmt;
use data_encoding::BASE64URL_NOPAD;
use std::collections::BTreeMap;

/// Names one generation of keys; every token carries the one it was signed under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub u8);

/// Why a keyring cannot be read or built. Never tells anything of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// The text is not in the one form that `to_text` prints.
    #[error("expected `<kind>;current=<id>;<id>=<43 characters base64url>` with ids ascending")]
    Malformed,
    /// The text holds the other kind of keys: a master secret must not be given to the edge.
    #[error("these keys are of the other kind (master or edge)")]
    OtherKind,
    /// No secret has the id that signs.
    #[error("the current key id has no secret")]
    CurrentMissing,
    /// More than [`MAX_LIVE_KEYS`] secrets.
    #[error("at most {MAX_LIVE_KEYS} keys may live at once")]
    TooManyKeys,
}

/// The secrets that only the queue server holds: the root of everything symmetric.
///
/// The text form, for a file: `master;current=2;1=<43 characters>;2=<43 characters>`.
///
/// ```
/// use shared::token::{KeyId, MasterKeys};
/// let first = MasterKeys::first([7; 32]);
/// let rotated = first.with_key(KeyId(2), [8; 32])?.with_current(KeyId(2))?;
/// assert_eq!(MasterKeys::parse(&rotated.to_text())?.to_text(), rotated.to_text());
/// # Ok::<(), shared::token::keyring::KeyringError>(())
/// ```
#[derive(Clone)]
pub struct MasterKeys(Ring);

impl MasterKeys {
    /// The keyring of a first start: key id 1 with 32 random bytes of the host.
    pub fn first(secret: [u8; 32]) -> Self {
        Self(Ring { current: KeyId(1), secrets: BTreeMap::from([(KeyId(1), secret)]) })
    }

    /// This keyring with one more secret, which verifies but does not sign yet. An id that exists gets the new secret.
    ///
    /// # Errors
    /// [`KeyringError::TooManyKeys`].
    pub fn with_key(mut self, id: KeyId, secret: [u8; 32]) -> Result<Self, KeyringError> {
        self.0.secrets.insert(id, secret);
        self.0.checked().map(Self)
    }

    /// This keyring signing with `current`. Do it when every edge knows that key.
    ///
    /// # Errors
    /// [`KeyringError::CurrentMissing`].
    pub fn with_current(mut self, current: KeyId) -> Result<Self, KeyringError> {
        self.0.current = current;
        self.0.checked().map(Self)
    }

    /// This keyring without the secret of `id`. Do it when the last ticket under that key has ended: it voids what is left.
    ///
    /// # Errors
    /// [`KeyringError::CurrentMissing`] for the key that signs.
    pub fn without(mut self, id: KeyId) -> Result<Self, KeyringError> {
        self.0.secrets.remove(&id);
        self.0.checked().map(Self)
    }

    /// Reads the text form; white space around it is ignored.
    ///
    /// # Errors
    /// See [`KeyringError`].
    pub fn parse(text: &str) -> Result<Self, KeyringError> {
        Ring::parse(MASTER, text).map(Self)
    }

    /// The text form. It is the secret itself: only for the key file.
    pub fn to_text(&self) -> String {
        self.0.to_text(MASTER)
    }
}

/// What the edge may hold: it checks tickets, passes and device cookies, and signs device cookies and its own requests.
///
/// Whoever steals these keys can pass the edge, but cannot mint a ticket that the server accepts, nor a pass that the shop accepts.
/// The text form, for a secret of the Worker: `edge;current=1;1=<43 characters>`.
#[derive(Clone)]
pub struct EdgeKeys {
    ring: Ring,
    by_id: BTreeMap<KeyId, EdgeKey>,
}

/// One generation of the edge's keys, ready for use.
#[derive(Clone)]
pub(crate) struct EdgeKey {
    root: RootKey,
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

    fn from_ring(ring: Ring) -> Self {
        let by_id = ring.secrets.iter().map(|(id, secret)| (*id, EdgeKey::new(secret))).collect();
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

    /// Every live key, at most [`MAX_LIVE_KEYS`], by ascending id.
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
            root,
        }
    }

    /// The key of the edge's tag on the tickets of `event`.
    pub(crate) fn ticket(&self, event: &EventId) -> MacKey {
        self.root.mac_key("ticket-edge", event.as_str())
    }
}

/// Everything symmetric that the queue server signs with: the edge's keys and its own.
#[derive(Clone)]
pub struct ServerKeys {
    edge: EdgeKeys,
    masters: BTreeMap<KeyId, MasterKey>,
}

/// One generation of what the server alone can derive.
#[derive(Clone)]
pub(crate) struct MasterKey(RootKey);

impl ServerKeys {
    /// Derives all keys.
    pub fn new(master: &MasterKeys) -> Self {
        let Ring { current, secrets } = &master.0;
        let masters: BTreeMap<_, _> =
            secrets.iter().map(|(id, secret)| (*id, MasterKey::new(secret))).collect();
        let secrets = masters.iter().map(|(id, master)| (*id, master.edge_root())).collect();
        Self { edge: EdgeKeys::from_ring(Ring { current: *current, secrets }), masters }
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

    pub(crate) fn get(&self, id: KeyId) -> Option<&MasterKey> {
        self.masters.get(&id)
    }
}

impl MasterKey {
    fn new(secret: &Secret) -> Self {
        Self(RootKey::new(secret))
    }

    fn edge_root(&self) -> Secret {
        self.0.secret("edge-root", "")
    }

    /// The key of the server's tag on the tickets of `event`.
    pub(crate) fn ticket(&self, event: &EventId) -> MacKey {
        self.0.mac_key("ticket-server", event.as_str())
    }
}

/// Secrets by key id, and the one that signs.
#[derive(Clone)]
struct Ring {
    current: KeyId,
    secrets: BTreeMap<KeyId, Secret>,
}

impl Ring {
    fn checked(self) -> Result<Self, KeyringError> {
        if self.secrets.len() > MAX_LIVE_KEYS {
            Err(KeyringError::TooManyKeys)
        } else if self.secrets.contains_key(&self.current) {
            Ok(self)
        } else {
            Err(KeyringError::CurrentMissing)
        }
    }

    fn to_text(&self, kind: &str) -> String {
        let mut parts = vec![kind.to_owned(), format!("current={}", self.current.0)];
        parts.extend(
            self.secrets.iter().map(|(id, secret)| format!("{}={}", id.0, BASE64URL_NOPAD.encode(secret))),
        );
        parts.join(";")
    }

    fn parse(kind: &str, text: &str) -> Result<Self, KeyringError> {
        let text = text.trim();
        let mut parts = text.split(';');
        match parts.next() {
            Some(found) if found == kind => {}
            Some(MASTER | EDGE) => return Err(KeyringError::OtherKind),
            _ => return Err(KeyringError::Malformed),
        }
        let current = parts.next().and_then(|part| part.strip_prefix("current="));
        let current = current.and_then(|id| id.parse().ok()).ok_or(KeyringError::Malformed)?;
        let secrets = parts.map(parse_secret).collect::<Option<_>>().ok_or(KeyringError::Malformed)?;
        let ring = Self { current: KeyId(current), secrets };
        // Printing again settles order, repeated ids, leading zeros and signs in one comparison.
        if ring.to_text(kind) == text { ring.checked() } else { Err(KeyringError::Malformed) }
    }
}

fn parse_secret(part: &str) -> Option<(KeyId, Secret)> {
    let (id, secret) = part.split_once('=')?;
    let secret = BASE64URL_NOPAD.decode(secret.as_bytes()).ok()?;
    Some((KeyId(id.parse().ok()?), secret.try_into().ok()?))
}

impl fmt::Debug for MasterKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_ids("MasterKeys", f)
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

impl Ring {
    /// Only ids: a secret that reached a log would have to be rotated.
    fn fmt_ids(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<u8> = self.secrets.keys().map(|id| id.0).collect();
        f.debug_struct(name).field("current", &self.current.0).field("ids", &ids).finish_non_exhaustive()
    }
}

/// The most secrets that live at once: two during a rotation, with room for one more rotation before old tickets have ended.
pub const MAX_LIVE_KEYS: usize = 4;

const MASTER: &str = "master";
const EDGE: &str = "edge";
