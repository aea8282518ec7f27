//! Where a key lies in Redis.

use data_encoding::BASE64URL_NOPAD;
use shared::limiter::key::{Key, KeyHash};

/// `fairgate1:{shop}:hash`. The braces make a cluster keep the keys of one shop, and so of one call, on one node; other
/// shops lie elsewhere. The number is the version of what is stored.
pub(super) fn redis_key(shop: &str, key: KeyHash) -> String {
    format!("fairgate{STORED_VERSION}:{{{}}}:{}", hash_tag(shop), BASE64URL_NOPAD.encode(&key.0))
}

/// The name itself where it is plain. A brace in it would end the tag early, and an empty tag is none.
fn hash_tag(shop: &str) -> String {
    let is_plain =
        (1..=PLAIN_BYTES_MAX).contains(&shop.len()) && shop.bytes().all(|byte| byte.is_ascii_graphic());
    if is_plain && !shop.contains(['{', '}', HASHED_MARK]) {
        return shop.to_owned();
    }
    // The shop only chooses a node here: what is too long for a key is cut.
    let identity = shop.as_bytes().get(..IDENTITY_BYTES_MAX).unwrap_or(shop.as_bytes());
    let hash = Key { service: "", action: "hash tag", identity }.hash().map_or([0; 16], |hash| hash.0);
    format!("{HASHED_MARK}{}", BASE64URL_NOPAD.encode(&hash))
}

const STORED_VERSION: u8 = 1;
const PLAIN_BYTES_MAX: usize = 64;
const IDENTITY_BYTES_MAX: usize = 256;
const HASHED_MARK: char = '~';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_tag_is_the_shop_alone() {
        let key = |shop: &str| redis_key(shop, KeyHash([255; 16]));
        assert_eq!(key("shop-7"), "fairgate1:{shop-7}:_____________________w");
        let mut tags = Vec::new();
        for shop in ["", "a}b", "{a", "~", "a b", "食", &"x".repeat(65), &"x".repeat(300)] {
            let key = key(shop);
            let (before, rest) = key.split_once('{').unwrap();
            let (tag, after) = rest.split_once('}').unwrap();
            assert_eq!(before, "fairgate1:");
            assert!(tag.starts_with('~') && tag.len() == 23 && !after.contains(['{', '}']), "{key}");
            tags.push(tag.to_owned());
        }
        tags.sort();
        tags.dedup();
        assert_eq!(tags.len(), 8, "each has its own");
    }
}
