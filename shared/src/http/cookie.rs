//! Names, reading and writing of Fairgate's cookies.
//!
//! A request may carry any number of cookies that are not ours, broken ones, and several of one name (a wider domain, another
//! path). Nothing here fails: what cannot be read is passed over, and the caller takes the first value that verifies.

use crate::ids::EventId;
use core::time::Duration;

/// Where cookies live, which their names tell the browser to enforce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CookieMode {
    /// `fg-…` without `Secure`, for `http://localhost` only.
    Development,
    /// `__Host-fg-…`: this host alone can set and read them.
    Host,
    /// `__Secure-fg-…` for a domain, where the shop's API has another host.
    Domain(CookieDomain),
}

/// A domain name as the attribute `Domain` takes it: lower-case labels with a dot between them, no dot in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieDomain(String);

/// A text that is not a domain of at least two labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a cookie domain is lower case, with at least one dot, and neither begins nor ends with one")]
pub struct InvalidCookieDomain;

impl CookieDomain {
    /// Reads a domain.
    ///
    /// # Errors
    /// [`InvalidCookieDomain`] unless it is two or more labels of `[a-z0-9-]`, at most 253 characters.
    pub fn parse(text: &str) -> Result<Self, InvalidCookieDomain> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(allowed);
        if text.len() <= 253 && text.contains('.') && text.split('.').all(label) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidCookieDomain)
        }
    }
}

/// One of Fairgate's cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookie<'a> {
    /// The signed device id.
    Device,
    /// The ticket of an event.
    Ticket(&'a EventId),
    /// The pass of an event.
    Pass(&'a EventId),
}

impl CookieMode {
    /// The full name of a cookie.
    ///
    /// ```
    /// use shared::http::cookie::{Cookie, CookieMode};
    /// assert_eq!(CookieMode::Host.name(Cookie::Device), "__Host-fg-device");
    /// ```
    pub fn name(&self, cookie: Cookie<'_>) -> String {
        let prefix = self.prefix();
        match cookie {
            Cookie::Device => format!("{prefix}device"),
            Cookie::Ticket(event) => format!("{prefix}{TICKET}{event}"),
            Cookie::Pass(event) => format!("{prefix}pass-{event}"),
        }
    }

    /// A `Set-Cookie` value that keeps `value` for `life`, in whole seconds rounded down.
    ///
    /// `value` must be of base64url and dots, as every token here is.
    pub fn set(&self, cookie: Cookie<'_>, value: &str, life: Duration) -> String {
        let name = self.name(cookie);
        let place = match self {
            Self::Development => String::new(),
            Self::Host => "; Secure".to_owned(),
            Self::Domain(domain) => format!("; Secure; Domain={}", domain.0),
        };
        format!("{name}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Lax{place}", life.as_secs())
    }

    /// A `Set-Cookie` value that makes the browser forget a cookie.
    pub fn clear(&self, cookie: Cookie<'_>) -> String {
        self.set(cookie, "", Duration::ZERO)
    }

    /// Events whose ticket cookies should be cleared when a ticket of `event` is set, so that at most [`TICKET_COOKIES_MAX`]
    /// stay. Browsers send the oldest first, so those at the front go; at most [`CLEARED_MAX`] in one reply.
    pub fn crowded_out<'h>(
        &self,
        cookie_headers: impl IntoIterator<Item = &'h [u8]>,
        event: &EventId,
    ) -> Vec<EventId> {
        let prefix = format!("{}{TICKET}", self.prefix());
        let mut held: Vec<EventId> = Vec::new();
        for (name, _) in pairs(cookie_headers) {
            let other = name.strip_prefix(prefix.as_str()).and_then(|id| EventId::parse(id).ok());
            if let Some(other) = other.filter(|other| other != event && !held.contains(other)) {
                held.push(other);
                if held.len() == TICKET_COOKIES_READ_MAX {
                    break;
                }
            }
        }
        let kept_beside = TICKET_COOKIES_MAX.saturating_sub(1);
        let surplus = held.len().saturating_sub(kept_beside).min(CLEARED_MAX);
        held.truncate(surplus);
        held
    }

    fn prefix(&self) -> &'static str {
        match self {
            Self::Development => "fg-",
            Self::Host => "__Host-fg-",
            Self::Domain(_) => "__Secure-fg-",
        }
    }
}

/// The values of the cookie `name`, in the order in which they came, at most [`CANDIDATES_MAX`].
///
/// `cookie_headers` are the values of every `Cookie` field of the request. Values that cannot be one of our tokens (empty, or
/// other characters than base64url and dots) are passed over and do not count. A pair of double quotes around a value is removed.
///
/// ```
/// use shared::http::cookie::values;
/// let header = b"a=1; broken; fg-device=x!; fg-device=one; fg-device=\"two\"".as_slice();
/// assert_eq!(values([header], "fg-device").collect::<Vec<_>>(), ["one", "two"]);
/// ```
pub fn values<'h>(
    cookie_headers: impl IntoIterator<Item = &'h [u8]>,
    name: &str,
) -> impl Iterator<Item = &'h str> {
    pairs(cookie_headers)
        .filter(move |(found, value)| *found == name && is_token(value))
        .map(|(_, value)| value)
        .take(CANDIDATES_MAX)
}

/// The tickets that a request presents: the one of `Authorization: Ticket <84 characters>` first, then those of the cookie `name`.
pub fn presented_tickets<'h>(
    authorization: Option<&'h [u8]>,
    cookie_headers: impl IntoIterator<Item = &'h [u8]>,
    name: &str,
) -> impl Iterator<Item = &'h str> {
    authorization.and_then(authorization_ticket).into_iter().chain(values(cookie_headers, name))
}

/// The ticket of an `Authorization` field, if its scheme is `Ticket` (in any case, RFC 9110).
pub fn authorization_ticket(authorization: &[u8]) -> Option<&str> {
    let (scheme, ticket) = core::str::from_utf8(authorization).ok()?.trim().split_once(' ')?;
    let ticket = ticket.trim();
    (scheme.eq_ignore_ascii_case("ticket") && is_token68(ticket)).then_some(ticket)
}

/// What ends one pair of a `Cookie` field. A comma, too: a runtime that knows one value per field joins two `Cookie` lines by
/// it, and no token of ours holds one.
pub const PAIR_ENDS: [char; 2] = [';', ','];

/// Names and values of all cookies that are text, in order.
fn pairs<'h>(cookie_headers: impl IntoIterator<Item = &'h [u8]>) -> impl Iterator<Item = (&'h str, &'h str)> {
    let pairs = |header: &'h [u8]| header.split(|byte| PAIR_ENDS.contains(&char::from(*byte)));
    cookie_headers.into_iter().flat_map(pairs).filter_map(|pair| {
        let (name, value) = core::str::from_utf8(pair).ok()?.split_once('=')?;
        let value = value.trim();
        let unquoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        Some((name.trim(), unquoted.unwrap_or(value)))
    })
}

fn is_token(value: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !value.is_empty() && value.bytes().all(allowed)
}

/// What may follow a scheme (RFC 9110, token68). More than a ticket holds, so that a broken ticket is refused as one.
fn is_token68(value: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    !value.is_empty() && value.bytes().all(allowed)
}

/// How many values of one name are tried: more cookies than a browser keeps for one site (about 180), so that whoever may set
/// cookies for a wider domain cannot hide the real one behind forged ones.
pub const CANDIDATES_MAX: usize = 256;

/// Ticket cookies that a browser keeps for one site.
pub const TICKET_COOKIES_MAX: usize = 8;

/// Ticket cookies that one reply clears.
pub const CLEARED_MAX: usize = 8;

/// Life of the device cookie: 400 days, the most that browsers grant.
pub const DEVICE_LIFE: Duration = Duration::from_hours(400 * 24);

/// Life of a ticket cookie: 24 hours, renewed by use.
pub const TICKET_LIFE: Duration = Duration::from_hours(24);

/// Beyond this many names the header is not a browser's; the rest is not looked at.
const TICKET_COOKIES_READ_MAX: usize = 64;

const TICKET: &str = "ticket-";
