//! What a policy counts by.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

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

/// A key as every store holds it: the first 16 bytes of SHA-256 over the length-prefixed parts.
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
            let bytes = part.len();
            let length =
                u16::try_from(bytes).ok().filter(|_| bytes <= PART_BYTES_MAX).ok_or(KeyTooLong { bytes })?;
            hasher.update(length.to_be_bytes());
            hasher.update(part);
        }
        let [first, _] = halves(hasher.finalize().into());
        Ok(KeyHash(first))
    }
}

impl KeyHash {
    /// Where a table that is only looked up puts this key. Without the seed nobody can choose keys that collide: the
    /// two halves meet in one 128-bit product.
    pub(crate) fn slot_hash(self, seed: TableSeed) -> u64 {
        let [low, high] = words(u128::from_le_bytes(self.0) ^ u128::from_le_bytes(seed.0));
        let [low, high] = words(u128::from(low).wrapping_mul(u128::from(high)));
        low ^ high
    }
}

/// Secret of one table's layout, drawn at random by the host. It changes no decision while the table has room.
#[derive(Clone, Copy, Debug)]
pub struct TableSeed(pub [u8; 16]);

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
