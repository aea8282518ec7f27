//! `[[policy]]`, `[join]` and `[poll]`: the numbers of limits, and where they apply.

use core::time::Duration;
use std::sync::Arc;

/// Named, immutable settings of one limiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyConfig {
    /// Name, `[a-z0-9-]{1,32}`, unique in the file; it appears in `RateLimit-Policy`.
    pub name: String,
    /// What the policy counts by.
    pub key: PolicyKey,
    /// Most cost admitted at one instant from rest: 1 to 1,000,000.
    pub burst_capacity: u32,
    /// Cost admitted per [`period`](Self::period): 1 to 1,000,000.
    pub rate: u32,
    /// The time `rate` refers to: 1 ms to one day.
    pub period: Duration,
    /// First 8 bytes of SHA-256 over key and numbers: states and denials made under other numbers are told apart by it.
    pub version: [u8; 8],
}

/// What a policy counts by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyKey {
    /// The client address: IPv4, or the /64 of an IPv6 address.
    Ip,
    /// The signed device_cookie.
    Device,
}

/// Limits on joining a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinConfig {
    /// Policies a join must satisfy, all of them, in this order.
    pub limits: Vec<Arc<PolicyConfig>>,
}

/// Budget of one device's polls, counted inside each isolate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollConfig {
    /// Most polls at one instant from rest: 1 to 1,000.
    pub burst_capacity: u32,
    /// Polls per [`period`](Self::period): 1 to 1,000.
    pub rate: u32,
    /// The time `rate` refers to: 1 ms to one day.
    pub period: Duration,
}
