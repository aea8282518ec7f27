//! The waiting page, whole in one reply, so that nothing it needs can itself be queued. Worker and queue server send it.

mod languages;
mod refused;
mod shown;
mod words;
mod words_en;
mod words_zh_tw;

use super::{
    language::Language,
    reason::{Reason, ReasonUse},
};
use crate::tree;
use crate::{
    ids::EventId,
    time::Timestamp,
    wire::{Phase, Status},
};
use askama::Template;
use base64ct::{Base64, Encoding as _};
use core::{fmt::Write as _, time::Duration};
use languages::words;
pub use refused::RefusedPage;
use serde::Serialize;
use sha2::{Digest, Sha256};
use shown::{PEOPLE_DRAWN, Shown, mode_of, shown};
use std::{collections::BTreeMap, sync::LazyLock};
use words::{Mode, Words};

/// Everything that one visitor's waiting page depends on.
#[derive(Clone, Copy, Debug)]
pub struct WaitingPage<'a> {
    /// The event that is waited for.
    pub event: &'a EventId,
    /// What the visitor reads that the line is for.
    pub title: &'a str,
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
    /// How long a called ticket keeps its full right; told in minutes, rounded down, at least one.
    pub turn_grace: Duration,
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
    /// The page as HTML. Every value that comes from outside is escaped.
    pub fn render(&self) -> String {
        let words = words(self.language);
        let mode = self.mode();
        let view = match self.standing {
            Standing::Holding(Some(status)) => shown(status, words, self.language, self.now),
            _ => Shown::default(),
        };
        let page = Page {
            lang: self.language.tag(),
            heading: words.mode(mode).heading,
            text: if mode == Mode::Ended { self.refusal_text() } else { words.mode(mode).text },
            notice: self.notice(mode, &view),
            can_join: !self.refusal.is_some_and(|reason| NO_MORE_JOINS.contains(&reason)),
            you_x: you_x(view.ahead, mode),
            people_x: core::array::from_fn(person_x),
            keep: words.keep.with(self.turn_grace.as_secs().checked_div(60).unwrap_or(0).max(1)),
            ticket_path: self.ticket_path(),
            wait_path: wait_path(self.prefix, self.event, self.return_path),
            wait_action: format!("{}/wait/{}", self.prefix, self.event),
            return_path: self.return_path,
            request_id: self.request_id,
            title: self.title,
            data: self.data(mode, words),
            mode: mode.name(),
            words,
            view,
            css: CSS,
            rules: RULES,
            script: SCRIPT,
        };
        // Writing to a `String` fails only where a filter does, and the template has none that can.
        page.render().unwrap_or_default()
    }

    /// Names in lower case and values, for 200 and 503 alike: never cached, never indexed, nothing loaded from anywhere.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        vec![
            ("content-type", "text/html; charset=utf-8".to_owned()),
            ("content-language", self.language.tag().to_owned()),
            ("cache-control", "private, no-store".to_owned()),
            ("content-security-policy", CONTENT_SECURITY_POLICY.clone()),
            ("referrer-policy", "same-origin".to_owned()),
            ("x-content-type-options", "nosniff".to_owned()),
            ("x-robots-tag", "noindex".to_owned()),
        ]
    }

    fn mode(&self) -> Mode {
        match (self.standing, self.refusal) {
            (Standing::CookieLost, _) => Mode::Cookies,
            (Standing::Holding(Some(status)), _) => mode_of(status.state),
            (Standing::Holding(None), _) => Mode::Waiting,
            (Standing::Outside, Some(reason)) if ends_the_wait(reason) => Mode::Ended,
            (Standing::Outside, _) => Mode::Outside,
        }
    }

    /// What happened to the request that led here comes before why the line stands.
    fn notice(&self, mode: Mode, view: &Shown) -> String {
        match (self.standing, self.refusal) {
            (_, Some(reason)) if mode != Mode::Ended && !EXPECTED.contains(&reason) => {
                reason.message(self.language).to_owned()
            }
            (Standing::Holding(None), _) => Reason::QueueUnreachable.message(self.language).to_owned(),
            _ => view.notice.clone(),
        }
    }

    fn refusal_text(&self) -> &'static str {
        self.refusal.map_or("", |reason| reason.message(self.language))
    }

    fn ticket_path(&self) -> String {
        format!("{}/events/{}/ticket", self.prefix, self.event)
    }

    /// What the script starts from, as JSON that cannot end the script element it stands in.
    fn data(&self, mode: Mode, words: &Words) -> String {
        let told = Reason::ALL.iter().filter(|reason| tells_why(**reason));
        let data = Data {
            mode: mode.name(),
            event: self.event,
            lang: self.language.tag(),
            now_ms: self.now.as_millis(),
            ticket_path: self.ticket_path(),
            wait_path: wait_path(self.prefix, self.event, self.return_path),
            return_path: self.return_path,
            status: if let Standing::Holding(status) = self.standing { status } else { None },
            words,
            reasons: tree::map(told.map(|reason| (reason.code(), reason.message(self.language)))),
        };
        serde_json::to_string(&data).unwrap_or_default().replace('<', "\\u003c")
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
            // Writing to a `String` cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path
}

/// Where a join by form leads when there is no pass yet: the waiting page, told that the ticket cookie should come along.
pub fn joined_path(prefix: &str, event: &EventId, return_path: &str) -> String {
    format!("{}&joined=1", wait_path(prefix, event, return_path))
}

/// What a link to the page may have it tell about a refusal; `None` for everything else, because anybody can write a link. These
/// are refusals of the page's own forms that last a moment or are about a typed code, and what the `phase` of the event confirms.
///
/// ```
/// use shared::{http::page::reason_of_link, http::reason::Reason, wire::Phase};
/// assert_eq!(reason_of_link("RATE_LIMITED", None), Some(Reason::RateLimited));
/// assert_eq!(reason_of_link("EVENT_CLOSED", Some(Phase::Open)), None);
/// assert_eq!(reason_of_link("EVENT_CLOSED", Some(Phase::Closed)), Some(Reason::EventClosed));
/// ```
pub fn reason_of_link(code: &str, phase: Option<Phase>) -> Option<Reason> {
    let reason = Reason::from_code(code)?;
    let by_phase = phase.and_then(Phase::reason);
    let is_true = by_phase == Some(reason) || MOMENTARY.contains(&reason) || OF_CODES.contains(&reason);
    is_true.then_some(reason)
}

/// The parts of `assets/wait.html`.
#[derive(Template)]
#[template(path = "wait.html")]
struct Page<'a> {
    lang: &'a str,
    mode: &'a str,
    heading: &'a str,
    text: &'a str,
    notice: String,
    can_join: bool,
    you_x: usize,
    people_x: [usize; PEOPLE_DRAWN],
    keep: String,
    ticket_path: String,
    wait_path: String,
    wait_action: String,
    return_path: &'a str,
    request_id: &'a str,
    title: &'a str,
    words: &'a Words,
    view: Shown,
    data: String,
    css: &'a str,
    rules: &'a str,
    script: &'a str,
}

/// What `assets/wait.js` starts from.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    mode: &'a str,
    event: &'a EventId,
    lang: &'a str,
    now_ms: u64,
    ticket_path: String,
    wait_path: String,
    return_path: &'a str,
    status: Option<&'a Status>,
    words: &'a Words,
    reasons: BTreeMap<&'a str, &'a str>,
}

/// Reasons that a status may give for a line that stands still.
fn tells_why(reason: Reason) -> bool {
    reason.used_as() == ReasonUse::Standstill
        || matches!(
            reason,
            Reason::EventClosed | Reason::OutOfStock | Reason::NotOpenYet | Reason::QueueUnreachable
        )
}

/// Whether waiting cannot help against `reason`, so that the visitor has to decide anew.
fn ends_the_wait(reason: Reason) -> bool {
    !reason.is_retryable() && !EXPECTED.contains(&reason) && !OF_CODES.contains(&reason)
}

/// Where the script's `youX` puts the visitor, too.
fn you_x(ahead: usize, mode: Mode) -> usize {
    match mode {
        Mode::Called | Mode::Late => 292,
        _ if ahead > PEOPLE_DRAWN => 14,
        _ => person_x(ahead),
    }
}

fn person_x(index: usize) -> usize {
    262_usize.saturating_sub(index.saturating_mul(18))
}

/// What leads everybody here: no word about it, the page itself is the answer.
const EXPECTED: [Reason; 4] =
    [Reason::QueueRequired, Reason::NoTicket, Reason::PassExpired, Reason::PassInvalid];

/// What may befall a form of the page and be over a moment later.
const MOMENTARY: [Reason; 11] = [
    Reason::NotYourTurn,
    Reason::DoorFull,
    Reason::RateLimited,
    Reason::Locked,
    Reason::ShopBusy,
    Reason::LimiterUnavailable,
    Reason::BodyTimeout,
    Reason::Unconfirmed,
    Reason::QueueUnreachable,
    Reason::SnapshotUnavailable,
    Reason::Overloaded,
];

/// About a code that was typed: the place stays as it was.
const OF_CODES: [Reason; 3] = [Reason::CodeUnknown, Reason::CodeUsed, Reason::SessionStays];

/// The same list stands in `assets/rules.js`.
const NO_MORE_JOINS: [Reason; 6] = [
    Reason::EventClosed,
    Reason::EventUnknown,
    Reason::OutOfStock,
    Reason::RoomFull,
    Reason::OriginNotAllowed,
    Reason::BuyerLimit,
];

/// Stripped by `build.rs`.
const CSS: &str = include_str!(concat!(env!("OUT_DIR"), "/wait.css"));
const RULES: &str = include_str!(concat!(env!("OUT_DIR"), "/rules.js"));
const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/wait.js"));

/// Allows the page's own style and scripts by their hashes, calls to its own host, and nothing else. Framing stays
/// possible: inside another site the page only says so, and its cookies do not reach it there.
static CONTENT_SECURITY_POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; style-src {}; script-src {} {}; img-src data:; connect-src 'self'; form-action 'self'; \
         base-uri 'none'",
        hash_of(CSS),
        hash_of(RULES),
        hash_of(SCRIPT)
    )
});

/// How a content security policy names a style or a script.
fn hash_of(text: &str) -> String {
    format!("'sha256-{}'", Base64::encode_string(&Sha256::digest(text.as_bytes())))
}
