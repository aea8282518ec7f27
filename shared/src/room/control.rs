//! What an operator orders, and the log of it.

use super::{Room, doorstep::Doorstep, facts::Facts, lane::Lane, record::RecordKey};
use crate::{
    ids::{Epoch, LaneId},
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

impl Room {
    /// Carries out an order of the operator `by`, and logs it where it changes something.
    ///
    /// # Errors
    /// [`ActionRefusal`]; nothing has changed.
    pub fn operate(&mut self, now: Timestamp, by: &str, action: Action) -> Result<Facts, ActionRefusal> {
        let now = self.observe(now);
        let phase = action.leads_from(self.control.phase).ok_or(ActionRefusal::NotNow(self.control.phase))?;
        let mut control = Control { phase, ..self.control.clone() };
        match &action {
            Action::Capacity(capacity) => {
                if capacity.is_some_and(|capacity| !(1..=CAPACITY_MAX).contains(&capacity)) {
                    return Err(ActionRefusal::CapacityOutOfRange);
                }
                control.capacity = *capacity;
            }
            Action::Message(message) => control.message.clone_from(message),
            Action::VoidTickets => self.void_tickets()?,
            Action::StaffPass => {}
            Action::LetEveryoneIn => control.everyone_in = true,
            _ => control.everyone_in = false,
        }
        if control != self.control || matches!(action, Action::VoidTickets | Action::StaffPass) {
            self.control = control;
            self.log(now, Cause::Operator(by.to_owned()), action);
        }
        self.changes.before_reply();
        Ok(self.facts(now))
    }

    /// The changes of the phase, the capacity, the message and the epoch, oldest first; at most [`LOG_ENTRIES_MAX`].
    pub fn log_entries(&self) -> impl Iterator<Item = &LogEntry> {
        self.log.values()
    }

    /// Opens and closes the event where its time has come.
    pub(super) fn follow_schedule(&mut self, now: Timestamp) {
        let told = self.host_time(now);
        let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= told);
        if self.control.phase == Phase::Scheduled && is_due(self.settings.opens_at) {
            let action =
                if self.settings.phase == Phase::Passthrough { Action::PassThrough } else { Action::Open };
            self.change_phase(now, Cause::Schedule, action);
        }
        if self.control.phase != Phase::Closed && is_due(self.settings.closes_at) {
            self.change_phase(now, Cause::Schedule, Action::Close);
        }
    }

    /// A passthrough that comes near the capacity turns into a line, before anybody would be turned away.
    pub(super) fn queue_under_load(&mut self, now: Timestamp) {
        let inside = u64::from(self.sessions.count()).saturating_mul(10);
        let near = u64::from(self.capacity()).saturating_mul(9);
        if self.control.phase == Phase::Passthrough && !self.control.everyone_in && inside >= near {
            self.change_phase(now, Cause::Load, Action::Open);
        }
    }

    fn change_phase(&mut self, now: Timestamp, cause: Cause, action: Action) {
        let Some(phase) = action.leads_from(self.control.phase) else { return };
        self.control.phase = phase;
        self.control.everyone_in = false;
        self.log(now, cause, action);
    }

    fn log(&mut self, now: Timestamp, cause: Cause, action: Action) {
        let seq = self.log.last_key_value().map_or(1, |(&last, _)| last.saturating_add(1));
        let at = self.host_time(now);
        self.log.insert(seq, LogEntry { at, cause, action, phase: self.control.phase });
        self.changes.lazily(RecordKey::Log(seq));
        self.changes.lazily(RecordKey::Control);
        while self.log.len() > LOG_ENTRIES_MAX {
            if let Some((oldest, _)) = self.log.pop_first() {
                self.changes.lazily(RecordKey::Log(oldest));
            }
        }
    }

    /// Numbering begins anew. How many sessions a device has had stays: it belongs to the event.
    fn void_tickets(&mut self) -> Result<(), ActionRefusal> {
        let next = self.epoch.0.checked_add(1).ok_or(ActionRefusal::EpochsExhausted)?;
        self.epoch = Epoch(next);
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            let id = LaneId::at(index);
            for chunk in lane.spent.chunks() {
                self.changes.lazily(RecordKey::Spent(id, chunk));
            }
            *lane = Lane::new();
            self.changes.lazily(RecordKey::Lane(id));
            self.changes.lazily(RecordKey::Ahead(id));
        }
        for (&device, visits) in &mut self.devices {
            visits.forget_place();
            self.changes.lazily(RecordKey::Device(device));
        }
        self.devices.retain(|_, visits| visits.sessions > 0);
        self.doorstep = Doorstep::default();
        self.expected = 0;
        self.changes.lazily(RecordKey::Room);
        Ok(())
    }
}

/// The log by sequence number.
pub(super) type Log = BTreeMap<u64, LogEntry>;
