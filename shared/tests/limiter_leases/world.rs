//! Nodes with leases around one home, on one real time.

use shared::limiter::check::{Charge, CheckRequest};
use shared::limiter::home::{Ask, HomeReply, HomeRequest, REFUNDS_MAX};
use shared::limiter::key::{Key, KeyHash, TableSeed};
use shared::limiter::lease::{Grant, LEASE_LIFE, LeaseBook};
use shared::limiter::table::LimiterTable;
use shared::limiter::{Cost, Decision, Policy, PolicySettings};
use shared::time::Timestamp;
use std::time::Duration;

pub(crate) const SEED: TableSeed = TableSeed([7; 16]);

/// A round minute, far from 1970.
pub(crate) const START_US: u64 = 1_764_480_000_000_000;

pub(crate) fn key(nth: usize) -> KeyHash {
    Key { service: "alpha", action: "shop", identity: &nth.to_be_bytes() }.hash().unwrap()
}

pub(crate) fn gcra(burst_capacity: Cost, rate: u64, period_us: u64) -> Policy {
    PolicySettings::Gcra { burst_capacity, rate, period_us }.try_into().unwrap()
}

pub(crate) fn window(limit: Cost, window_us: u64) -> Policy {
    PolicySettings::FixedWindow { limit, window_us, aligned: true }.try_into().unwrap()
}

pub(crate) fn at(micros: u64) -> Timestamp {
    Timestamp::from_micros(START_US + micros)
}

/// One home and its nodes, on one real time; each node has a clock of its own.
pub(crate) struct World {
    pub(crate) now_us: u64,
    pub(crate) table: LimiterTable,
    pub(crate) nodes: Vec<Node>,
    /// When so much passed, by real time.
    pub(crate) passed: Vec<(u64, Cost)>,
    pub(crate) calls: usize,
}

#[derive(Default)]
pub(crate) struct Node {
    pub(crate) book: LeaseBook,
    pub(crate) clock_offset_us: i64,
}

impl Node {
    pub(crate) fn clock(&self, now_us: u64) -> Timestamp {
        Timestamp::from_micros((START_US + now_us).saturating_add_signed(self.clock_offset_us))
    }
}

impl World {
    pub(crate) fn new(nodes: usize) -> Self {
        let nodes = (0..nodes).map(|_| Node::default()).collect();
        Self { now_us: 0, table: LimiterTable::new(64, SEED), nodes, passed: Vec::new(), calls: 0 }
    }

    /// What a node does with one request, as the Worker does it; the way to the home and back takes `way_us` each.
    pub(crate) fn ask(&mut self, node: usize, charges: &[Charge], way_us: u64) -> Vec<Decision> {
        let asked_at = self.nodes[node].clock(self.now_us);
        let book = &mut self.nodes[node].book;
        book.note(charges, asked_at);
        if let Some(taken) = book.take(charges, asked_at) {
            return self.noted(charges, taken.decisions);
        }
        self.calls += 1;
        let refunds = book.returns(asked_at, REFUNDS_MAX);
        let wanted = book.wanted(charges, asked_at);
        let check = CheckRequest::new(charges.to_vec()).unwrap();
        let asks = vec![Ask { wanted, ..Ask::binding(check) }];
        let call = HomeRequest { refunds, asks, ..HomeRequest::default() };
        let call = HomeRequest::from_bytes(&call.to_bytes().unwrap()).unwrap();
        self.now_us += way_us;
        let reply = call.answer(&mut self.table, at(self.now_us));
        let mut reply = HomeReply::from_bytes(&reply.to_bytes().unwrap(), &call).unwrap();
        let reply = reply.answers.remove(0);
        if reply.check.refusal().is_none() {
            self.passed.push((self.now_us, charges[0].cost));
        }
        self.now_us += way_us;
        let back_at = self.nodes[node].clock(self.now_us);
        let book = &mut self.nodes[node].book;
        for (charge, grant) in charges.iter().zip(reply.grants) {
            book.hold(charge, grant, asked_at, back_at);
        }
        if reply.check.refusal().is_some()
            && let Some(taken) = book.take(charges, back_at)
        {
            return self.noted(charges, taken.decisions);
        }
        reply.check.decisions
    }

    pub(crate) fn noted(&mut self, charges: &[Charge], decisions: Vec<Decision>) -> Vec<Decision> {
        self.passed.push((self.now_us, charges[0].cost));
        decisions
    }

    pub(crate) fn total(&self) -> Cost {
        self.passed.iter().map(|(_, cost)| cost).sum()
    }
}

pub(crate) fn passes(decisions: &[Decision]) -> bool {
    decisions.iter().all(Decision::is_allowed)
}

/// A charge, and a lease of 10 for its key, taken at the start.
pub(crate) fn held() -> (Charge, Grant) {
    let charge = Charge::new(gcra(100, 100, 1_000_000), key(0), 1);
    let grant = Grant {
        cost: 10,
        taken_at: at(0),
        life: LEASE_LIFE,
        remaining: 50,
        reset_after: Duration::from_millis(500),
    };
    (charge, grant)
}
