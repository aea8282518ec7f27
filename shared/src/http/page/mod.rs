//! The waiting page, whole in one reply, so that nothing it needs can itself be queued. Worker and queue server send it.

use super::{language::Language, reason::Reason};
use crate::{ids::EventId, time::Timestamp, wire::Status};

/// Everything that one visitor's waiting page depends on.
#[derive(Clone, Copy, Debug)]
pub struct WaitingPage<'a> {
    /// The event that is waited for.
    pub event: &'a EventId,
    /// Prefix of Fairgate's own paths, without a slash at its end.
    pub prefix: &'a str,
    /// Where the buyer goes after the wait, from [`return_path`](super::navigation::return_path).
    pub return_path: &'a str,
    /// The language of every word on the page.
    pub language: Language,
    /// What is known about the visitor's ticket.
    pub standing: Standing<'a>,
    /// Why a call of the page without script, or the request that led here, was refused.
    pub refusal: Option<Reason>,
    /// The time of the reply; the page tells ages from it, so that the visitor's clock does not matter.
    pub now: Timestamp,
    /// The id that finds this request in the logs.
    pub request_id: &'a str,
}

/// What is known about the visitor's ticket.
#[derive(Clone, Copy, Debug)]
pub enum Standing<'a> {
    /// No ticket that verifies came along: the page joins by script, or offers a button.
    Outside,
    /// The visitor joined a moment ago (`joined=1` in the query) and no ticket came along: cookies are blocked.
    CookieLost,
    /// A ticket came along, with its status where a snapshot is known.
    Holding(Option<&'a Status>),
}

impl WaitingPage<'_> {
    /// The page as HTML.
    pub fn render(&self) -> String {
        String::new()
    }

    /// Names in lower case and values, for 200 and 503 alike: never cached, never indexed, nothing loaded from anywhere.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        vec![("content-type", "text/html; charset=utf-8".to_owned())]
    }
}

/// Path and query of the waiting page: for `waitUrl` and for links.
///
/// ```
/// use shared::{http::page::wait_path, ids::EventId};
/// let event = EventId::parse("drop").unwrap();
/// assert_eq!(wait_path("/.fairgate", &event, "/p/A-1?x=1"), "/.fairgate/wait/drop?return=/p/A-1%3Fx%3D1");
/// ```
pub fn wait_path(prefix: &str, event: &EventId, return_path: &str) -> String {
    let mut path = format!("{prefix}/wait/{event}?return=");
    for byte in return_path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}

/// Where a join by form leads when there is no pass yet: the waiting page, told that the ticket cookie should come along.
pub fn joined_path(prefix: &str, event: &EventId, return_path: &str) -> String {
    format!("{}&joined=1", wait_path(prefix, event, return_path))
}
