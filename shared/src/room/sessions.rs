//! The buyers inside: counted against capacity until finished, revoked, idle or at their maximum.

use super::{Room, ended::EndedEntry, record::RecordKey, stays::Stays};
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
    /// How often its buyer has extended it.
    pub extensions: u8,
    /// When the last pass that was given for it runs out.
    pub told_until: Timestamp,
}

/// Who asks for a longer session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extender {
    /// The buyer, as often as the room's settings allow.
    Buyer,
    /// The shop, which knows that a payment is on its way: as often as it likes.
    Shop,
}

/// Why a session cannot be renewed, extended or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionRefusal {
    /// No live session belongs to the place.
    #[error("the session has ended")]
    Ended,
    /// The buyer has extended it as often as the room allows.
    #[error("the session cannot be extended any more")]
    NoExtensionLeft,
}

impl Room {
    /// Gives the session its full idle time again, up to its hard maximum.
    ///
    /// # Errors
    /// [`SessionRefusal::Ended`] when it is over.
    pub fn renew(&mut self, now: Timestamp, place: Place) -> Result<Session, SessionRefusal> {
        let now = self.observe(now);
        self.expire_sessions(now);
        let session = self.sessions.get(place).ok_or(SessionRefusal::Ended)?;
        Ok(self.renewed(now, place, session))
    }

    fn renewed(&mut self, now: Timestamp, place: Place, mut session: Session) -> Session {
        session.expires_at =
            now.saturating_add(self.settings.pass_life).min(session.ends_at).max(session.expires_at);
        self.sessions.put(place, session);
        self.changes.lazily(RecordKey::Session(place));
        self.changes.before_reply();
        self.tell(place, session)
    }

    /// Moves the session's hard maximum by another `session_max`, and renews it.
    ///
    /// # Errors
    /// [`SessionRefusal`]; nothing has changed.
    pub fn extend(&mut self, now: Timestamp, place: Place, by: Extender) -> Result<Session, SessionRefusal> {
        let now = self.observe(now);
        self.expire_sessions(now);
        let mut session = self.sessions.get(place).ok_or(SessionRefusal::Ended)?;
        if by == Extender::Buyer {
            if session.extensions >= self.settings.session_extensions_max {
                return Err(SessionRefusal::NoExtensionLeft);
            }
            session.extensions = session.extensions.saturating_add(1);
        }
        session.ends_at = session.ends_at.saturating_add(self.settings.session_max);
        Ok(self.renewed(now, place, session))
    }

    /// Ends a session in success, at the word of the shop: the code that opened its lane is spent. The feed tells the edges.
    ///
    /// # Errors
    /// [`SessionRefusal::Ended`] when there is none, so that a repeated end is harmless.
    pub fn finish(&mut self, now: Timestamp, place: Place) -> Result<(), SessionRefusal> {
        let now = self.observe(now);
        self.expire_sessions(now);
        if self.sessions.get(place).is_some() {
            self.spend_code(place);
        }
        self.end_session(place)
    }

    /// Ends a session without success; the feed tells the edges.
    ///
    /// # Errors
    /// [`SessionRefusal::Ended`] when there is none, so that a repeated end is harmless.
    pub fn revoke(&mut self, now: Timestamp, place: Place) -> Result<(), SessionRefusal> {
        let now = self.observe(now);
        self.expire_sessions(now);
        self.end_session(place)
    }

    pub(super) fn end_session(&mut self, place: Place) -> Result<(), SessionRefusal> {
        let session = self.sessions.remove(place).ok_or(SessionRefusal::Ended)?;
        self.release_code(place);
        self.tell_ended(place, session);
        self.changes.lazily(RecordKey::Session(place));
        self.changes.before_reply();
        Ok(())
    }

    /// The session as its buyer is told, in the host's time, and how long the pass that tells it lives.
    pub(super) fn tell(&mut self, place: Place, mut session: Session) -> Session {
        let expires_at = self.host_time(session.expires_at);
        if session.told_until < expires_at {
            session.told_until = expires_at;
            self.sessions.put(place, session);
            self.changes.lazily(RecordKey::Session(place));
            self.changes.before_reply();
        }
        let [started_at, ends_at] = [session.started_at, session.ends_at].map(|at| self.host_time(at));
        Session { started_at, expires_at, ends_at, ..session }
    }

    /// The feed tells the edges of a session that ended before its pass.
    pub(super) fn tell_ended(&mut self, place: Place, session: Session) {
        let seq = self.ended.push(EndedEntry { place, pass_expires_at: session.told_until });
        self.changes.lazily(RecordKey::Ended(seq));
    }
}

/// The live sessions of a room, found by place and by the moment they end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sessions {
    by_place: BTreeMap<Place, Session>,
    by_expiry: BTreeSet<(Timestamp, Place)>,
    ended_total: u64,
    pub(super) stays: Stays,
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
        } else {
            self.stays.begin(session.started_at);
        }
        self.by_expiry.insert((session.expires_at, place));
    }

    /// Ends the session of `place`.
    pub(super) fn remove(&mut self, place: Place) -> Option<Session> {
        let session = self.by_place.remove(&place)?;
        self.by_expiry.remove(&(session.expires_at, place));
        self.ended_total = self.ended_total.saturating_add(1);
        self.stays.end(session.started_at);
        Some(session)
    }

    /// The places of all live sessions.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        self.by_place.keys().copied()
    }

    /// Ends and names one session whose life is over at `now`.
    pub(super) fn pop_expired(&mut self, now: Timestamp) -> Option<(Place, Session)> {
        let (expires_at, place) = self.by_expiry.first().copied()?;
        if expires_at > now {
            return None;
        }
        Some((place, self.remove(place)?))
    }
}
