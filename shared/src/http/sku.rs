//! Which SKU a gated request is about. A request that could be read in two ways is refused, never guessed.

use super::path::CanonicalPath;
use super::reason::Reason;
use crate::config::RouteConfig;

/// Name of something on sale: 1 to 64 letters, digits and `. _ - : / # ~`.
///
/// Compared without regard to ASCII case, and a number without leading zeros, because some shop does; so it is kept that way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sku(String);

impl Sku {
    /// Reads a SKU.
    ///
    /// # Errors
    /// [`Reason::SkuTooLong`] past 64 bytes, [`Reason::SkuInvalid`] where it is empty or holds another character.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let _ = text;
        Err(Reason::SkuInvalid)
    }

    /// The SKU in the spelling that is compared.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The parts of a gated request that may name its SKU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkuRequest<'r> {
    /// `Content-Type`, several fields joined by commas.
    pub content_type: Option<&'r str>,
    /// `Content-Encoding`, several fields joined by commas.
    pub content_encoding: Option<&'r str>,
    /// Query string without its question mark.
    pub query: Option<&'r str>,
    /// The body, read up to [`BODY_BYTES_MAX`] + 1 bytes, so that a longer one is seen. Not needed where
    /// [`needs_body`] is false.
    pub body: &'r [u8],
}

/// Whether the SKU of this route stands in the body: only then is the body read, everything else streams.
pub fn needs_body(route: &RouteConfig) -> bool {
    let _ = route;
    true
}

/// The SKU that a gated request is about.
///
/// # Errors
/// A reason for each way in which the request can be unfit: see the table of reasons.
pub fn extract(route: &RouteConfig, path: &CanonicalPath, request: &SkuRequest<'_>) -> Result<Sku, Reason> {
    let _ = (route, path, request);
    Err(Reason::SkuMissing)
}

/// Largest body that is read, in bytes.
pub const BODY_BYTES_MAX: usize = 16 * 1024;
