//! Whether every promise was kept: a history in, violations out.

use super::history::{Fact, History};
use super::order::Order;
use super::places;
use super::sessions::Sessions;
use super::violation::Violation;
use std::collections::BTreeSet;

/// Everything in `history` that breaks a promise.
pub fn check(history: &History) -> Vec<Violation> {
    let sessions = Sessions::of(&history.shop_log, &history.event);
    let mut found = sessions.violations(history, &given(history));
    found.extend(places::reissued(&history.buyers));
    found.extend(history.buyers.iter().flat_map(|buyer| places::violations_of(buyer, history)));
    found.extend(Order::of(history).violations);
    found
}

/// The sessions that buyers were given, as `jti`.
fn given(history: &History) -> BTreeSet<String> {
    let seen = history.buyers.iter().flat_map(|buyer| &buyer.seen);
    let entered = seen.filter_map(|seen| match seen.fact {
        Fact::Entered(place) => Some(place),
        _ => None,
    });
    let event = &history.event;
    let jti =
        |place: shared::ids::Place| format!("{event}:{}:{}:{}", place.epoch.0, place.lane.0, place.number.0);
    entered.map(jti).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rush::history::tests::{place, seen};
    use crate::rush::history::{Buyer, BuyerKind, Call};
    use crate::shop::ledger::{Kind, LogEntry};

    fn add(number: u64) -> LogEntry {
        LogEntry {
            t_ms: number,
            shop: "alpha".to_owned(),
            jti: Some(format!("drop:1:0:{number}")),
            exp_s: Some(1_000),
            sku: "A-1".to_owned(),
            quantity: 1,
            kind: Kind::Add,
        }
    }

    fn story(kind: BuyerKind, number: u64) -> Buyer {
        let holds = seen(0, Call::Join, Fact::Holds(place(number)));
        let entered = seen(number, Call::Redeem, Fact::Entered(place(number)));
        Buyer { id: u32::try_from(number).unwrap(), kind, seen: vec![holds, entered] }
    }

    #[test]
    fn each_part_reports() {
        let mut history = History {
            event: "drop".to_owned(),
            capacity: 2,
            buyers: vec![story(BuyerKind::Stays, 1), story(BuyerKind::Stays, 2)],
            shop_log: vec![add(1), add(2)],
            ..History::default()
        };
        assert_eq!(check(&history), []);

        history.shop_log.push(add(3));
        history.buyers.push(Buyer { id: 2, ..story(BuyerKind::Stays, 1) });
        history.buyers[0].seen.truncate(1);
        let names: Vec<String> = check(&history).iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "3 sessions at once, capacity 2, when drop:1:0:3 came at 3 ms",
                "session drop:1:0:3: in the shop, given to nobody",
                "ticket 1:0:1: given to buyer 1 and to buyer 2",
                "buyer 1, ticket 1:0:1: stayed and never got in",
            ]
        );
    }
}
