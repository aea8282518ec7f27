//! Proof of what a check took, so that exactly that is given back. Only a queue server makes it and reads it.
//!
//! `base64url(key id, 16-byte tag, postcard of the receipt)`. The tag names the receipt: it carries 8 random bytes.

use super::keyring::KeyId;
use super::keys::ServerKeys;
use crate::limiter::check::Charge;
use crate::limiter::concurrency::Holder;
use crate::time::Timestamp;
use base64ct::{Base64UrlUnpadded, Encoding as _};
use serde::{Deserialize, Serialize};

/// What one check took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Whose traffic it was.
    pub shop: String,
    /// When, by the clock of the store.
    pub taken_at: Timestamp,
    /// Who holds its permits.
    pub holder: Option<Holder>,
    /// Whether the store took it, or only the limiter of the server that answered in its place.
    pub by_store: bool,
    /// Keys, policies and costs of the shop.
    pub charges: Vec<Charge>,
    /// The same of keys that count over all shops.
    pub site_charges: Vec<Charge>,
    /// Random, so that two receipts never read alike.
    pub nonce: [u8; 8],
}

/// Names one receipt for ever.
pub type ReceiptId = [u8; TAG_BYTES];

/// A text that no live key made a receipt of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a receipt of this installation")]
pub struct InvalidReceipt;

impl ServerKeys {
    /// The text of a receipt.
    ///
    /// # Errors
    /// [`InvalidReceipt`]: never for a receipt of a check.
    pub fn seal_receipt(&self, receipt: &Receipt) -> Result<String, InvalidReceipt> {
        let body = postcard::to_allocvec(receipt).map_err(|_| InvalidReceipt)?;
        let (id, key) = self.current_with_id();
        let tag: ReceiptId = key.receipt.tag(&[&[id.0], &body]);
        let text = Base64UrlUnpadded::encode_string(&[&[id.0], tag.as_slice(), &body].concat());
        if text.len() > RECEIPT_CHARS_MAX { Err(InvalidReceipt) } else { Ok(text) }
    }

    /// The receipt of a text, and its name.
    ///
    /// # Errors
    /// [`InvalidReceipt`] for anything that was not sealed under a live key.
    pub fn open_receipt(&self, text: &str) -> Result<(ReceiptId, Receipt), InvalidReceipt> {
        if text.len() > RECEIPT_CHARS_MAX {
            return Err(InvalidReceipt);
        }
        let bytes = Base64UrlUnpadded::decode_vec(text).map_err(|_| InvalidReceipt)?;
        let (id, rest) = bytes.split_first().ok_or(InvalidReceipt)?;
        let (tag, body) = rest.split_first_chunk::<TAG_BYTES>().ok_or(InvalidReceipt)?;
        let key = self.get(KeyId(*id)).ok_or(InvalidReceipt)?;
        if !key.receipt.verifies(&[&[*id], body], tag) {
            return Err(InvalidReceipt);
        }
        Ok((*tag, postcard::from_bytes(body).map_err(|_| InvalidReceipt)?))
    }
}

const TAG_BYTES: usize = 16;

/// Longest receipt: eight charges of the longest kind take less.
pub const RECEIPT_CHARS_MAX: usize = 2_048;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::PolicySettings;
    use crate::limiter::key::KeyHash;
    use crate::token::MasterKeys;

    fn keys(secret: u8) -> ServerKeys {
        ServerKeys::new(&MasterKeys::first([secret; 32]))
    }

    fn receipt(charges: u8) -> Receipt {
        let settings =
            r#"{"long_quota":{"limit":18446744073709551615,"calendar":"month","zone":"Asia/Taipei"}}"#;
        let settings: PolicySettings = serde_json::from_str(settings).unwrap();
        let policy = settings.try_into().unwrap();
        Receipt {
            shop: "a".repeat(32),
            taken_at: Timestamp::MAX,
            holder: Some(Holder([9; 16])),
            by_store: true,
            charges: (0..charges).map(|index| Charge::new(policy, KeyHash([index; 16]), u64::MAX)).collect(),
            site_charges: Vec::new(),
            nonce: [1; 8],
        }
    }

    #[test]
    fn a_receipt_is_what_was_taken() {
        for charges in [0, 1, 8] {
            let text = keys(1).seal_receipt(&receipt(charges)).unwrap();
            assert_eq!(keys(1).open_receipt(&text).unwrap().1, receipt(charges));
        }
        let again = Receipt { nonce: [2; 8], ..receipt(1) };
        let id = |receipt: &Receipt| keys(1).open_receipt(&keys(1).seal_receipt(receipt).unwrap()).unwrap().0;
        assert_ne!(id(&receipt(1)), id(&again));
    }

    #[test]
    fn nobody_else_makes_one_or_changes_one() {
        let text = keys(1).seal_receipt(&receipt(2)).unwrap();
        assert_eq!(keys(2).open_receipt(&text), Err(InvalidReceipt));
        for at in [0, 3, 24, text.len() - 2] {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(
                keys(1).open_receipt(&String::from_utf8(changed).unwrap()),
                Err(InvalidReceipt),
                "{at}"
            );
        }
        for other in ["", "A", "AQ", &text[..text.len() - 4], &"A".repeat(RECEIPT_CHARS_MAX + 1)] {
            assert_eq!(keys(1).open_receipt(other), Err(InvalidReceipt));
        }
    }
}
