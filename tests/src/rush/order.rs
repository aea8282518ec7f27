//! Order within a lane: who entered before whom, and who was told to wait while later ones went in.

use super::history::{BuyerKind, Call, Fact, History};
use super::violation::Violation;
use shared::ids::{Epoch, LaneId, Place, TicketNumber};
use std::collections::BTreeMap;

/// How well the order was kept, over all lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Pairs of tickets of one lane that entered, the earlier of which polled as told.
    pub pairs: u64,
    /// Such pairs that entered the other way round.
    pub inverted: u64,
    /// Most later tickets that entered before one that polled as told.
    pub worst: usize,
    pub violations: Vec<Violation>,
}

/// One entry through the door.
#[derive(Clone, Copy, Debug)]
struct Entry {
    number: TicketNumber,
    at_ms: u64,
    buyer: u32,
    polled: bool,
}

type Lane = (Epoch, LaneId);

impl Order {
    /// Reads the order out of a history.
    pub fn of(history: &History) -> Self {
        let mut order = Self::default();
        let lanes = entries(history);
        for (lane, entries) in &lanes {
            order.overtaken(*lane, entries);
        }
        order.told_to_wait(history, &lanes);
        order
    }

    /// Counts overtakes: nobody who polled as told is overtaken by more people than enter in ten seconds.
    fn overtaken(&mut self, (epoch, lane): Lane, entries: &[Entry]) {
        let bound = most_within(entries, OVERTAKE_MS);
        let mut entered: Vec<TicketNumber> = Vec::with_capacity(entries.len());
        for entry in entries {
            let earlier = entered.partition_point(|number| *number < entry.number);
            let by = entered.len() - earlier;
            entered.insert(earlier, entry.number);
            if !entry.polled {
                continue;
            }
            self.pairs += entries.iter().filter(|other| other.number > entry.number).count() as u64;
            self.inverted += by as u64;
            self.worst = self.worst.max(by);
            if by > bound {
                let place = Place { epoch, lane, number: entry.number };
                self.violations.push(Violation::Overtaken { buyer: entry.buyer, place, by, bound });
            }
        }
    }

    /// Finds who was told to wait although a later number of their lane had already entered.
    fn told_to_wait(&mut self, history: &History, lanes: &BTreeMap<Lane, Vec<Entry>>) {
        for buyer in &history.buyers {
            let mut held = None;
            for seen in &buyer.seen {
                let known_ms = match &seen.fact {
                    Fact::Holds(place) => {
                        held = Some(*place);
                        continue;
                    }
                    // The edge answers from a snapshot; in an outage it can only be old.
                    Fact::Waiting { .. } if history.disturbed(seen.sent_ms, SNAPSHOT_MS) => continue,
                    Fact::Waiting { .. } => seen.sent_ms.saturating_sub(SNAPSHOT_MS),
                    Fact::Refused { code, .. } if seen.call == Call::Redeem && code == "NOT_YOUR_TURN" => {
                        seen.sent_ms
                    }
                    _ => continue,
                };
                let Some(place) = held else { continue };
                let Some(entries) = lanes.get(&(place.epoch, place.lane)) else { continue };
                let before = &entries[..entries.partition_point(|entry| entry.at_ms < known_ms)];
                let highest = before.iter().map(|entry| entry.number).max();
                if let Some(number) = highest.filter(|number| *number > place.number) {
                    let later = Place { number, ..place };
                    self.violations.push(Violation::OutOfTurn { buyer: buyer.id, place, later });
                    break;
                }
            }
        }
    }
}

/// The entries of each lane in the order of time.
fn entries(history: &History) -> BTreeMap<Lane, Vec<Entry>> {
    let mut first: BTreeMap<Place, Entry> = BTreeMap::new();
    for buyer in &history.buyers {
        for seen in &buyer.seen {
            let Fact::Entered(place) = seen.fact else { continue };
            let polled = buyer.kind == BuyerKind::Stays;
            let entry = Entry { number: place.number, at_ms: seen.answered_ms, buyer: buyer.id, polled };
            first.entry(place).or_insert(entry);
        }
    }
    let mut lanes: BTreeMap<Lane, Vec<Entry>> = BTreeMap::new();
    for (place, entry) in first {
        lanes.entry((place.epoch, place.lane)).or_default().push(entry);
    }
    for entries in lanes.values_mut() {
        entries.sort_by_key(|entry| entry.at_ms);
    }
    lanes
}

/// Most entries in any `span_ms`.
fn most_within(entries: &[Entry], span_ms: u64) -> usize {
    let until = |from: &Entry| entries.partition_point(|entry| entry.at_ms <= from.at_ms + span_ms);
    entries.iter().enumerate().map(|(index, entry)| until(entry) - index).max().unwrap_or(0)
}

/// Overtaking is bounded by the people who enter in this time.
const OVERTAKE_MS: u64 = 10_000;
/// How old a snapshot may be at the edge while nothing is wrong: a second, and what a machine needs that also runs the buyers.
const SNAPSHOT_MS: u64 = 5_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rush::history::Buyer;
    use crate::rush::history::tests::{place, seen};

    /// Buyer `n` holds number `n` and enters at the given time.
    fn history(entries: &[(u64, u64)]) -> History {
        let buyer = |&(number, at_ms): &(u64, u64)| Buyer {
            id: u32::try_from(number).unwrap(),
            kind: BuyerKind::Stays,
            seen: vec![
                seen(0, Call::Join, Fact::Holds(place(number))),
                seen(at_ms, Call::Redeem, Fact::Entered(place(number))),
            ],
        };
        History { buyers: entries.iter().map(buyer).collect(), ..History::default() }
    }

    #[test]
    fn inversions_are_counted() {
        let order = Order::of(&history(&[(1, 10), (2, 40), (3, 20), (4, 30)]));
        assert_eq!((order.pairs, order.inverted, order.worst), (6, 2, 2));
        assert_eq!(order.violations, []);
    }

    #[test]
    fn being_overtaken_by_more_than_ten_seconds_of_flow_is_found() {
        // One enters every five seconds, so three within ten: four may not overtake.
        let by_three = history(&[(2, 0), (3, 5_000), (4, 10_000), (1, 15_000)]);
        assert_eq!(Order::of(&by_three).violations, []);
        let by_four = history(&[(2, 0), (3, 5_000), (4, 10_000), (5, 15_000), (1, 20_000)]);
        let overtaken = Violation::Overtaken { buyer: 1, place: place(1), by: 4, bound: 3 };
        assert_eq!(Order::of(&by_four).violations, [overtaken]);
    }

    #[test]
    fn a_refusal_at_the_door_after_a_later_entry_is_found() {
        let check = |sent_ms, expected: &[Violation]| {
            let mut history = history(&[(1, 900), (2, 500)]);
            let code = "NOT_YOUR_TURN".to_owned();
            let refused = seen(sent_ms, Call::Redeem, Fact::Refused { status: 409, code });
            history.buyers[0].seen.insert(1, refused);
            assert_eq!(Order::of(&history).violations, expected);
        };
        check(500, &[]);
        check(501, &[Violation::OutOfTurn { buyer: 1, place: place(1), later: place(2) }]);
    }

    #[test]
    fn waiting_long_after_a_later_entry_is_found() {
        let check = |sent_ms, outages: &[(u64, u64)], expected: &[Violation]| {
            let mut history = history(&[(1, 9_000), (2, 500)]);
            let waiting = seen(sent_ms, Call::Poll, Fact::Waiting { position: 0, eta_s: None });
            history.buyers[0].seen.insert(1, waiting);
            history.outages = outages.to_vec();
            assert_eq!(Order::of(&history).violations, expected);
        };
        check(500 + SNAPSHOT_MS, &[], &[]);
        let found = Violation::OutOfTurn { buyer: 1, place: place(1), later: place(2) };
        check(501 + SNAPSHOT_MS, &[], &[found]);
        check(501 + SNAPSHOT_MS, &[(600, 700)], &[]);
    }
}
