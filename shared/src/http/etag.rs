//! Conditional requests (RFC 9110 section 13.1.2).

/// Whether `If-None-Match` says that the client has the representation with this `etag`, quotes included: one of a list, weak or
/// strong, or `*`.
///
/// ```
/// use shared::http::etag::is_known;
/// assert!(is_known(Some("\"a\", W/\"b\""), "\"b\"") && is_known(Some("*"), "\"b\""));
/// assert!(!is_known(Some("\"a\""), "\"b\"") && !is_known(None, "\"b\""));
/// ```
pub fn is_known(if_none_match: Option<&str>, etag: &str) -> bool {
    let mut tags = if_none_match.unwrap_or_default().split(',').map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}
