//! `[[event]]`: one protected sale and the numbers of its room.

use crate::http::sku::Sku;
use crate::ids::EventId;
use core::time::Duration;

/// One protected sale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventConfig {
    /// Name of the event, unique in the file.
    pub id: EventId,
    /// Shop that sells here.
    pub shop_id: String,
    /// What may be added to a cart only with a pass of this event; at least one, at most 10,000.
    pub skus: Vec<Sku>,
    /// Most sessions at once: 1 to 1,000,000.
    pub capacity: u32,
    /// Most redemptions a second: 1 to 100,000.
    pub admission_rate_per_s: u32,
    /// How long a called ticket has full right to redeem: 10 s to 1 h, 300 s by default.
    pub turn_grace: Duration,
    /// Life of a pass, and so the idle time-out of a session: 10 s to 1 h, 120 s by default.
    pub pass_life: Duration,
    /// Longest session however often its pass is renewed: at least `pass_life`, 900 s by default.
    pub session_max: Duration,
    /// Polls a second that all waiting browsers together may make: 1 to 1,000,000, 1,000 by default.
    pub poll_budget_per_s: u32,
    /// Lanes in the order of their ids; 1 to 16, by default one named `guest`.
    pub lanes: Vec<LaneConfig>,
}

/// An ordered, weighted class inside a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneConfig {
    /// Name, `[a-z0-9-]{1,32}`.
    pub name: String,
    /// Share of admissions relative to the other lanes: 1 to 1,000.
    pub weight: u32,
}
