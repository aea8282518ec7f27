//! What the operator sets for a room.

use crate::{time::Timestamp, wire::Phase};
use core::time::Duration;

/// A room's settings; a change takes effect at the next transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomSettings {
    /// Most sessions at once, from 1.
    pub capacity: u32,
    /// Most redemptions per second, from 1; the door allows a burst of one second.
    pub admission_rate_per_s: u32,
    /// How long a called ticket keeps its full right, counted in redeemable time.
    pub turn_grace: Duration,
    /// Life of a pass, and so the idle time-out of a session.
    pub pass_life: Duration,
    /// Hard maximum of a session, at least `pass_life`.
    pub session_max: Duration,
    /// Polls per second that the operator allows for this room, from 1.
    pub poll_budget_per_s: u32,
    /// How often the buyer may extend a session by another `session_max`.
    pub session_extensions_max: u8,
    /// Sessions that one buyer may have in the event, one after another; `None`: any number.
    pub sessions_per_buyer: Option<u32>,
    /// A device without its ticket is told the place that it has. Without this memory a waiting buyer costs 4 bytes instead of some 20, and
    /// who loses the ticket begins anew.
    pub remembers_devices: bool,
    /// What the room opens in: [`Phase::Open`], or [`Phase::Passthrough`].
    pub phase: Phase,
    /// When it opens by itself; `None`: it is open from the start.
    pub opens_at: Option<Timestamp>,
    /// When it closes by itself, if ever.
    pub closes_at: Option<Timestamp>,
    /// The lanes, 1 to 16.
    pub lanes: Vec<LaneSettings>,
}

/// One lane's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneSettings {
    /// Its name, `[a-z0-9-]{1,32}`.
    pub name: String,
    /// Its share of the calls against the other lanes' weights, from 1.
    pub weight: u32,
    /// At least so many percent of the calls are its own while people wait in it: 0 to 100, all lanes together at most 100.
    pub floor_pct: u32,
    /// At most so many percent while people wait in other lanes: the floor to 100. What nobody else wants is its own all the same.
    pub ceiling_pct: u32,
    /// Most uses of invitation codes that may be issued for it; 0: it has none.
    pub codes_max: u32,
}

impl LaneSettings {
    /// A lane that shares by its weight alone.
    pub fn weighing(name: &str, weight: u32) -> Self {
        Self { name: name.to_owned(), weight, floor_pct: 0, ceiling_pct: 100, codes_max: 0 }
    }
}
