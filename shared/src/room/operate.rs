//! What operator and schedule do to a room, and the log of it.

use super::{
    Action, ActionRefusal, CAPACITY_MAX, Cause, LOG_ENTRIES_MAX, LogEntry, Room, control::Control,
    doorstep::Doorstep, facts::Facts, lane::Lane, record::RecordKey,
};
use crate::{
    ids::{Epoch, LaneId, Place},
    time::Timestamp,
    wire::Phase,
};

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
        self.devices.forget_places(&mut self.changes);
        let places: Vec<Place> =
            self.codes.places().filter(|&place| self.sessions.get(place).is_none()).collect();
        for place in places {
            self.release_code(place);
        }
        self.members.forget_places();
        for key in self.members.keys() {
            self.changes.lazily(key);
        }
        self.doorstep = Doorstep::default();
        self.expected = 0;
        self.changes.lazily(RecordKey::Room);
        Ok(())
    }
}
