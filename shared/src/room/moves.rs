//! A place goes from one device to another by a code that works once: it moves, and never is in two places.

use super::{Joined, Room, record::RecordKey};
use crate::{
    ids::{CodeHash, DeviceHash, Place},
    time::Timestamp,
};
use core::time::Duration;
use std::collections::BTreeMap;

/// How long a code for a move works.
pub const MOVE_LIFE: Duration = Duration::from_mins(10);

/// Most moves on offer at once; the one that runs out first makes room for the next.
const OFFERS_MAX: usize = 10_000;

/// Why a place does not move; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveRefusal {
    /// The place is not live, or not this device's any more.
    #[error("the ticket's place cannot move")]
    NoPlace,
    /// A session lives on the place, or on another one of the device that takes it: sessions do not move.
    #[error("a session does not move")]
    Inside,
    /// The code was used, ran out, was replaced by a newer one, or never existed.
    #[error("the code moves nothing")]
    CodeUnknown,
}

/// Moves on offer, and whose the moved places are. Offers live in memory alone: after a restart the buyer asks for another code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Moves {
    offers: BTreeMap<CodeHash, (Timestamp, Place)>,
    /// The device of each place that has moved: tickets of other devices are worth nothing.
    owners: BTreeMap<Place, DeviceHash>,
}

impl Moves {
    /// Whose a place is that has moved.
    pub(super) fn owner(&self, place: Place) -> Option<DeviceHash> {
        self.owners.get(&place).copied()
    }

    pub(super) fn restore(&mut self, place: Place, owner: DeviceHash) {
        self.owners.insert(place, owner);
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = RecordKey> {
        self.owners.keys().copied().map(RecordKey::MovedPlace)
    }

    fn withdraw(&mut self, place: Place) {
        self.offers.retain(|_, (_, offered)| *offered != place);
    }
}

impl Room {
    /// Whether a ticket of `device` is the one that counts for `place`.
    pub(super) fn is_owner(&self, place: Place, device: DeviceHash) -> bool {
        self.moves.owner(place).is_none_or(|owner| owner == device)
    }

    /// Offers the place of a ticket of `device` to whoever brings `code` within [`MOVE_LIFE`], instead of an earlier offer.
    ///
    /// # Errors
    /// [`MoveRefusal::NoPlace`], [`MoveRefusal::Inside`].
    pub fn offer_move(
        &mut self,
        now: Timestamp,
        place: Place,
        device: DeviceHash,
        code: CodeHash,
    ) -> Result<(), MoveRefusal> {
        let now = self.observe(now);
        self.expire_sessions(now);
        let is_known = self.note_seen(place).is_ok();
        if !is_known || !self.is_live(place) || !self.is_owner(place, device) {
            return Err(MoveRefusal::NoPlace);
        }
        if self.sessions.get(place).is_some() {
            return Err(MoveRefusal::Inside);
        }
        self.moves.withdraw(place);
        self.moves.offers.retain(|_, (until, _)| *until > now);
        if self.moves.offers.len() >= OFFERS_MAX {
            let first = self.moves.offers.iter().min_by_key(|(_, (until, _))| *until).map(|(&code, _)| code);
            first.and_then(|code| self.moves.offers.remove(&code));
        }
        self.moves.offers.insert(code, (now.saturating_add(MOVE_LIFE), place));
        Ok(())
    }

    /// Moves the place that `code` offers to `device`, which gives up the place that it may have.
    ///
    /// # Errors
    /// [`MoveRefusal::CodeUnknown`], [`MoveRefusal::Inside`]; nothing has changed, and the code works on.
    pub fn take_move(
        &mut self,
        now: Timestamp,
        code: CodeHash,
        device: DeviceHash,
    ) -> Result<Joined, MoveRefusal> {
        let now = self.observe(now);
        self.expire_sessions(now);
        let offer = self.moves.offers.get(&code).copied();
        let (_, place) = offer.filter(|(until, _)| *until > now).ok_or(MoveRefusal::CodeUnknown)?;
        let other = self.devices.get(device).place(self.epoch);
        if self.sessions.get(place).is_some() || self.sessions.get(other).is_some() {
            return Err(MoveRefusal::Inside);
        }
        self.moves.withdraw(place);
        if !self.is_live(place) {
            return Err(MoveRefusal::CodeUnknown);
        }
        if other != place && self.is_live(other) {
            self.give_up(other);
        }
        self.remember(device, place);
        self.moves.owners.insert(place, device);
        self.changes.lazily(RecordKey::MovedPlace(place));
        self.changes.before_reply();
        let serving_number = self.serving_number(place.lane);
        Ok(Joined { place, device, existed: true, serving_number, session: None })
    }
}
