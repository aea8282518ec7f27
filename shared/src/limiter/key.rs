//! What a policy counts by.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use siphasher::sip128::{Hash128, SipHasher13};

/// Longest part of a key, in bytes. A longer identity is no identity we gave or know, and costs nothing to refuse.
pub const PART_BYTES_MAX: usize = 256;

/// Who does what where: `service` (a shop), `action` (the name of the policy) and `identity` (an address, a device).
///
/// Parts are length-prefixed, so that no two keys can read alike, and one action never spends another's quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// Whose traffic it is.
    pub service: &'a str,
    /// What is being done: one budget each.
    pub action: &'a str,
    /// Who does it: bytes of an address, of a device id, of a verified principal. Never raw input that nobody checked.
    pub identity: &'a [u8],
}

/// A part of a key is longer than [`PART_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a part of a limiter key has {bytes} bytes, the most is {PART_BYTES_MAX}")]
pub struct KeyTooLong {
    /// Length of the part.
    pub bytes: usize,
}

/// A key of fixed size: the first 16 bytes of SHA-256 over the length-prefixed parts where it travels or is stored, of a
/// [keyed hash](LocalKeys) inside one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyHash(pub [u8; 16]);

impl Key<'_> {
    /// The fixed-size form of the key.
    ///
    /// # Errors
    /// [`KeyTooLong`], before anything is hashed, so that a megabyte of header costs nothing.
    pub fn hash(&self) -> Result<KeyHash, KeyTooLong> {
        let mut hasher = Sha256::new();
        for part in [self.service.as_bytes(), self.action.as_bytes(), self.identity] {
            hasher.update(length_of(part)?);
            hasher.update(part);
        }
        let [first, _] = halves(hasher.finalize().into());
        Ok(KeyHash(first))
    }
}

/// Hashes the identities of one service and action for the tables of this process: several times as fast as
/// [`Key::hash`], and worth nothing elsewhere, because another process has another secret.
///
/// SipHash-1-3 with 128 bits, as secret as its seed: whoever does not know it finds no two identities that collide.
#[derive(Clone, Copy, Debug)]
pub struct LocalKeys {
    secret: [u8; 16],
}

impl LocalKeys {
    /// The keys of `service` and `action`; others under the same seed never read like them.
    ///
    /// # Errors
    /// [`KeyTooLong`] for a part beyond [`PART_BYTES_MAX`].
    ///
    /// ```
    /// use shared::limiter::key::{LocalKeys, TableSeed};
    /// let seed = TableSeed([7; 16]);
    /// let carts = LocalKeys::new(seed, "shop", "cart").unwrap();
    /// let joins = LocalKeys::new(seed, "shop", "join").unwrap();
    /// assert_eq!(carts.hash(b"device-1"), carts.hash(b"device-1"));
    /// assert_ne!(carts.hash(b"device-1"), joins.hash(b"device-1"));
    /// ```
    pub fn new(seed: TableSeed, service: &str, action: &str) -> Result<Self, KeyTooLong> {
        let mut named = Vec::new();
        for part in [service.as_bytes(), action.as_bytes()] {
            named.extend(length_of(part)?);
            named.extend(part);
        }
        Ok(Self { secret: bytes_of(SipHasher13::new_with_key(&seed.0).hash(&named)) })
    }

    /// The key of one identity.
    ///
    /// # Errors
    /// [`KeyTooLong`], before anything is hashed.
    pub fn hash(&self, identity: &[u8]) -> Result<KeyHash, KeyTooLong> {
        length_of(identity)?;
        Ok(KeyHash(bytes_of(SipHasher13::new_with_key(&self.secret).hash(identity))))
    }
}

impl KeyHash {
    /// Where a table that is only looked up puts this key. Without the seed nobody can choose keys that collide: the
    /// two halves meet in one 128-bit product.
    pub(crate) fn slot_hash(self, seed: TableSeed) -> u64 {
        let [low, high] = words(u128::from_le_bytes(self.0) ^ u128::from_le_bytes(seed.0));
        fold(low, high)
    }
}

/// Both halves of a 128-bit product, one over the other.
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let [low, high] = words(u128::from(a).wrapping_mul(u128::from(b)));
    low ^ high
}

/// Secret of one table's layout, drawn at random by the host. It changes no decision while the table has room.
#[derive(Clone, Copy, Debug)]
pub struct TableSeed(pub [u8; 16]);

/// The prefix of a part.
fn length_of(part: &[u8]) -> Result<[u8; 2], KeyTooLong> {
    let bytes = part.len();
    let length = u16::try_from(bytes).ok().filter(|_| bytes <= PART_BYTES_MAX);
    Ok(length.ok_or(KeyTooLong { bytes })?.to_be_bytes())
}

fn bytes_of(hash: Hash128) -> [u8; 16] {
    (u128::from(hash.h1) | u128::from(hash.h2) << 64).to_le_bytes()
}

fn halves(digest: [u8; 32]) -> [[u8; 16]; 2] {
    let mut halves = [[0; 16]; 2];
    halves.as_flattened_mut().copy_from_slice(&digest);
    halves
}

fn words(value: u128) -> [u64; 2] {
    let [high, low] =
        [value >> 64, value & u128::from(u64::MAX)].map(|word| u64::try_from(word).unwrap_or(0));
    [low, high]
}
