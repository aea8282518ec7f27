//! The names of events, lanes, places and devices.

use core::fmt;
use serde::{Deserialize, Serialize};

/// Name of one protected sale: `[a-z0-9-]{1,32}`.
///
/// ```
/// use shared::ids::EventId;
/// assert!(EventId::parse("drop-2026-11").is_ok());
/// assert!(EventId::parse("Drop").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EventId(String);

/// A name that is not `[a-z0-9-]{1,32}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event id is 1 to 32 characters of a-z, 0-9 and -")]
pub struct InvalidEventId;

impl EventId {
    /// Reads a name.
    ///
    /// # Errors
    /// [`InvalidEventId`] unless the text is `[a-z0-9-]{1,32}`.
    pub fn parse(text: &str) -> Result<Self, InvalidEventId> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if (1..=32).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidEventId)
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for EventId {
    type Error = InvalidEventId;
    fn try_from(text: String) -> Result<Self, InvalidEventId> {
        Self::parse(&text)
    }
}

impl From<EventId> for String {
    fn from(id: EventId) -> Self {
        id.0
    }
}

/// Generation of a room's tickets, from 1; a new one voids the tickets before it on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u16);

/// Index of a lane inside its room, in the order of the configuration, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LaneId(pub u8);

impl LaneId {
    /// The lane at a position of the configuration; a room has at most 16, and what lies beyond 255 counts as 255.
    pub fn at(index: usize) -> Self {
        Self(u8::try_from(index).unwrap_or(u8::MAX))
    }
}

/// Order of a ticket in its lane, from 1, dense, below 2^40, never reused inside an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TicketNumber(pub u64);

impl TicketNumber {
    /// The highest number a ticket can carry (5 bytes).
    pub const MAX: Self = Self((1 << 40) - 1);

    /// The number after this one, at most [`TicketNumber::MAX`].
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1).min(Self::MAX.0))
    }
}

/// What a ticket stands for inside one event: one number in one lane of one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Generation of the room's tickets.
    pub epoch: Epoch,
    /// Lane of the ticket.
    pub lane: LaneId,
    /// Order in that lane.
    pub number: TicketNumber,
}

/// First 8 bytes of SHA-256 of a device id: names a device in tickets and in the room's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceHash(pub [u8; 8]);

/// Names a code that a buyer types, such as an invitation: the leading bytes of a hash of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CodeHash(pub [u8; 16]);

/// Names a member of a shop in the room's memory; hosts hash the shop's own id of the member for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemberHash(pub [u8; 8]);
