//! The buyers inside: counted against capacity until finished, revoked, idle or at their maximum.

use crate::{
    ids::{DeviceHash, Place},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A buyer inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// When the ticket was redeemed.
    pub started_at: Timestamp,
    /// When the session ends unless it is renewed; its pass carries the same moment.
    pub expires_at: Timestamp,
    /// When it ends at the latest.
    pub ends_at: Timestamp,
    /// Device of the ticket.
    pub device: DeviceHash,
}

/// The live sessions of a room, found by place and by the moment they end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sessions {
    by_place: BTreeMap<Place, Session>,
    by_expiry: BTreeSet<(Timestamp, Place)>,
    ended_total: u64,
}

impl Sessions {
    /// How many sessions count against capacity.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.by_place.len()).unwrap_or(u32::MAX)
    }

    /// Sessions that have ended in whatever way since this process has the room.
    pub(super) fn ended_total(&self) -> u64 {
        self.ended_total
    }

    /// The live session of `place`.
    pub(super) fn get(&self, place: Place) -> Option<Session> {
        self.by_place.get(&place).copied()
    }

    /// Begins or changes the session of `place`.
    pub(super) fn put(&mut self, place: Place, session: Session) {
        if let Some(old) = self.by_place.insert(place, session) {
            self.by_expiry.remove(&(old.expires_at, place));
        }
        self.by_expiry.insert((session.expires_at, place));
    }

    /// Ends the session of `place`.
    pub(super) fn remove(&mut self, place: Place) -> Option<Session> {
        let session = self.by_place.remove(&place)?;
        self.by_expiry.remove(&(session.expires_at, place));
        self.ended_total = self.ended_total.saturating_add(1);
        Some(session)
    }

    /// The places of all live sessions.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        self.by_place.keys().copied()
    }

    /// Ends and names one session whose life is over at `now`.
    pub(super) fn pop_expired(&mut self, now: Timestamp) -> Option<Place> {
        let (expires_at, place) = self.by_expiry.first().copied()?;
        if expires_at > now {
            return None;
        }
        self.remove(place);
        Some(place)
    }
}
