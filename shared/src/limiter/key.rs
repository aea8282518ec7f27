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

/// A key of fixed size: the first 16 bytes of SHA-256 over the length-prefixed parts where it travels or is stored, of a
/// [keyed hash](LocalKeys) inside one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
// Words of a key are read and written whole.
#[repr(align(8))]
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

/// Hashes the identities of one service and action for the tables of this process: a fraction of the price of
/// [`Key::hash`], and worth nothing elsewhere, because another process has another secret.
///
/// Up to 15 bytes are one product of two secret sums (NH of Black, Halevi, Krawczyk, Krovetz and Rogaway, "UMAC: fast and
/// secure message authentication", 1999). Longer ones are a polynomial over the integers modulo 2^127 - 1, in blocks of 15
/// bytes, at a secret point (Carter and Wegman, "New hash functions and their use in authentication and set equality",
/// 1981). Whatever two identities somebody chooses who does not know the secret, they collide with a chance of at most 1
/// in 2^63, and two long ones of 18 in 2^126. That holds for as long as no hash is shown to anybody, so it stays in this
/// process.
#[derive(Clone, Copy, Debug)]
pub struct LocalKeys {
    /// What is added to the two words of a short identity.
    sums: [u64; 2],
    /// Where the polynomial is evaluated.
    point: u128,
    start: u128,
}

impl LocalKeys {
    /// The keys of `service` and `action`; others under the same seed have another secret.
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
        let mut hasher = Sha256::new();
        hasher.update(seed.0);
        for part in [service.as_bytes(), action.as_bytes()] {
            hasher.update(length_of(part)?);
            hasher.update(part);
        }
        let long = hasher.finalize();
        let short = Sha256::digest(long);
        let [point, start] = halves(long.into()).map(u128::from_le_bytes);
        let [sums, _] = halves(short.into()).map(u128::from_le_bytes);
        Ok(Self { sums: words(sums), point: point & MODULUS, start: start & MODULUS })
    }

    /// The key of one identity.
    ///
    /// # Errors
    /// [`KeyTooLong`], before anything is hashed.
    #[inline]
    pub fn hash(&self, identity: &[u8]) -> Result<KeyHash, KeyTooLong> {
        if identity.len() > BLOCK_BYTES {
            return self.hash_long(identity);
        }
        let ([low, high], [low_sum, high_sum]) = (marked(identity), self.sums);
        let [low, high] = product(low.wrapping_add(low_sum), high.wrapping_add(high_sum));
        Ok(KeyHash((u128::from(low) | u128::from(high) << 64).to_le_bytes()))
    }

    fn hash_long(&self, identity: &[u8]) -> Result<KeyHash, KeyTooLong> {
        length_of(identity)?;
        let sum = identity.chunks(BLOCK_BYTES).fold(self.start, |sum, block| {
            let [low, high] = marked(block).map(u128::from);
            multiply(reduce(sum.wrapping_add(low | high << 64)), self.point)
        });
        Ok(KeyHash(sum.to_le_bytes()))
    }
}

impl KeyHash {
    /// Equality in words, not byte by byte.
    #[inline]
    pub(crate) fn is(self, other: Self) -> bool {
        u128::from_le_bytes(self.0) == u128::from_le_bytes(other.0)
    }

    /// Where a table that is only looked up puts this key. Without the seed nobody can choose keys that collide: the
    /// two halves meet in one 128-bit product.
    #[inline]
    pub(crate) fn slot_hash(self, seed: TableSeed) -> u64 {
        // A sum carries from word to word, so no compiler reads as one what was just written as two.
        let [low, high] = words(u128::from_le_bytes(self.0).wrapping_add(u128::from_le_bytes(seed.0)));
        fold(low, high)
    }
}

/// Both halves of a 128-bit product, one over the other.
#[inline]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let [low, high] = product(a, b);
    low ^ high
}

/// The 128-bit product in two words, the lower first.
#[inline]
fn product(a: u64, b: u64) -> [u64; 2] {
    // WebAssembly has no such product: a compiler calls a function there that is made for factors of 128 bits.
    if cfg!(target_family = "wasm") {
        product_of_halves(a, b)
    } else {
        words(u128::from(a).wrapping_mul(u128::from(b)))
    }
}

/// [`product`] on a machine whose widest product has 64 bits: by halves, as on paper. No sum overflows.
#[inline]
fn product_of_halves(a: u64, b: u64) -> [u64; 2] {
    const LOW: u64 = 0xffff_ffff;
    let (a_high, a_low, b_high, b_low) = (a >> 32, a & LOW, b >> 32, b & LOW);
    let low = a_low.wrapping_mul(b_low);
    let middle = a_high.wrapping_mul(b_low).wrapping_add(low >> 32);
    let carried = a_low.wrapping_mul(b_high).wrapping_add(middle & LOW);
    let high = a_high.wrapping_mul(b_high).wrapping_add(middle >> 32).wrapping_add(carried >> 32);
    [carried << 32 | low & LOW, high]
}

/// Secret of one table's layout, drawn at random by the host. It changes no decision while the table has room.
#[derive(Clone, Copy, Debug)]
pub struct TableSeed(pub [u8; 16]);

/// The prefix of a part.
#[inline]
fn length_of(part: &[u8]) -> Result<[u8; 2], KeyTooLong> {
    let bytes = part.len();
    let length = u16::try_from(bytes).ok().filter(|_| bytes <= PART_BYTES_MAX);
    Ok(length.ok_or(KeyTooLong { bytes })?.to_be_bytes())
}

/// At most 15 bytes as a number in two words, with a 1 above the last byte, so that no two texts read alike. Two reads
/// that overlap are faster than a copy of unknown length; what both see is shifted out of one of them.
#[inline]
fn marked(block: &[u8]) -> [u64; 2] {
    let bits = |bytes: usize| u32::try_from(bytes.saturating_mul(8)).unwrap_or(u32::MAX);
    let length = block.len();
    if let (Some(first), Some(last)) = (block.first_chunk::<8>(), block.last_chunk::<8>()) {
        let beyond = bits(length.saturating_sub(8));
        let last = u64::from_le_bytes(*last).checked_shr(64_u32.saturating_sub(beyond)).unwrap_or(0);
        [u64::from_le_bytes(*first), last | 1_u64.wrapping_shl(beyond)]
    } else if let (Some(first), Some(last)) = (block.first_chunk::<4>(), block.last_chunk::<4>()) {
        let last = u64::from(u32::from_le_bytes(*last)).wrapping_shl(bits(length.saturating_sub(4)));
        [u64::from(u32::from_le_bytes(*first)) | last | 1_u64.wrapping_shl(bits(length)), 0]
    } else {
        [block.iter().rev().fold(1, |number, byte| number << 8 | u64::from(*byte)), 0]
    }
}

/// The product modulo 2^127 - 1, of factors up to 2^127. There 2^127 is 1 and 2^128 is 2, so what overflows comes back in
/// below; the sums of the halves stay in 128 bits.
#[inline]
fn multiply(a: u128, b: u128) -> u128 {
    let ([a_low, a_high], [b_low, b_high]) = (words(a).map(u128::from), words(b).map(u128::from));
    let middle = a_low.wrapping_mul(b_high).wrapping_add(a_high.wrapping_mul(b_low));
    let high = a_high.wrapping_mul(b_high).wrapping_add(middle >> 64);
    let low = reduce(a_low.wrapping_mul(b_low)).wrapping_add(reduce(middle << 64));
    reduce(reduce(low).wrapping_add(reduce(high << 1)))
}

/// The same modulo 2^127 - 1, at most 2^127.
fn reduce(value: u128) -> u128 {
    (value & MODULUS).wrapping_add(value >> 127)
}

const MODULUS: u128 = u128::MAX >> 1;

/// As many as fit below the modulus with their mark.
const BLOCK_BYTES: usize = 15;

fn halves(digest: [u8; 32]) -> [[u8; 16]; 2] {
    let mut halves = [[0; 16]; 2];
    halves.as_flattened_mut().copy_from_slice(&digest);
    halves
}

#[inline]
fn words(value: u128) -> [u64; 2] {
    // Not through an array's `map`, which a compiler that looks for size leaves a loop.
    let low = u64::try_from(value & u128::from(u64::MAX)).unwrap_or(0);
    let high = u64::try_from(value >> 64).unwrap_or(0);
    [low, high]
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "a test may panic")]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Doubled and added, bit by bit: slow, and another way.
    fn product_by_bits(a: u128, b: u128) -> u128 {
        let mut sum = 0;
        for bit in (0..128).rev() {
            sum = double(sum);
            if b >> bit & 1 == 1 {
                sum = (sum + a % MODULUS) % MODULUS;
            }
        }
        sum
    }

    fn double(value: u128) -> u128 {
        value * 2 % MODULUS
    }

    #[test]
    fn products_are_right_at_every_edge() {
        let edges = [0, 1, 2, u128::from(u64::MAX), 1 << 64, (1 << 64) + 1, MODULUS - 1, MODULUS, 1 << 127];
        let inner = [0x0123_4567_89ab_cdef_0011_2233_4455_6677, 0x7edc_ba98_7654_3210_ffee_ddcc_bbaa_9988];
        for a in edges.into_iter().chain(inner) {
            for b in edges.into_iter().chain(inner) {
                let product = multiply(a, b);
                assert!(product <= 1 << 127);
                assert_eq!(product % MODULUS, product_by_bits(a, b), "{a:x} {b:x}");
            }
        }
    }

    #[test]
    fn a_product_by_halves_is_the_product() {
        let edges = [0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 32, (1 << 32) - 1, (1 << 32) + 1, 1 << 63];
        let inner = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 0xffff_ffff_0000_0001];
        for a in edges.into_iter().chain(inner) {
            for b in edges.into_iter().chain(inner) {
                assert_eq!(product_of_halves(a, b), words(u128::from(a) * u128::from(b)), "{a:x} {b:x}");
            }
        }
    }

    #[test]
    fn blocks_of_every_length_are_read_in_order() {
        let bytes: [u8; 15] = core::array::from_fn(|index| 0xf0 + u8::try_from(index).unwrap());
        for length in 0..=15 {
            let mut whole = [0; 16];
            whole[..length].copy_from_slice(&bytes[..length]);
            whole[length] = 1;
            assert_eq!(marked(&bytes[..length]), words(u128::from_le_bytes(whole)), "{length} bytes");
        }
    }

    #[test]
    fn no_two_identities_hash_alike_and_each_policy_has_its_own_hashes() {
        let keys = |seed, action| LocalKeys::new(TableSeed([seed; 16]), "shop", action).unwrap();
        let mut seen = BTreeSet::new();
        for keys in [keys(1, "cart"), keys(2, "cart"), keys(1, "join")] {
            for length in 0..=PART_BYTES_MAX {
                assert!(seen.insert(keys.hash(&vec![0; length]).unwrap()), "{length} zeros");
            }
            for number in 0..2_000_u64 {
                assert!(seen.insert(keys.hash(format!("member-{number}").as_bytes()).unwrap()));
            }
        }
        let too_long = keys(1, "cart").hash(&[0; PART_BYTES_MAX + 1]);
        assert_eq!(too_long, Err(KeyTooLong { bytes: PART_BYTES_MAX + 1 }));
    }
}
