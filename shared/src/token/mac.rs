//! HMAC-SHA-256 and HKDF, keyed once and cloned for each use.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// 32 bytes that nobody else may know.
pub(crate) type Secret = [u8; 32];

/// What every derivation of this layout starts from; a new layout takes a new one.
const SALT: &[u8] = b"fairgate/v1";

/// HMAC-SHA-256 under one key.
#[derive(Clone)]
pub(crate) struct MacKey(Hmac<Sha256>);

impl MacKey {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    fn new(key: &Secret) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes keys of every length"))
    }

    /// The first `N` bytes of the tag over the parts, one after the other; `N` is at most 32.
    pub(crate) fn tag<const N: usize>(&self, parts: &[&[u8]]) -> [u8; N] {
        leading(self.over(parts).finalize().into_bytes().into())
    }

    /// Whether `tag` begins the tag over the parts; compares in constant time. An empty tag never does.
    pub(crate) fn verifies(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        self.over(parts).verify_truncated_left(tag).is_ok()
    }

    fn over(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        for part in parts {
            Mac::update(&mut mac, part);
        }
        mac
    }
}

/// A secret from which keys are derived, one for each purpose (HKDF-SHA-256, RFC 5869).
#[derive(Clone)]
pub(crate) struct RootKey(hkdf::Hkdf<Sha256>);

impl RootKey {
    pub(crate) fn new(secret: &Secret) -> Self {
        Self(hkdf::Hkdf::new(Some(SALT), secret))
    }

    /// The key for `purpose`, or for `purpose` and one event where `context` is the event's id.
    #[expect(clippy::expect_used, reason = "HKDF-SHA-256 yields up to 8,160 bytes")]
    pub(crate) fn secret(&self, purpose: &str, context: &str) -> Secret {
        let mut secret = [0; 32];
        self.0
            .expand_multi_info(&[purpose.as_bytes(), b"/", context.as_bytes()], &mut secret)
            .expect("HKDF-SHA-256 yields up to 8,160 bytes");
        secret
    }

    /// The same as a key for tags.
    pub(crate) fn mac_key(&self, purpose: &str, context: &str) -> MacKey {
        MacKey::new(&self.secret(purpose, context))
    }
}

/// The first `N` bytes of a hash; `N` is at most 32.
pub(crate) fn leading<const N: usize>(hash: [u8; 32]) -> [u8; N] {
    const { assert!(N <= 32, "a SHA-256 hash has 32 bytes") };
    let mut first = [0; N];
    for (byte, source) in first.iter_mut().zip(hash) {
        *byte = source;
    }
    first
}
