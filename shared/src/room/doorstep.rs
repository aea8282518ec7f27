//! Who stands in front of a full door, and how many late buyers came in lately.

use crate::{
    ids::{Place, TicketNumber},
    time::Timestamp,
};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What the door remembers besides sessions and bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Doorstep {
    /// Called buyers who came to a full door and have not entered. At most the called numbers.
    came: BTreeSet<Place>,
    /// Those of them who still try, with their last try.
    stands: BTreeMap<Place, Timestamp>,
    /// Redemptions of the last 60 seconds: second, all, late ones.
    minute: VecDeque<(u64, u32, u32)>,
}

impl Doorstep {
    /// Whether the buyer has come to the door before.
    pub(super) fn knows(&self, place: Place) -> bool {
        self.came.contains(&place)
    }

    pub(super) fn refuse_full(&mut self, place: Place, now: Timestamp) {
        self.came.insert(place);
        self.stands.insert(place, now);
    }

    pub(super) fn leave(&mut self, place: Place) {
        self.came.remove(&place);
        self.stands.remove(&place);
    }

    /// Whether one of `free` sessions is left for `place` when everybody before it in its lane has entered who stands here too.
    ///
    /// Who has missed their time to try again is not waited for. Looks at [`LOOKS_AT`] people at most: where more sessions are
    /// free, or more people before it no longer try, it is not the order that keeps anybody out.
    pub(super) fn is_next(&self, place: Place, free: u32, now: Timestamp) -> bool {
        let free = usize::try_from(free).unwrap_or(usize::MAX);
        if free > LOOKS_AT {
            return true;
        }
        let first = Place { number: TicketNumber(0), ..place };
        let before = self.stands.range(first..place).take(LOOKS_AT);
        before.filter(|&(_, &tried)| now.since(tried) < TRIES_WITHIN).take(free).count() < free
    }

    /// Buyers who tried lately and would still enter.
    pub(super) fn waiting_count(&self, now: Timestamp) -> u32 {
        let still = self.stands.values().filter(|&&tried| now.since(tried) < AT_DOOR_FOR).count();
        u32::try_from(still).unwrap_or(u32::MAX)
    }

    /// Forgets buyers whose turn is over, and no longer expects those who do not try any more.
    pub(super) fn retain(&mut self, now: Timestamp, mut keep: impl FnMut(Place) -> bool) {
        self.came.retain(|&place| keep(place));
        let came = &self.came;
        self.stands.retain(|place, tried| now.since(*tried) < AT_DOOR_FOR && came.contains(place));
    }

    pub(super) fn note_redeemed(&mut self, now: Timestamp, late: bool) {
        let second = now.as_secs();
        let late = u32::from(late);
        match self.minute.back_mut() {
            Some((newest, all, late_ones)) if *newest == second => {
                *all = all.saturating_add(1);
                *late_ones = late_ones.saturating_add(late);
            }
            _ => self.minute.push_back((second, 1, late)),
        }
        self.forget_before(second);
    }

    /// Late buyers get at most 5 % of the redemptions of the last minute, this one included.
    pub(super) fn late_share_left(&mut self, now: Timestamp) -> bool {
        self.forget_before(now.as_secs());
        let (all, late) = self.minute.iter().fold((0_u32, 0_u32), |(all, late), &(_, more, late_more)| {
            (all.saturating_add(more), late.saturating_add(late_more))
        });
        late.saturating_add(1).saturating_mul(LATE_ONE_IN) <= all.saturating_add(1)
    }

    fn forget_before(&mut self, second: u64) {
        while self.minute.front().is_some_and(|&(oldest, ..)| oldest.saturating_add(60) <= second) {
            self.minute.pop_front();
        }
    }
}

/// A buyer refused by a full door who has not tried again for this long no longer waits there.
const AT_DOOR_FOR: Duration = Duration::from_secs(15);
const LOOKS_AT: usize = 256;
/// Whoever is refused tries again after [`RETRY_AT_DOOR`](super::RETRY_AT_DOOR), and needs some time for the way.
const TRIES_WITHIN: Duration = Duration::from_secs(4);
/// Of the redemptions of the last minute, one in this many may be late.
const LATE_ONE_IN: u32 = 20;
