//! One check, or several in one call.

use super::parse_json;
use crate::http::error::Refusal;
use serde::{Deserialize, de::IgnoredAny};
use shared::{
    http::reason::Reason,
    wire::limits::{BATCH_MAX, CheckBatch, LimitCheck},
};

/// What the body of a check or a peek holds.
pub(super) enum Checks {
    /// Answered by status and header fields.
    One(Box<LimitCheck>),
    /// Answered each by itself.
    Many(Vec<LimitCheck>),
}

/// Which of the two it is.
#[derive(Deserialize)]
struct Shape {
    checks: Option<IgnoredAny>,
}

impl Checks {
    pub(super) fn parse(body: &[u8]) -> Result<Self, Refusal> {
        if parse_json::<Shape>(body)?.checks.is_none() {
            return Ok(Self::One(Box::new(parse_json(body)?)));
        }
        let CheckBatch { checks } = parse_json(body)?;
        within_batch(checks.len(), "checks")?;
        Ok(Self::Many(checks))
    }
}

/// Whether a call asks for so many things as one may.
pub(super) fn within_batch(count: usize, what: &str) -> Result<(), Refusal> {
    match count {
        0 => Err(Refusal::new(Reason::BodyInvalid).detail(format!("{what} is empty"))),
        count if count > BATCH_MAX => {
            let detail = format!("{what} has {count} members, the most is {BATCH_MAX}");
            Err(Refusal::new(Reason::BatchTooLarge).detail(detail))
        }
        _ => Ok(()),
    }
}
