//! The limit service's JSON: what a caller asks, and what it is told. Times are microseconds, because a limiter's are.

use crate::http::reason::Reason;
use crate::limiter::{Cost, Inheritance, PolicySettings};
use serde::{Deserialize, Serialize};

/// Most checks in one call, and most receipts.
pub const BATCH_MAX: usize = 64;

/// Longest part of a key as a caller writes it, in bytes.
pub const PART_BYTES_MAX: usize = 256;

/// Longest time that a check waits for a permit.
pub const WAIT_MS_MAX: u64 = 4_000;

/// Several checks, answered in their order, each by itself. A single [`LimitCheck`] as a body is answered by status and
/// header fields, as a gateway hands it on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckBatch {
    /// At least one, at most [`BATCH_MAX`].
    pub checks: Vec<LimitCheck>,
}

/// One request to be limited: all of its policies are taken, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitCheck {
    /// Whose traffic it is.
    pub shop: String,
    /// The id of a route, whose limits apply: `POST /cart/items`. Its policies pass over a request whose key is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// Names of policies, instead of a route or besides it. Their keys must be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
    /// What the policies count by.
    #[serde(default)]
    pub keys: KeyParts,
    /// What the request takes; 1 where it is missing, 0 takes nothing.
    #[serde(default = "one")]
    pub cost: Cost,
    /// Who holds the permits that are taken, to renew them under the same name; otherwise the receipt alone knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// How long to wait for a permit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<PermitWait>,
}

/// Parts of keys, verified by the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyParts {
    /// An address; IPv6 counts by its /64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// A device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// A member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// An API client: the id of its key, never the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// A SKU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sku: Option<String>,
    /// The id of a route, for policies that count by it; a check that names a route has it already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
}

/// Waiting for a permit instead of being refused at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermitWait {
    /// Longest time, at most [`WAIT_MS_MAX`].
    pub ms: u64,
    /// Who is next when a permit comes free.
    #[serde(default)]
    pub order: WaitOrder,
}

/// Who is next in a queue for permits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitOrder {
    /// Whoever waits longest.
    #[default]
    OldestFirst,
    /// Whoever came last: their caller is the likeliest to be there still.
    NewestFirst,
}

/// Answers in the order of the checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckResults {
    /// One for each check.
    pub results: Vec<CheckResult>,
}

/// What one check is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckResult {
    /// Whether the request may go on.
    pub allowed: bool,
    /// Why not.
    pub code: Option<Reason>,
    /// The policy that waits longest.
    pub policy: Option<String>,
    /// Time until the same request could pass, exact; `None` where it passes, never can, or nobody knows.
    pub retry_after_us: Option<u64>,
    /// How long the caller may refuse the same request by itself: not longer than `retry_after_us` and 5 s, and not at all
    /// where a permit may be given back at any moment.
    pub remember_us: u64,
    /// How long to hold the request before it goes on.
    pub delay_us: u64,
    /// When it was decided, by the clock of the store, in microseconds since 1970.
    pub decided_at_us: u64,
    /// Who decided.
    pub decided_by: DecidedBy,
    /// Gives back what was taken. `None` where nothing was.
    pub receipt: Option<String>,
    /// Whether the receipt holds a permit, which must be given back.
    pub holds_permit: bool,
    /// The value of the field `RateLimit` for the caller's own reply; empty where there is none.
    pub rate_limit: String,
    /// The value of the field `RateLimit-Policy`.
    pub rate_limit_policy: String,
    /// Every policy that was asked, enforced and shadow.
    pub limits: Vec<LimitTold>,
    /// Policies of the route that passed the request over, because a part of their key is not known.
    pub passed_over: Vec<String>,
}

/// Who decided a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The store of the limits.
    Store,
    /// The store did not answer: the warm limiter of the server that was asked, or what the policies say for that case.
    Fallback,
    /// Nobody: no policy applied.
    Nobody,
}

/// How one policy stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitTold {
    /// Name of the policy.
    pub policy: String,
    /// Whether it refuses, or only says that it would.
    pub enforced: bool,
    /// The key as logs show it: 32 hexadecimal digits.
    pub key: String,
    /// What it says; `None`: its store did not answer.
    pub allowed: Option<bool>,
    /// The most at one instant from rest.
    pub quota: Cost,
    /// Cost still admissible, rounded down.
    pub remaining: Cost,
    /// Time until the same cost could pass; `None` where it passes or never can.
    pub retry_after_us: Option<u64>,
    /// Time until the key is as new.
    pub reset_after_us: u64,
}

/// The body of a refund, or of giving permits back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptsBody {
    /// At least one, at most [`BATCH_MAX`].
    pub receipts: Vec<String>,
}

/// One key of one policy, for whoever looks after limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyBody {
    /// Whose traffic it is.
    pub shop: String,
    /// Name of the policy.
    pub policy: String,
    /// What the policy counts by.
    #[serde(default)]
    pub keys: KeyParts,
    /// What is given back; only for replenishing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// A shop's own settings of a policy: in numbers, or in the compact form of a lockout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OverrideBody {
    /// `enabled|max|window_s|lock_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lockout: Option<String>,
    /// The numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<PolicySettings>,
    /// `off`, `shadow` or `enforced`; as before where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What keys bring along; as before where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherit: Option<Inheritance>,
}

const fn one() -> Cost {
    1
}
