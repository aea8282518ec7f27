//! Scheme, host and port of a server, as a browser's `Origin` writes them.

use core::fmt;
use core::net::Ipv6Addr;

/// `http://host[:port]` or `https://host[:port]`, in lower case, without the scheme's own port, path or user.
///
/// ```
/// use shared::config::WebOrigin;
/// let origin = WebOrigin::parse("HTTPS://Shop.example:443/").unwrap();
/// assert_eq!(origin.as_str(), "https://shop.example");
/// assert_eq!(origin.authority(), "shop.example");
/// assert!(WebOrigin::parse("https://shop.example/cart").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WebOrigin {
    text: String,
}

/// A text that is not a [`WebOrigin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write http://host[:port] or https://host[:port], without user, path or query")]
pub struct InvalidWebOrigin;

impl WebOrigin {
    /// Reads an origin; one trailing slash is dropped.
    ///
    /// # Errors
    /// [`InvalidWebOrigin`] for anything but scheme, host and port.
    pub fn parse(text: &str) -> Result<Self, InvalidWebOrigin> {
        let (scheme, rest) = text.split_once("://").ok_or(InvalidWebOrigin)?;
        let scheme = scheme.to_ascii_lowercase();
        let own_port = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return Err(InvalidWebOrigin),
        };
        let (host, port) = split_authority(rest.strip_suffix('/').unwrap_or(rest)).ok_or(InvalidWebOrigin)?;
        let text = match port.filter(|port| *port != own_port) {
            Some(port) => format!("{scheme}://{host}:{port}"),
            None => format!("{scheme}://{host}"),
        };
        Ok(Self { text })
    }

    /// The origin as text, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Host and port.
    pub fn authority(&self) -> &str {
        self.text.split_once("://").map_or("", |(_, authority)| authority)
    }

    /// Whether the scheme is `https`.
    pub fn is_https(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// Whether the host is this machine: `localhost`, a name under it, `127.0.0.1` or `[::1]`.
    pub fn is_loopback(&self) -> bool {
        let host = split_authority(self.authority()).map(|(host, _)| host).unwrap_or_default();
        matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]") || host.ends_with(".localhost")
    }
}

impl fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// One spelling of a `Host` value: lower case, without a trailing dot and without the ports 80 and 443; `None` where it
/// is none.
pub fn canonical_host(text: &str) -> Option<String> {
    let (host, port) = split_authority(text)?;
    match port {
        None | Some(80 | 443) => Some(host),
        Some(port) => Some(format!("{host}:{port}")),
    }
}

fn split_authority(text: &str) -> Option<(String, Option<u16>)> {
    let text = text.to_ascii_lowercase();
    let host_end = text.find(']').map_or_else(|| text.find(':'), |end| end.checked_add(1));
    let (host, port) = text.split_at_checked(host_end.unwrap_or(text.len()))?;
    let port = match port.strip_prefix(':') {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().ok().filter(|port| *port > 0)?)
        }
        None if port.is_empty() => None,
        _ => return None,
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    is_host(host).then(|| (host.to_owned(), port))
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    let is_label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(allowed);
    host.len() <= 253 && host.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_have_one_spelling() {
        let check = |text, expected: Option<&str>| {
            assert_eq!(WebOrigin::parse(text).ok().as_ref().map(WebOrigin::as_str), expected, "{text}");
        };
        check("http://localhost:8700", Some("http://localhost:8700"));
        check("http://Shop.Example:80/", Some("http://shop.example"));
        check("https://shop.example:80", Some("https://shop.example:80"));
        check("http://[::1]:1", Some("http://[::1]:1"));
        check("http://queue_server:8701", Some("http://queue_server:8701"));
        let bad = [
            "",
            "shop.example",
            "ftp://a",
            "//a",
            "http://",
            "http:///",
            "http://a//",
            "http://a/b",
            "http://a?x",
            "http://a#x",
            "http://u@a",
            "http://u:p@a",
            "http://a:0",
            "http://a:65536",
            "http://a:",
            "http://a:+1",
            "http://a b",
            "http://a\\b",
            "http://[::1",
            "http://[::g]",
            "http://[::1]x",
            "http://a..b",
            "http://é",
        ];
        for text in bad {
            check(text, None);
        }
    }

    #[test]
    fn loopback_is_told_by_the_host() {
        let is_loopback = |text| WebOrigin::parse(text).unwrap().is_loopback();
        assert!(is_loopback("http://localhost"));
        assert!(is_loopback("http://alpha.localhost:8700"));
        assert!(is_loopback("http://127.0.0.1:1"));
        assert!(is_loopback("http://[::1]:1"));
        assert!(!is_loopback("http://localhost.example"));
        assert!(!is_loopback("http://notlocalhost"));
    }

    #[test]
    fn hosts_have_one_spelling() {
        let check =
            |text, expected: Option<&str>| assert_eq!(canonical_host(text).as_deref(), expected, "{text}");
        check("Shop.Example", Some("shop.example"));
        check("shop.example.", Some("shop.example"));
        check("shop.example.:443", Some("shop.example"));
        check("shop.example:80", Some("shop.example"));
        check("shop.example:8080", Some("shop.example:8080"));
        check("shop.example..", None);
        check("", None);
        check("a,b", None);
    }
}
