//! What holds for every body that Fairgate reads, at the edge and at the queue server.

use core::time::Duration;

/// Longest body of a gated request and of a buyer's call, in bytes.
pub const BODY_BYTES_MAX: usize = 16 * 1024;

/// How long a body may take to arrive: a slow one is refused and not waited for.
pub const BODY_TIME_MAX: Duration = Duration::from_secs(10);

/// Whether a body's bytes are not what its content type says, by its `Content-Encoding` (several fields joined by commas).
/// Nothing is ever decompressed; `identity` means none.
///
/// ```
/// use shared::http::body::is_encoded;
/// assert!(is_encoded(Some("gzip")) && is_encoded(Some("identity, gzip")));
/// assert!(!is_encoded(Some("Identity")) && !is_encoded(None));
/// ```
pub fn is_encoded(content_encoding: Option<&str>) -> bool {
    let encoding = content_encoding.unwrap_or_default().trim();
    !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity")
}
