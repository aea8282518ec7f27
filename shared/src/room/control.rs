//! What an operator may order, and what the log keeps of it.

use crate::{
    time::Timestamp,
    wire::{Message, Phase},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What an operator may order. The same order a second time changes nothing and is no error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Opens the line, or goes on after a pause or a passthrough.
    Open,
    /// Holds the line: places stay, turns do not run out, nobody is called or let in.
    Pause,
    /// Nothing is left: nobody joins any more, and those in line wait for a restock or the end.
    SellOut,
    /// There is stock again: the line opens.
    Restock,
    /// Ends the event for good.
    Close,
    /// Lets everybody through and counts them, until nine tenths of the capacity are inside: then the line opens by itself.
    PassThrough,
    /// In an emergency: lets everybody in, those in line too, whatever the capacity. Sessions are still counted, and the
    /// snapshot says so.
    LetEveryoneIn,
    /// In an emergency: lets nobody in. Those inside go on.
    LetNobodyIn,
    /// Most sessions at once from now on, 1 to [`CAPACITY_MAX`]; `None`: what the configuration says. Below the live
    /// sessions nobody enters until they fit.
    Capacity(Option<u32>),
    /// What those who wait are told; `None`: nothing.
    Message(Option<Message>),
    /// Gives the operator a pass that no session stands behind, to try the shop with; the log tells of it.
    StaffPass,
    /// Begins a new epoch: every ticket is void, on purpose. Sessions stay.
    VoidTickets,
}

/// Who or what changed a room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The operator of this name.
    Operator(String),
    /// `opens_at` or `closes_at` of the configuration.
    Schedule,
    /// A passthrough came near the capacity.
    Load,
}

/// One change, as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub cause: Cause,
    /// What was done.
    pub action: Action,
    /// The phase after it.
    pub phase: Phase,
}

/// Why an order was not carried out; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionRefusal {
    /// The phase does not allow it.
    #[error("the event's phase does not allow this")]
    NotNow(Phase),
    /// Not 1 to [`CAPACITY_MAX`].
    #[error("a capacity is 1 to {CAPACITY_MAX}")]
    CapacityOutOfRange,
    /// All 65,535 epochs were used.
    #[error("the event has no epoch left")]
    EpochsExhausted,
}

/// The highest capacity of a room.
pub const CAPACITY_MAX: u32 = 1_000_000;

/// Changes that the log keeps; the oldest go first.
pub const LOG_ENTRIES_MAX: usize = 256;

/// Where orders and schedule have brought the room: one record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    pub(super) phase: Phase,
    /// The capacity is no bound for now.
    pub(super) everyone_in: bool,
    /// Instead of the configured one.
    pub(super) capacity: Option<u32>,
    pub(super) message: Option<Message>,
}

impl Action {
    /// The phase that the action leads to from `phase`; `None` where it is not legal there.
    pub fn leads_from(&self, phase: Phase) -> Option<Phase> {
        use Phase::{Closed, Open, Passthrough, Paused, Scheduled, SoldOut};
        match (self, phase) {
            (Self::Capacity(_) | Self::Message(_) | Self::StaffPass | Self::VoidTickets, phase) => {
                Some(phase)
            }
            (Self::Close, _) => Some(Closed),
            (Self::Open, Scheduled | Open | Paused | Passthrough) | (Self::Restock, SoldOut | Open) => {
                Some(Open)
            }
            (Self::Pause | Self::LetNobodyIn, Open | Paused | Passthrough) => Some(Paused),
            (Self::SellOut, Open | Paused | Passthrough | SoldOut) => Some(SoldOut),
            (Self::PassThrough | Self::LetEveryoneIn, Scheduled | Open | Paused | Passthrough) => {
                Some(Passthrough)
            }
            _ => None,
        }
    }
}

/// The log by sequence number.
pub(super) type Log = BTreeMap<u64, LogEntry>;
