//! Redis as the keep of a writer: it commits what changed, if this server leads.

use super::{
    event::{Author, KeptEvent},
    wire::{KeepError, Wire},
};
use crate::{
    leader::Leadership,
    store::{
        HostedRoom,
        keep::{Broken, Keep, Mandate, Records},
    },
};
use shared::{
    ids::{Epoch, EventId},
    room::Room,
};
use std::sync::Arc;
use tracing::error;

pub(super) struct RedisKeep {
    pub(super) wire: Wire,
    pub(super) leadership: Arc<Leadership>,
    /// In the order of the hosted rooms.
    pub(super) events: Vec<(EventId, KeptEvent)>,
    /// Replicas that must have a change before its answer leaves.
    pub(super) replicas: u64,
}

impl Keep for RedisKeep {
    type Error = KeepError;

    /// A master that died may have taken its last second along.
    const FORGETS: bool = true;

    fn mandate(&self) -> Mandate {
        self.leadership.mandate()
    }

    fn seen_epoch(&self, event: &EventId) -> Option<Epoch> {
        self.leadership.seen_epoch(event)
    }

    fn read(&mut self, term: u64, event: &EventId) -> Result<Records, KeepError> {
        let author = Author { term, id: self.leadership.id() };
        let kept = self.events.iter_mut().find(|(name, _)| name == event).map(|(_, kept)| kept);
        let read = kept.ok_or(KeepError::Strange)?.claim(&self.wire, author);
        if let Err(error @ KeepError::ForeignFormat { .. }) = &read
            && self.leadership.bar(term)
        {
            error!(%error, %event, "this server cannot lead");
        }
        note_overtaken(&self.leadership, term, read)
    }

    /// All or none of one room; of several, as far as it came. Answers wait for all.
    fn commit(
        &mut self,
        term: u64,
        hosted: &[HostedRoom],
        rooms: &mut [Room],
    ) -> Result<(), Broken<KeepError>> {
        debug_assert_eq!(hosted.len(), self.events.len());
        let mandate = self.leadership.mandate();
        let mut committed = match mandate {
            Mandate::Given { term: now } if now == term => Ok(()),
            Mandate::Suspended => Err(KeepError::NotLeading),
            // In a later term these rooms are void.
            Mandate::Given { .. } | Mandate::Gone => return Err(Broken::Undone(KeepError::NotLeading)),
        };
        let author = Author { term, id: self.leadership.id() };
        let mut wrote = false;
        for ((_, kept), room) in self.events.iter_mut().zip(rooms) {
            let is_due = kept.note(&room.take_changes()).map_err(Broken::Undone)?;
            if is_due && committed.is_ok() {
                committed = kept.commit(&self.wire, author, room);
                wrote = true;
            }
        }
        if wrote && committed.is_ok() && self.replicas > 0 {
            committed = self.wire.wait(self.replicas);
            if committed.is_err() {
                self.events.iter_mut().for_each(|(_, kept)| kept.repeat());
            }
        }
        note_overtaken(&self.leadership, term, committed).map_err(|error| match error {
            KeepError::Overtaken { .. } => Broken::Undone(error),
            _ => Broken::Unconfirmed(error),
        })
    }
}

/// A refusal for the sake of a later leader is how this one learns of it.
fn note_overtaken<T>(
    leadership: &Leadership,
    term: u64,
    answer: Result<T, KeepError>,
) -> Result<T, KeepError> {
    if let Err(KeepError::Overtaken { by }) = answer {
        leadership.overtaken(term, by);
    }
    answer
}
