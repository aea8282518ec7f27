//! Sessions that ended before their pass ran out, as far as an edge has heard of them.

use crate::ids::Place;
use crate::time::Timestamp;
use crate::wire::EndedPage;
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

/// Most places kept. Beyond it the oldest is forgotten: its pass, if it still lives, opens the gate until it runs out.
pub const PLACES_MAX: usize = 65_536;

/// Ended places of one event, each kept until its pass has surely run out.
#[derive(Clone, Debug, Default)]
pub struct EndedPlaces {
    seq: u64,
    forget_at: BTreeMap<Place, Timestamp>,
    /// Places in the order in which they came. One that came twice waits here twice; the last counts.
    by_age: VecDeque<(Timestamp, Place)>,
}

impl EndedPlaces {
    /// The entry of the feed that was read last; ask for what comes after it.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Whether the session of this place has ended.
    pub fn contains(&self, place: Place) -> bool {
        self.forget_at.contains_key(&place)
    }

    /// How many places are kept.
    pub fn len(&self) -> usize {
        self.forget_at.len()
    }

    /// Whether no place is kept.
    pub fn is_empty(&self) -> bool {
        self.forget_at.is_empty()
    }

    /// Takes a page of the feed that was read at `now`; its places are kept for `pass_life`.
    pub fn take(&mut self, page: &EndedPage, now: Timestamp, pass_life: Duration) {
        if page.reset {
            *self = Self::default();
        }
        self.seq = page.seq;
        for &(epoch, lane, number) in &page.ended {
            self.insert(Place { epoch, lane, number }, now, pass_life);
        }
    }

    /// Notes one place that ended at `now`, ahead of the feed.
    pub fn insert(&mut self, place: Place, now: Timestamp, pass_life: Duration) {
        self.forget_outlived(now);
        let forget_at = now.saturating_add(pass_life);
        self.forget_at.insert(place, forget_at);
        self.by_age.push_back((forget_at, place));
        while self.by_age.len() > PLACES_MAX {
            self.forget_oldest();
        }
    }

    fn forget_outlived(&mut self, now: Timestamp) {
        while self.by_age.front().is_some_and(|(forget_at, _)| *forget_at <= now) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((forget_at, place)) = self.by_age.pop_front()
            && self.forget_at.get(&place) == Some(&forget_at)
        {
            self.forget_at.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Epoch, LaneId, TicketNumber};

    const LIFE: Duration = Duration::from_secs(120);

    fn place(number: u64) -> Place {
        Place { epoch: Epoch(1), lane: LaneId(0), number: TicketNumber(number) }
    }

    fn page(seq: u64, reset: bool, numbers: core::ops::RangeInclusive<u64>) -> EndedPage {
        EndedPage { seq, reset, ended: numbers.map(|n| (Epoch(1), LaneId(0), TicketNumber(n))).collect() }
    }

    #[test]
    fn a_place_is_kept_for_the_life_of_its_pass() {
        let mut ended = EndedPlaces::default();
        ended.take(&page(7, false, 1..=1), Timestamp::from_millis(0), LIFE);
        assert_eq!(ended.seq(), 7);
        ended.insert(place(2), Timestamp::from_millis(119_999), LIFE);
        assert!(ended.contains(place(1)));
        ended.insert(place(3), Timestamp::from_millis(120_000), LIFE);
        assert!(!ended.contains(place(1)) && ended.contains(place(2)));
    }

    #[test]
    fn a_place_that_came_twice_is_kept_from_the_second_time() {
        let mut ended = EndedPlaces::default();
        ended.insert(place(1), Timestamp::from_millis(0), LIFE);
        ended.insert(place(1), Timestamp::from_millis(60_000), LIFE);
        ended.insert(place(2), Timestamp::from_millis(130_000), LIFE);
        assert!(ended.contains(place(1)));
    }

    #[test]
    fn a_reset_forgets_what_was_known() {
        let mut ended = EndedPlaces::default();
        ended.take(&page(900, false, 1..=3), Timestamp::default(), LIFE);
        ended.take(&page(2, true, 8..=9), Timestamp::default(), LIFE);
        assert_eq!((ended.seq(), ended.len()), (2, 2));
        assert!(!ended.contains(place(1)));
    }

    #[test]
    fn memory_is_bounded() {
        let mut ended = EndedPlaces::default();
        let most = u64::try_from(PLACES_MAX).unwrap();
        ended.take(&page(1, false, 1..=most), Timestamp::default(), LIFE);
        assert!(ended.contains(place(1)));
        ended.insert(place(most + 1), Timestamp::default(), LIFE);
        assert_eq!(ended.len(), PLACES_MAX);
        assert!(!ended.contains(place(1)) && ended.contains(place(most + 1)));
    }
}
