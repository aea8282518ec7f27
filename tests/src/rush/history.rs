//! What the buyers saw and what the shop accepted: all that the checks look at.

use crate::shop::ledger::LogEntry;
use shared::ids::Place;
use shared::token::PassId;

/// One rush, from outside. Times are milliseconds since 1970 on one clock.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Seed that repeats the rush.
    pub seed: u64,
    /// The gated event.
    pub event: String,
    /// Most sessions at once.
    pub capacity: usize,
    pub buyers: Vec<Buyer>,
    /// The shop's own log, in the order of acceptance.
    pub shop_log: Vec<LogEntry>,
    /// When the queue server was stopped on purpose: from, to.
    pub outages: Vec<(u64, u64)>,
}

/// One buyer (one device, one address) and everything they were told.
#[derive(Clone, Debug)]
pub struct Buyer {
    pub id: u32,
    pub kind: BuyerKind,
    pub seen: Vec<Seen>,
}

/// How a buyer behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuyerKind {
    /// Polls as told until bought.
    Stays,
    /// Joins, then goes away without a word.
    Leaves,
    /// Asks as fast as it can.
    Bot,
}

/// One answer, or one fact in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub sent_ms: u64,
    pub answered_ms: u64,
    pub call: Call,
    pub fact: Fact,
}

/// What the buyer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    AddToCart,
    Join,
    Poll,
    Redeem,
    /// Redeems a ticket whose session has ended: must be refused.
    RedeemAgain,
    Renew,
    CheckOut,
}

/// What the answer said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The buyer holds this place.
    Holds(Place),
    /// Still in line, with so many people ahead and between so many seconds to go.
    Waiting {
        position: u64,
        eta_s: Option<(u64, u64)>,
    },
    /// The turn has come.
    Called,
    /// The pass of this place was handed out.
    Entered(Place),
    InCart,
    Bought,
    /// A refusal and its reason code; empty where the answer had none.
    Refused {
        status: u16,
        code: String,
    },
    /// No answer came.
    Unreached,
}

impl History {
    /// Whether `t_ms` falls into an outage or the `after_ms` that follow it.
    pub fn disturbed(&self, t_ms: u64, after_ms: u64) -> bool {
        self.outages.iter().any(|&(from, to)| (from..=to.saturating_add(after_ms)).contains(&t_ms))
    }
}

/// The place of the session that a `jti` names, if it is of this event.
pub fn place_of(jti: &str, event: &str) -> Option<Place> {
    let id = PassId::parse(jti).ok()?;
    (id.event.as_str() == event).then_some(id.place)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use shared::ids::{Epoch, LaneId, TicketNumber};

    /// The place with this number in the first lane.
    pub(in crate::rush) fn place(number: u64) -> Place {
        Place { epoch: Epoch(1), lane: LaneId(0), number: TicketNumber(number) }
    }

    /// A fact that took no time to learn.
    pub(in crate::rush) fn seen(t_ms: u64, call: Call, fact: Fact) -> Seen {
        Seen { sent_ms: t_ms, answered_ms: t_ms, call, fact }
    }

    #[test]
    fn a_jti_names_a_place_of_one_event() {
        let place = Place { epoch: Epoch(2), lane: LaneId(1), number: TicketNumber(352) };
        assert_eq!(place_of("drop:2:1:352", "drop"), Some(place));
        assert_eq!(place_of("drop-2:2:1:352", "drop"), None);
    }

    #[test]
    fn an_outage_ends_after_its_aftermath() {
        let history = History { outages: vec![(10, 20)], ..History::default() };
        let disturbed: Vec<_> = [9, 10, 20, 25, 26].iter().map(|t| history.disturbed(*t, 5)).collect();
        assert_eq!(disturbed, [false, true, true, true, false]);
    }
}
