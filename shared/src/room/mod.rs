//! The queue of one event: who is in line, whose turn it is, who may enter.
//!
//! [`Room`] is the authority's state machine: a store applies its transitions atomically and keeps the records that
//! [`Room::take_changes`] names. [`Law`] decides each second how many numbers to call; [`Snapshot`](crate::wire::Snapshot)
//! is what everybody may know, and [`status()`] tells one ticket's owner what it means for them.

mod ahead;
mod asks;
mod calling;
mod clock;
mod code;
mod codes;
mod cohorts;
mod control;
mod delays;
mod descent;
mod devices;
mod door;
mod doorstep;
mod durable;
mod ended;
mod facts;
mod forecast;
mod join;
mod lane;
mod line;
mod machine;
mod members;
mod moves;
mod operate;
mod pace;
mod plant;
mod presence;
mod record;
mod row;
mod sessions;
mod settings;
mod shares;
mod snapshot;
mod spent;
mod status;
mod stays;
mod stride;
mod visits;

pub use ahead::Ahead;
pub use calling::{CallBound, CallOrder, Heeded, Law, Standstill};
pub use clock::RoomTime;
pub use codes::{CodeCount, IssueRefusal};
pub use cohorts::{Cohort, Part};
pub use control::{Action, ActionRefusal, CAPACITY_MAX, Cause, LOG_ENTRIES_MAX, LogEntry};
pub use door::{EnterRefusal, RETRY_AT_DOOR};
pub use durable::{BURNED_MAX, SinceCopy};
pub use ended::{EndedEntry, PAGE_ENTRIES};
pub use facts::{Facts, LaneFacts};
pub use join::{JoinRefusal, JoinRequest, Joined};
pub use machine::{Heard, Room};
pub use moves::{MOVE_LIFE, MoveRefusal};
pub use pace::Pace;
pub use plant::{Fault, Planted};
pub use record::{Changes, RecordError, RecordKey, RecordValue};
pub use sessions::{Extender, Session, SessionRefusal};
pub use settings::{LaneSettings, RoomSettings};
pub use snapshot::snapshot;
pub use status::{STALE_AFTER, status, status_at_join};

/// One million: shares inside the room are counted in parts per million.
pub(crate) const PPM: u64 = 1_000_000;
