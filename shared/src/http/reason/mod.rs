//! The one table of reason codes: everything Fairgate says when it does not simply say yes.

mod table;

pub use table::Reason;

use super::language::Language;
use core::fmt;
use serde::{Deserialize, Serialize};

/// What is said about one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    code: &'static str,
    used_as: ReasonUse,
    status: u16,
    problem: ProblemType,
    retry: Retry,
    meaning: &'static str,
    en: &'static str,
    zh_tw: &'static str,
}

/// What a reason is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasonUse {
    /// It refuses a request, in problem JSON.
    Refusal,
    /// It explains in the snapshot why a line stands still.
    Standstill,
    /// It names how a gated request ended, in the edge's reports.
    Outcome,
}

/// Whether the same request may succeed later by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retry {
    /// `Retry-After` goes with it.
    Later,
    /// Trying again does not help.
    Never,
}

/// Problem types of the IETF draft "RateLimit header fields for HTTP", and RFC 9457's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProblemType {
    /// `about:blank`: nothing beyond the status code.
    Blank,
    /// A policy's quota is used up.
    QuotaExceeded,
    /// The service takes less than usual for now.
    ReducedCapacity,
}

impl Reason {
    /// Stable text of the code, upper snake case.
    pub const fn code(self) -> &'static str {
        self.row().code
    }

    /// The reason of a code; `None` for a text that is not in the table.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.code() == code)
    }

    /// HTTP status of a reply that this reason refuses.
    pub const fn status(self) -> u16 {
        self.row().status
    }

    /// What the reason is used for.
    pub const fn used_as(self) -> ReasonUse {
        self.row().used_as
    }

    /// Whether the same request may succeed later: then `Retry-After` goes with the refusal.
    pub const fn is_retryable(self) -> bool {
        matches!(self.row().retry, Retry::Later)
    }

    /// What the code says, for engineers: one sentence in English.
    pub const fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// What a buyer is told.
    pub const fn message(self, language: Language) -> &'static str {
        match language {
            Language::En => self.row().en,
            Language::ZhTw => self.row().zh_tw,
        }
    }

    /// Problem type URI: the draft's where one fits, otherwise `about:blank`.
    pub const fn problem_type(self) -> &'static str {
        match self.row().problem {
            ProblemType::Blank => "about:blank",
            ProblemType::QuotaExceeded => "https://iana.org/assignments/http-problem-types#quota-exceeded",
            ProblemType::ReducedCapacity => {
                "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
            }
        }
    }

    /// Title of the problem type: under `about:blank` the phrase of the status (RFC 9457 section 4.2.1).
    pub const fn title(self) -> &'static str {
        match self.row().problem {
            ProblemType::QuotaExceeded => "Too many requests",
            ProblemType::ReducedCapacity => "Temporarily reduced capacity",
            ProblemType::Blank => status_phrase(self.row().status),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::from_code(&code).ok_or_else(|| serde::de::Error::custom("not a reason code"))
    }
}

/// Phrases of RFC 9110 for the statuses of the table.
const fn status_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Internal Server Error",
    }
}
