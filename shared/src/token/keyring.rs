//! The secrets from which all keys come, one per key id, and their text form.

use super::mac::Secret;
use crate::flat::{self, LiteMap};
use base64ct::{Base64UrlUnpadded, Encoding as _};
use core::fmt;

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
    /// The key id has a secret already.
    #[error("this key id has a secret already")]
    IdTaken,
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
pub struct MasterKeys(pub(crate) Ring);

impl MasterKeys {
    /// The keyring of a first start: key id 1 with 32 random bytes of the host.
    pub fn first(secret: [u8; 32]) -> Self {
        Self(Ring { current: KeyId(1), secrets: flat::map([(KeyId(1), secret)]) })
    }

    /// This keyring with one more secret, which verifies but does not sign yet.
    ///
    /// # Errors
    /// [`KeyringError::TooManyKeys`]; [`KeyringError::IdTaken`], because another secret would void every token under that id.
    pub fn with_key(mut self, id: KeyId, secret: [u8; 32]) -> Result<Self, KeyringError> {
        if self.0.secrets.insert(id, secret).is_some() {
            return Err(KeyringError::IdTaken);
        }
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

    /// The key id that signs.
    pub fn current(&self) -> KeyId {
        self.0.current
    }

    /// The ids of all live secrets, ascending.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> {
        self.0.secrets.keys().copied()
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

/// Secrets by key id, and the one that signs.
#[derive(Clone)]
pub(crate) struct Ring {
    pub(crate) current: KeyId,
    pub(crate) secrets: LiteMap<KeyId, Secret>,
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

    pub(crate) fn to_text(&self, kind: &str) -> String {
        let mut parts = vec![kind.to_owned(), format!("current={}", self.current.0)];
        parts.extend(
            self.secrets
                .iter()
                .map(|(id, secret)| format!("{}={}", id.0, Base64UrlUnpadded::encode_string(secret))),
        );
        parts.join(";")
    }

    pub(crate) fn parse(kind: &str, text: &str) -> Result<Self, KeyringError> {
        let text = text.trim();
        let mut parts = text.split(';');
        match parts.next() {
            Some(found) if found == kind => {}
            Some(MASTER | EDGE) => return Err(KeyringError::OtherKind),
            _ => return Err(KeyringError::Malformed),
        }
        let current = parts.next().and_then(|part| part.strip_prefix("current="));
        let current = current.and_then(|id| id.parse().ok()).ok_or(KeyringError::Malformed)?;
        let mut secrets = LiteMap::new();
        for part in parts {
            let (id, secret) = parse_secret(part).ok_or(KeyringError::Malformed)?;
            secrets.insert(id, secret);
        }
        let ring = Self { current: KeyId(current), secrets };
        // Printing again settles order, repeated ids, leading zeros and signs in one comparison.
        if ring.to_text(kind) == text { ring.checked() } else { Err(KeyringError::Malformed) }
    }

    /// Only ids: a secret that reached a log would have to be rotated.
    pub(crate) fn fmt_ids(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<u8> = self.secrets.keys().map(|id| id.0).collect();
        f.debug_struct(name).field("current", &self.current.0).field("ids", &ids).finish_non_exhaustive()
    }
}

fn parse_secret(part: &str) -> Option<(KeyId, Secret)> {
    let (id, secret) = part.split_once('=')?;
    let secret = Base64UrlUnpadded::decode_vec(secret).ok()?;
    Some((KeyId(id.parse().ok()?), secret.try_into().ok()?))
}

impl fmt::Debug for MasterKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_ids("MasterKeys", f)
    }
}

/// The most secrets that live at once: two during a rotation, with room for one more rotation before old tickets have ended.
pub const MAX_LIVE_KEYS: usize = 4;

pub(crate) const MASTER: &str = "master";
pub(crate) const EDGE: &str = "edge";
