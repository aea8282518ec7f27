//! What a limiter says to a vector.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The reply to one case.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One for each step.
    Answers(Vec<Answer>),
    /// This limiter has no such thing, and says why.
    Cannot(String),
    /// A name that the adapter does not know: never the same as a thing that its limiter does not have.
    UnknownLimiter(String),
    /// The adapter or its limiter failed.
    Broken(String),
}

/// The answer to one step: the fields that the limiter tells, or the one field `cannot` with a reason.
pub type Answer = Map<String, Value>;

/// Who answers, as the first line of an adapter says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Hello {
    pub target: String,
    pub version: String,
    /// What its times are counted in. Wanted times are rounded up to it, as a wait has to be.
    #[serde(default = "micro")]
    pub resolution_us: u64,
}

/// The field of an answer that gives the reason why there is none.
pub const CANNOT: &str = "cannot";

const fn micro() -> u64 {
    1
}
