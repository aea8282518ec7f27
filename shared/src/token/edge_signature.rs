//! The header by which the queue server knows a request of its edge.

use super::keyring::KeyId;
use super::keys::EdgeKeys;
use crate::time::Timestamp;
use base64ct::{Base64UrlUnpadded, Encoding as _};
use sha2::{Digest, Sha256};

/// What the signature covers.
#[derive(Clone, Copy, Debug)]
pub struct EdgeRequest<'a> {
    /// The method in upper case.
    pub method: &'a str,
    /// Path and query exactly as sent.
    pub path_and_query: &'a str,
    /// The value of `Fairgate-Client-Ip`; empty if the request is not on behalf of a buyer.
    pub client_address: &'a str,
    /// The whole body; empty if there is none.
    pub body: &'a [u8],
}

/// Why a request does not count as the edge's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EdgeSignatureError {
    /// Not `v1;kid=<n>;t=<seconds>;sig=<43 characters>`, or a line break in what was signed.
    #[error("edge signature is malformed")]
    Malformed,
    /// Signed under a key that was retired, or never existed.
    #[error("edge signature was made with an unknown key")]
    UnknownKey,
    /// More than [`WINDOW_S`] away from the server's clock.
    #[error("edge signature is too old or from the future")]
    OutsideWindow,
    /// The signature does not match.
    #[error("edge signature does not match")]
    Forged,
}

impl EdgeKeys {
    /// The value of `Fairgate-Edge` for a request sent at `now`.
    pub fn sign_request(&self, request: &EdgeRequest<'_>, now: Timestamp) -> String {
        let (id, key) = self.current();
        let t = now.as_secs().to_string();
        let signature: [u8; 32] = key.signature.tag(&[signed_text(request, &t).as_bytes()]);
        format!("v1;kid={};t={t};sig={}", id.0, Base64UrlUnpadded::encode_string(&signature))
    }

    /// Whether a request with this value of `Fairgate-Edge` is the edge's own. It may be sent twice inside the window, so what
    /// it asks for must be idempotent.
    ///
    /// # Errors
    /// See [`EdgeSignatureError`].
    pub fn verify_request(
        &self,
        header: &str,
        request: &EdgeRequest<'_>,
        now: Timestamp,
    ) -> Result<(), EdgeSignatureError> {
        let parsed = Parsed::new(header).ok_or(EdgeSignatureError::Malformed)?;
        // A line break inside a field would let two different requests sign the same text.
        if [request.method, request.path_and_query, request.client_address]
            .iter()
            .any(|field| field.contains('\n'))
        {
            return Err(EdgeSignatureError::Malformed);
        }
        let key = self.get(parsed.key_id).ok_or(EdgeSignatureError::UnknownKey)?;
        if !key.signature.verifies(&[signed_text(request, parsed.t).as_bytes()], &parsed.signature) {
            return Err(EdgeSignatureError::Forged);
        }
        if now.as_secs().abs_diff(parsed.t_s) > WINDOW_S {
            return Err(EdgeSignatureError::OutsideWindow);
        }
        Ok(())
    }
}

struct Parsed<'a> {
    key_id: KeyId,
    t: &'a str,
    t_s: u64,
    signature: [u8; 32],
}

impl<'a> Parsed<'a> {
    fn new(header: &'a str) -> Option<Self> {
        let mut parts = header.split(';');
        let version = parts.next()?;
        let key_id = parts.next()?.strip_prefix("kid=")?;
        let t = parts.next()?.strip_prefix("t=")?;
        let signature = parts.next()?.strip_prefix("sig=")?;
        let digits = |text: &str| (1..=12).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        if version != "v1" || parts.next().is_some() || !digits(key_id) || !digits(t) {
            return None;
        }
        let signature = Base64UrlUnpadded::decode_vec(signature).ok()?.try_into().ok()?;
        Some(Self { key_id: KeyId(key_id.parse().ok()?), t, t_s: t.parse().ok()?, signature })
    }
}

fn signed_text(request: &EdgeRequest<'_>, t: &str) -> String {
    let EdgeRequest { method, path_and_query, client_address, body } = request;
    let body_hash = base16ct::lower::encode_string(&Sha256::digest(body));
    format!("v1\n{method}\n{path_and_query}\n{t}\n{client_address}\n{body_hash}")
}

/// How far the clocks of edge and queue server may be apart, in seconds; at this very distance a request still counts.
pub const WINDOW_S: u64 = 60;
