//! Places as one buyer was told of them: kept, never rising, spent once.

use super::history::{Buyer, BuyerKind, Call, Fact, History, Seen};
use super::violation::Violation;
use shared::ids::Place;
use std::collections::BTreeMap;

/// What of one buyer's story breaks a promise.
pub fn violations_of(buyer: &Buyer, history: &History) -> Vec<Violation> {
    let mut walk = Walk { buyer, history, held: None, found: Vec::new() };
    for seen in &buyer.seen {
        walk.step(seen);
    }
    walk.end();
    walk.found
}

/// Numbers that two tickets carry.
pub fn reissued(buyers: &[Buyer]) -> Vec<Violation> {
    let mut owners: BTreeMap<Place, u32> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for buyer in buyers {
        for seen in &buyer.seen {
            let (Fact::Holds(place) | Fact::Entered(place)) = seen.fact else { continue };
            let owner = *owners.entry(place).or_insert(buyer.id);
            if owner != buyer.id {
                let buyers = [owner, buyer.id];
                found.entry(place).or_insert(Violation::NumberReissued { place, buyers });
            }
        }
    }
    found.into_values().collect()
}

struct Walk<'a> {
    buyer: &'a Buyer,
    history: &'a History,
    held: Option<Held>,
    found: Vec<Violation>,
}

/// The place a buyer holds, and how far it has come.
struct Held {
    place: Place,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting { position: u64 },
    Called,
    Inside,
    Bought { at_ms: u64 },
}

impl Walk<'_> {
    fn step(&mut self, seen: &Seen) {
        match &seen.fact {
            Fact::Holds(place) => self.holds(*place),
            Fact::Entered(place) if seen.call == Call::RedeemAgain => self.entered_again(*place),
            Fact::Entered(place) => self.held = Some(Held { place: *place, stage: Stage::Inside }),
            Fact::Waiting { position, .. } => self.waiting(*position),
            Fact::Called => self.move_to(Stage::Called),
            Fact::Bought => self.move_to(Stage::Bought { at_ms: seen.answered_ms }),
            Fact::Refused { status, code } => self.refused(seen.call, *status, code),
            Fact::InCart | Fact::Unreached => {}
        }
    }

    fn end(&mut self) {
        let inside = |held: &Held| matches!(held.stage, Stage::Inside | Stage::Bought { .. });
        if self.buyer.kind == BuyerKind::Stays && !self.held.as_ref().is_some_and(inside) {
            let place = self.held.as_ref().map(|held| held.place);
            self.found.push(Violation::StayedOutside { buyer: self.buyer.id, place });
        }
        let mut unnamed = self.buyer.seen.iter().filter_map(|seen| match &seen.fact {
            Fact::Refused { status, code } if code.is_empty() => Some(*status),
            _ => None,
        });
        let times = unnamed.clone().count();
        if let Some(status) = unnamed.next_back() {
            self.found.push(Violation::UnnamedRefusal { buyer: self.buyer.id, status, times });
        }
    }

    fn holds(&mut self, place: Place) {
        let fresh = Held { place, stage: Stage::Waiting { position: u64::MAX } };
        match &self.held {
            Some(held) if held.place == place => return,
            // A bot lets sessions run out unseen and may then join anew.
            Some(held)
                if self.buyer.kind == BuyerKind::Stays && !matches!(held.stage, Stage::Bought { .. }) =>
            {
                let (buyer, from) = (self.buyer.id, held.place);
                self.found.push(Violation::PlaceChanged { buyer, from, to: place });
            }
            _ => {}
        }
        self.held = Some(fresh);
    }

    fn waiting(&mut self, position: u64) {
        let Some(held) = &mut self.held else { return };
        let (buyer, place) = (self.buyer.id, held.place);
        match held.stage {
            Stage::Waiting { position: from } => {
                if position > from {
                    self.found.push(Violation::PositionRose { buyer, place, from, to: position });
                }
                held.stage = Stage::Waiting { position };
            }
            Stage::Called => self.found.push(Violation::TurnTakenBack { buyer, place, position }),
            Stage::Inside | Stage::Bought { .. } => {}
        }
    }

    /// Moves the held place on, never back.
    fn move_to(&mut self, stage: Stage) {
        let Some(held) = &mut self.held else { return };
        let rank = |stage| match stage {
            Stage::Waiting { .. } => 0,
            Stage::Called => 1,
            Stage::Inside => 2,
            Stage::Bought { .. } => 3,
        };
        if rank(stage) > rank(held.stage) {
            held.stage = stage;
        }
    }

    fn entered_again(&mut self, place: Place) {
        let ended_ms = match &self.held {
            Some(Held { stage: Stage::Bought { at_ms }, .. }) => *at_ms,
            _ => return,
        };
        // A finish that the edge could not report leaves the session open, and redeeming gives its pass once more.
        if !self.history.disturbed(ended_ms, REPORT_MS) {
            self.found.push(Violation::TicketReused { buyer: self.buyer.id, place, status: 200 });
        }
    }

    fn refused(&mut self, call: Call, status: u16, code: &str) {
        let Some(held) = self.held.as_ref().filter(|_| self.buyer.kind == BuyerKind::Stays) else { return };
        let (buyer, place, code) = (self.buyer.id, held.place, code.to_owned());
        match (call, held.stage) {
            (Call::RedeemAgain, _) if !matches!(status, 410 | 429 | 503) => {
                self.found.push(Violation::TicketReused { buyer, place, status });
            }
            (Call::Join | Call::Poll | Call::Redeem, Stage::Waiting { .. } | Stage::Called)
                if LOST.contains(&code.as_str()) =>
            {
                self.found.push(Violation::PlaceLost { buyer, place, code });
            }
            (Call::AddToCart | Call::CheckOut | Call::Renew, Stage::Inside)
                if OUTSIDE.contains(&code.as_str()) =>
            {
                self.found.push(Violation::SessionLost { buyer, place, code });
            }
            _ => {}
        }
    }
}

/// Codes that tell the owner of a ticket that it is worth nothing.
const LOST: [&str; 5] = ["NO_TICKET", "TICKET_INVALID", "TICKET_VOID", "TICKET_SPENT", "TURN_EXPIRED"];
/// Codes that tell a buyer that they are not inside.
const OUTSIDE: [&str; 2] = ["QUEUE_REQUIRED", "SESSION_ENDED"];
/// How long a report of the edge may be under way.
const REPORT_MS: u64 = 5_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rush::history::tests::{place, seen};

    fn check(kind: BuyerKind, facts: Vec<(Call, Fact)>, expected: &[Violation]) {
        let steps = (0..).zip(facts).map(|(t_ms, (call, fact))| seen(t_ms, call, fact)).collect();
        let buyer = Buyer { id: 7, kind, seen: steps };
        assert_eq!(violations_of(&buyer, &History::default()), expected);
    }

    fn waiting(position: u64) -> (Call, Fact) {
        (Call::Poll, Fact::Waiting { position, eta_s: None })
    }

    fn refused(call: Call, status: u16, code: &str) -> (Call, Fact) {
        (call, Fact::Refused { status, code: code.to_owned() })
    }

    fn joined() -> (Call, Fact) {
        (Call::Join, Fact::Holds(place(5)))
    }

    fn entered() -> (Call, Fact) {
        (Call::Redeem, Fact::Entered(place(5)))
    }

    fn bought() -> (Call, Fact) {
        (Call::CheckOut, Fact::Bought)
    }

    #[test]
    fn a_story_without_fault_is_clean() {
        let story = vec![
            refused(Call::AddToCart, 429, "QUEUE_REQUIRED"),
            joined(),
            waiting(4),
            waiting(4),
            waiting(0),
            (Call::Poll, Fact::Called),
            refused(Call::Redeem, 409, "DOOR_FULL"),
            entered(),
            (Call::AddToCart, Fact::InCart),
            bought(),
            refused(Call::RedeemAgain, 410, "TICKET_SPENT"),
            refused(Call::AddToCart, 429, "QUEUE_REQUIRED"),
            (Call::Join, Fact::Holds(place(90))),
            (Call::Redeem, Fact::Entered(place(90))),
        ];
        check(BuyerKind::Stays, story, &[]);
    }

    #[test]
    fn a_position_that_rises_is_found() {
        let rose = Violation::PositionRose { buyer: 7, place: place(5), from: 3, to: 4 };
        check(BuyerKind::Stays, vec![joined(), waiting(3), waiting(4), waiting(2), entered()], &[rose]);
    }

    #[test]
    fn a_turn_taken_back_is_found() {
        let back = Violation::TurnTakenBack { buyer: 7, place: place(5), position: 0 };
        let story = vec![joined(), (Call::Poll, Fact::Called), waiting(0), entered()];
        check(BuyerKind::Stays, story, &[back]);
    }

    #[test]
    fn a_lost_place_is_found() {
        for code in LOST {
            let lost = Violation::PlaceLost { buyer: 7, place: place(5), code: code.to_owned() };
            check(BuyerKind::Stays, vec![joined(), refused(Call::Poll, 410, code), entered()], &[lost]);
        }
    }

    #[test]
    fn a_changed_place_is_found() {
        let (from, to) = (place(5), place(6));
        let changed = Violation::PlaceChanged { buyer: 7, from, to };
        let story = || vec![joined(), (Call::Join, Fact::Holds(to)), (Call::Redeem, Fact::Entered(to))];
        check(BuyerKind::Stays, story(), &[changed]);
        check(BuyerKind::Bot, story(), &[]);
    }

    #[test]
    fn only_who_stayed_must_get_in() {
        let outside = |place| Violation::StayedOutside { buyer: 7, place };
        check(BuyerKind::Stays, vec![joined(), waiting(3)], &[outside(Some(place(5)))]);
        check(BuyerKind::Stays, vec![], &[outside(None)]);
        check(BuyerKind::Leaves, vec![joined()], &[]);
    }

    #[test]
    fn a_ticket_that_works_twice_is_found() {
        let reused = |status| Violation::TicketReused { buyer: 7, place: place(5), status };
        let again = (Call::RedeemAgain, Fact::Entered(place(5)));
        check(BuyerKind::Stays, vec![joined(), entered(), bought(), again.clone()], &[reused(200)]);
        let odd = refused(Call::RedeemAgain, 409, "DOOR_FULL");
        check(BuyerKind::Stays, vec![joined(), entered(), bought(), odd], &[reused(409)]);

        let facts = [joined(), entered(), bought(), again];
        let steps = (0..).zip(facts).map(|(t_ms, (call, fact))| seen(t_ms, call, fact)).collect();
        let buyer = Buyer { id: 7, kind: BuyerKind::Stays, seen: steps };
        let history = History { outages: vec![(0, 1)], ..History::default() };
        assert_eq!(violations_of(&buyer, &history), [], "its finish may not have been reported");
    }

    #[test]
    fn a_refusal_inside_is_found() {
        let lost = Violation::SessionLost { buyer: 7, place: place(5), code: "QUEUE_REQUIRED".to_owned() };
        let story = vec![joined(), entered(), refused(Call::AddToCart, 429, "QUEUE_REQUIRED")];
        check(BuyerKind::Stays, story, &[lost]);
        let story = vec![joined(), entered(), refused(Call::AddToCart, 409, "OUT_OF_STOCK")];
        check(BuyerKind::Stays, story, &[]);
    }

    #[test]
    fn a_refusal_without_a_code_is_found() {
        let unnamed = Violation::UnnamedRefusal { buyer: 7, status: 500, times: 2 };
        let story = vec![joined(), refused(Call::Poll, 502, ""), refused(Call::Poll, 500, ""), entered()];
        check(BuyerKind::Stays, story, &[unnamed]);
    }

    #[test]
    fn a_number_given_twice_is_found() {
        let buyer = |id, number| Buyer {
            id,
            kind: BuyerKind::Leaves,
            seen: vec![seen(0, Call::Join, Fact::Holds(place(number)))],
        };
        assert_eq!(reissued(&[buyer(1, 5), buyer(2, 6)]), []);
        let twice = Violation::NumberReissued { place: place(5), buyers: [1, 3] };
        assert_eq!(reissued(&[buyer(1, 5), buyer(2, 6), buyer(3, 5)]), [twice]);
    }
}
