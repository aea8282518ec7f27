//! Invitation codes: each opens a lane to so many buyers, and is spent only by a visit that the shop calls a success.
//!
//! A use of a code is held by the place that it opened. It is free again when that place is given up, runs out or its session ends
//! without success; it is spent when the shop finishes the session. The room knows codes by their hashes alone.

use super::{Room, code::Code, record::RecordKey};
use crate::{
    ids::{CodeHash, Epoch, LaneId, Place, TicketNumber},
    room::JoinRefusal,
    time::Timestamp,
};
use std::collections::{BTreeMap, BTreeSet};

/// No place comes before it.
const FIRST_PLACE: Place = Place { epoch: Epoch(0), lane: LaneId(0), number: TicketNumber(0) };

/// How the codes of one lane stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeCount {
    /// Codes issued.
    pub codes: u32,
    /// Uses of all of them together.
    pub uses: u32,
    /// Uses held by places in line or inside.
    pub held: u32,
    /// Uses spent.
    pub spent: u32,
    /// Most uses that may be issued.
    pub uses_max: u32,
}

/// Why no codes are issued; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IssueRefusal {
    /// No such lane.
    #[error("the room has no such lane")]
    NoSuchLane,
    /// More uses than the lane's `codes_max` allows; so many are left.
    #[error("the lane's codes_max leaves {left} uses")]
    TooMany {
        /// Uses that may still be issued.
        left: u32,
    },
    /// A code lets in at least one buyer.
    #[error("a code has at least one use")]
    NoUse,
}

/// The codes of a room, and which places they opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Codes {
    known: BTreeMap<CodeHash, Code>,
    held: BTreeMap<Place, CodeHash>,
    /// The same by code.
    places: BTreeSet<(CodeHash, Place)>,
}

impl Codes {
    pub(super) fn get(&self, code: CodeHash) -> Option<Code> {
        self.known.get(&code).copied()
    }

    pub(super) fn of_place(&self, place: Place) -> Option<CodeHash> {
        self.held.get(&place).copied()
    }

    pub(super) fn restore(&mut self, hash: CodeHash, code: Code) {
        self.known.insert(hash, code);
    }

    pub(super) fn restore_place(&mut self, place: Place, code: CodeHash) {
        self.held.insert(place, code);
        self.places.insert((code, place));
    }

    fn forget_place(&mut self, place: Place) -> Option<CodeHash> {
        let code = self.held.remove(&place)?;
        self.places.remove(&(code, place));
        Some(code)
    }

    /// The places that one code opened.
    fn places_of(&self, code: CodeHash) -> Vec<Place> {
        let from_code = self.places.range((code, FIRST_PLACE)..);
        from_code.take_while(|(by, _)| *by == code).map(|&(_, place)| place).collect()
    }

    /// The places that codes opened.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        self.held.keys().copied()
    }

    /// The keys of everything that is known.
    pub(super) fn keys(&self) -> impl Iterator<Item = RecordKey> {
        let codes = self.known.keys().copied().map(RecordKey::Code);
        codes.chain(self.held.keys().copied().map(RecordKey::PlaceByCode))
    }
}

impl Room {
    /// Issues `codes` for a lane, each for `uses` buyers; one that is known already stays as it is.
    ///
    /// # Errors
    /// [`IssueRefusal`], where the uses of all codes of the lane would be more than its `codes_max` together.
    pub fn issue_codes(
        &mut self,
        now: Timestamp,
        lane: LaneId,
        uses: u32,
        codes: &[CodeHash],
    ) -> Result<CodeCount, IssueRefusal> {
        self.observe(now);
        let count = self.code_count(lane).ok_or(IssueRefusal::NoSuchLane)?;
        if uses == 0 {
            return Err(IssueRefusal::NoUse);
        }
        let new: Vec<CodeHash> =
            codes.iter().copied().filter(|code| self.codes.get(*code).is_none()).collect();
        let more = u32::try_from(new.len()).unwrap_or(u32::MAX).saturating_mul(uses);
        let left = count.uses_max.saturating_sub(count.uses);
        if more > left {
            return Err(IssueRefusal::TooMany { left });
        }
        for hash in new {
            self.codes.restore(hash, Code { lane, uses, spent: 0 });
            self.changes.lazily(RecordKey::Code(hash));
        }
        self.changes.before_reply();
        self.code_count(lane).ok_or(IssueRefusal::NoSuchLane)
    }

    /// How the codes of a lane stand; `None`: no such lane.
    pub fn code_count(&self, lane: LaneId) -> Option<CodeCount> {
        let uses_max = self.settings.lanes.get(usize::from(lane.0))?.codes_max;
        let of_lane = self.codes.known.values().filter(|code| code.lane == lane);
        let mut count =
            of_lane.fold(CodeCount { uses_max, ..CodeCount::default() }, |count, code| CodeCount {
                codes: count.codes.saturating_add(1),
                uses: count.uses.saturating_add(code.uses),
                spent: count.spent.saturating_add(code.spent),
                ..count
            });
        let live = |place: Place| self.is_live(place);
        let held = self.codes.held.keys().filter(|place| place.lane == lane && live(**place)).count();
        count.held = u32::try_from(held).unwrap_or(u32::MAX);
        Some(count)
    }

    /// The lane that a code opens now.
    ///
    /// # Errors
    /// [`JoinRefusal::CodeUnknown`], [`JoinRefusal::CodeUsed`].
    pub(super) fn lane_by_code(&mut self, hash: CodeHash) -> Result<LaneId, JoinRefusal> {
        let code = self.codes.get(hash).ok_or(JoinRefusal::CodeUnknown)?;
        let by_it = self.codes.places_of(hash).into_iter();
        let (live, over): (Vec<Place>, Vec<Place>) = by_it.partition(|&place| self.is_live(place));
        for place in over {
            self.release_code(place);
        }
        let held = u32::try_from(live.len()).unwrap_or(u32::MAX);
        if code.spent.saturating_add(held) < code.uses { Ok(code.lane) } else { Err(JoinRefusal::CodeUsed) }
    }

    /// `place` was opened by a code. The reply waits: a crash must not free the use.
    pub(super) fn hold_code(&mut self, place: Place, code: CodeHash) {
        self.codes.restore_place(place, code);
        self.changes.lazily(RecordKey::PlaceByCode(place));
        self.changes.before_reply();
    }

    /// The visit of `place` was a success: the use of its code is spent.
    pub(super) fn spend_code(&mut self, place: Place) {
        let Some(hash) = self.release_code(place) else { return };
        if let Some(code) = self.codes.known.get_mut(&hash) {
            code.spent = code.spent.saturating_add(1);
            self.changes.lazily(RecordKey::Code(hash));
        }
    }

    /// The visit of `place` came to nothing: the use of its code is free again.
    pub(super) fn release_code(&mut self, place: Place) -> Option<CodeHash> {
        let hash = self.codes.forget_place(place)?;
        self.changes.lazily(RecordKey::PlaceByCode(place));
        Some(hash)
    }
}
