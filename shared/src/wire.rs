//! The JSON of the HTTP contract (see `docs/protocol.md`): camelCase, integers, a unit ends a name.

pub mod limits;

mod phase;

pub use phase::Phase;

use crate::http::language::Language;
use crate::ids::{Epoch, EventId, LaneId, TicketNumber};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The operator's words to those who wait, by language: 1 to 500 characters each, of which only line breaks may be control characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<Language, String>", into = "BTreeMap<Language, String>")]
pub struct Message(BTreeMap<Language, String>);

/// A message in no language, or with a text that is empty, longer than 500 characters, or not printable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a message has 1 to {MESSAGE_CHARS_MAX} printable characters in each of its languages, at least one of en and zh-TW"
)]
pub struct InvalidMessage;

/// Most characters of a [`Message`] in one language.
pub const MESSAGE_CHARS_MAX: usize = 500;

impl Message {
    /// The words in `language`, else in another one: better a foreign word than none.
    pub fn text(&self, language: Language) -> &str {
        self.0.get(&language).or_else(|| self.0.values().next()).map_or("", String::as_str)
    }
}

impl TryFrom<BTreeMap<Language, String>> for Message {
    type Error = InvalidMessage;
    fn try_from(texts: BTreeMap<Language, String>) -> Result<Self, InvalidMessage> {
        let is_strange = |character: char| character.is_control() && character != '\n';
        let fits = |text: &String| {
            (1..=MESSAGE_CHARS_MAX).contains(&text.chars().count()) && !text.chars().any(is_strange)
        };
        if texts.is_empty() || !texts.values().all(fits) { Err(InvalidMessage) } else { Ok(Self(texts)) }
    }
}

impl From<Message> for BTreeMap<Language, String> {
    fn from(message: Message) -> Self {
        message.0
    }
}

/// The public state of a room, the same bytes for everyone, renewed each second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Version of this layout: 1.
    pub v: u8,
    /// The room's event.
    pub event: EventId,
    /// Generation of the tickets; with `tick` it orders snapshots.
    pub epoch: Epoch,
    /// Counts the room's ticks; clients ignore a lower (`epoch`, `tick`).
    pub tick: u64,
    /// Where the room stands.
    pub phase: Phase,
    /// The server's time, ms since 1970.
    pub server_time_ms: u64,
    /// Time in which a redemption could have succeeded, since the room opened, in seconds, rounded down.
    pub redeemable_time_s: u64,
    /// The lanes, in the order of the configuration.
    pub lanes: Vec<LaneSnapshot>,
    /// A session was free and nobody waited at this tick: an arrival may try to enter at once.
    pub session_free: bool,
    /// How long a called ticket keeps its full right, in seconds of redeemable time.
    pub turn_grace_s: u64,
    /// Polls per second that the operator allows for this room.
    pub poll_budget_per_s: u32,
    /// The newest entry of the feed of ended sessions.
    pub ended_seq: u64,
    /// Reason code: why the line stands still.
    pub reason: Option<String>,
    /// The operator's words to those who wait.
    pub message: Option<Message>,
    /// The operator lets everybody in: capacity is no promise for now.
    #[serde(default)]
    pub everyone_in: bool,
}

impl Snapshot {
    /// The same, where numbers of `lane` up to `serving_number` have been called since.
    #[must_use]
    pub fn after_calls(mut self, lane: LaneId, serving_number: TicketNumber) -> Self {
        for lane in self.lanes.iter_mut().filter(|told| told.lane == lane) {
            lane.serving_number = lane.serving_number.max(serving_number);
        }
        self
    }
}

/// One lane inside a [`Snapshot`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaneSnapshot {
    /// Index of the lane.
    pub lane: LaneId,
    /// Its name.
    pub name: String,
    /// The number that the next join gets.
    pub next_number: TicketNumber,
    /// The highest number called, 0: nobody yet.
    pub serving_number: TicketNumber,
    /// People called per 1,000 seconds, of those who were there.
    pub speed_milli_per_s: u64,
    /// How far `speed_milli_per_s` may be off, either way, as a factor in percent: 50 means between `v / 1.5` and `v · 1.5`.
    pub speed_error_pct: u32,
    /// When `serving_number` last rose, ms since 1970.
    pub moved_at_ms: u64,
    /// Numbers up to this one are past their `turn_grace`.
    pub turn_end_number: TicketNumber,
    /// From each number on, so many of 1,000 who wait are still there; before the first, all of them. At most 65 entries, in the order of
    /// their numbers. The share at a number never rises.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ahead: Vec<(TicketNumber, u16)>,
}

/// What a ticket's owner is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The room's event.
    pub event: EventId,
    /// Waiting, called or late.
    pub state: TicketState,
    /// Name of the ticket's lane.
    pub lane: String,
    /// The ticket's number.
    pub ticket_number: TicketNumber,
    /// People ahead, while waiting; 0 is next.
    pub position: Option<u64>,
    /// How long the wait is expected to last, while waiting.
    pub eta: Option<EtaRange>,
    /// When the line last moved, ms since 1970.
    pub moved_at_ms: u64,
    /// When to ask again, in milliseconds from now.
    pub next_poll_ms: u64,
    /// Where the room stands.
    pub phase: Phase,
    /// Reason code: why the line stands still.
    pub reason: Option<String>,
    /// The operator's words to those who wait.
    pub message: Option<String>,
    /// The snapshot behind this answer is older than 10 s.
    pub stale: bool,
}

/// What a ticket may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TicketState {
    /// Its turn is still to come.
    Waiting,
    /// Its turn has come: redeem now.
    Called,
    /// Called, but past its `turn_grace`: it may still enter where there is room.
    Late,
}

/// A range for the rest of a wait, in seconds, both ends rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EtaRange {
    /// The wait is hardly shorter than this.
    pub low_s: u64,
    /// The wait is hardly longer than this.
    pub high_s: u64,
}

/// Answer to a join, a redemption and a renewal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TicketReply {
    /// The ticket as text, 84 characters: whoever holds it holds the place.
    pub ticket: String,
    /// The room's event.
    pub event: EventId,
    /// Name of the ticket's lane.
    pub lane: String,
    /// The ticket's number.
    pub ticket_number: TicketNumber,
    /// What the owner is told now.
    pub status: Status,
    /// The way in, once there is one.
    pub pass: Option<PassReply>,
}

/// A pass as its owner gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PassReply {
    /// The signed proof of the session, a JWT.
    pub token: String,
    /// Seconds until the session ends unless it is renewed, rounded down.
    pub expires_in_s: u64,
    /// Seconds after which the client should renew.
    pub renew_in_s: u64,
}

/// A page of the feed of ended sessions, from the queue server to an edge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedPage {
    /// Sequence number of the last entry of this page; ask for what comes after it.
    pub seq: u64,
    /// The reader's state is too old: it forgets what it had and takes this page as the whole.
    pub reset: bool,
    /// Sessions that ended before their pass ran out: epoch, lane, number.
    pub ended: Vec<(Epoch, LaneId, TicketNumber)>,
}

/// What an edge tells the queue server, off the request path; losing one is harmless.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// Sessions that the shop ended.
    pub sessions: Vec<SessionWord>,
    /// How often each outcome was seen since the last report.
    pub outcomes: Vec<OutcomeCount>,
    /// How watched servers of shops did since the last report.
    pub origins: Vec<OriginReport>,
    /// Waiting buyers who asked since the last report: epoch, lane, number, and after how many seconds they were told to ask again.
    pub polls: BTreeMap<EventId, Vec<(Epoch, LaneId, TicketNumber, u64)>>,
    /// What limits decided since the last report.
    pub limits: Vec<LimitReport>,
}

/// What one policy's limits decided at an edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitReport {
    /// Name of the policy.
    pub policy: String,
    /// How often they decided what.
    #[serde(flatten)]
    pub counts: LimitCounts,
}

/// Decisions by what came of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LimitCounts {
    /// It passed.
    pub allowed: u64,
    /// It passed and left a fifth of the quota or less.
    pub near: u64,
    /// It was refused.
    pub refused: u64,
    /// It passed a policy in shadow.
    pub shadow_allowed: u64,
    /// A policy in shadow would have refused it.
    pub shadow_refused: u64,
    /// Nobody answered, or was asked, because another limit had refused.
    pub undecided: u64,
}

/// What an edge saw of the server of one event's shop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OriginReport {
    /// The event.
    pub event: EventId,
    /// Gated requests sent to the server.
    pub forwarded: u32,
    /// Those that failed: a reply of 500 or above, a broken connection, no reply in time.
    pub failed: u32,
    /// Sessions that ended requests belong to.
    pub sessions: u32,
    /// Those of them that saw a failure.
    pub failed_sessions: u32,
    /// All other replies by [`latency_bucket`](crate::origin::latency_bucket), with their count.
    pub latencies: Vec<(u8, u32)>,
}

/// What the shop said of one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionWord {
    /// The session's event.
    pub event: EventId,
    /// Epoch of its ticket.
    pub epoch: Epoch,
    /// Lane of its ticket.
    pub lane: LaneId,
    /// Number of its ticket.
    pub number: TicketNumber,
    /// The word.
    pub word: Word,
}

/// The value of the shop's `Fairgate-Session` field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// The buyer is done.
    Finish,
    /// The shop takes the session back.
    Revoke,
    /// The buyer needs more time, such as for a payment.
    Extend,
}

/// How often one outcome was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeCount {
    /// The event it belongs to.
    pub event: EventId,
    /// Reason code of the outcome.
    pub code: String,
    /// Times seen.
    pub count: u64,
}
