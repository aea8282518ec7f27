//! The life of a room.

use crate::http::reason::Reason;
use serde::{Deserialize, Serialize};

/// Where a room stands in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Announced; nobody can join.
    Scheduled,
    /// Joining gives a lobby index; the order is drawn later.
    Lobby,
    /// The lobby is frozen and the draw is awaited.
    Drawing,
    /// Numbers are called.
    #[default]
    Open,
    /// The operator holds the line: places stay, nobody is called or let in.
    Paused,
    /// No stock: the line waits for a restock or the end.
    SoldOut,
    /// Over.
    Closed,
    /// No need to queue: everybody is let through and counted.
    Passthrough,
}

impl Phase {
    /// Whether called buyers may enter.
    pub const fn lets_in(self) -> bool {
        matches!(self, Self::Open | Self::Passthrough)
    }
    /// Why nobody is let in meanwhile; `None` where people are.
    pub const fn reason(self) -> Option<Reason> {
        match self {
            Self::Open | Self::Passthrough => None,
            Self::Scheduled | Self::Lobby | Self::Drawing => Some(Reason::NotOpenYet),
            Self::Paused => Some(Reason::EventPaused),
            Self::SoldOut => Some(Reason::OutOfStock),
            Self::Closed => Some(Reason::EventClosed),
        }
    }
}
