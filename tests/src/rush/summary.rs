//! The figures of a rush, from its history.

use super::check::check;
use super::history::{Buyer, BuyerKind, Call, Fact, History, Seen};
use super::order::Order;
use super::sessions::Sessions;
use super::violation::Violation;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a rush showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub seed: u64,
    pub seconds: f64,
    pub joined: usize,
    pub redeemed: usize,
    /// By the shop's log.
    pub bought: usize,
    pub refused_by_reason: BTreeMap<String, usize>,
    pub unreached: usize,
    /// By the shop's log.
    pub most_sessions: usize,
    pub capacity: usize,
    pub positions_risen: usize,
    pub numbers_twice: usize,
    pub stayed_outside: usize,
    pub pairs: u64,
    pub inversions: u64,
    pub most_overtakes: usize,
    /// The first that each buyer was told.
    pub first_eta: Eta,
    /// Every one that was told.
    pub every_eta: Eta,
    pub requests: u64,
    pub polls: u64,
    pub requests_per_s: f64,
    /// The queue server's own count, by route.
    pub server_requests: BTreeMap<String, u64>,
    pub server_requests_per_poll: f64,
    pub violations: Vec<String>,
    /// What of the rush is missing, because a part ended in the midst of it: then nothing was proved.
    pub missing: Vec<String>,
}

/// How true the told waits were, over buyers who polled as told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Eta {
    pub told: usize,
    /// Waits that ended within the range.
    pub within: usize,
    pub shorter: usize,
    pub longer: usize,
    /// Mean distance of the wait from the middle of its range.
    pub mean_error_s: f64,
    pub mean_wait_s: f64,
}

/// What was counted outside the history.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    pub seconds: f64,
    pub requests: u64,
    pub polls: u64,
    pub server_requests: BTreeMap<String, u64>,
    pub missing: Vec<String>,
}

impl Summary {
    /// Figures and broken promises of `history`.
    pub fn of(history: &History, counted: Counted) -> Self {
        let violations = check(history);
        let sessions = Sessions::of(&history.shop_log, &history.event);
        let order = Order::of(history);
        let counts = |which: fn(&Violation) -> bool| violations.iter().filter(|found| which(found)).count();
        let of_polls =
            counted.server_requests.iter().filter(|(route, _)| POLL_ROUTES.contains(&route.as_str()));
        let of_polls: u64 = of_polls.map(|(_, count)| count).sum();
        Self {
            seed: history.seed,
            seconds: counted.seconds,
            joined: buyers_with(history, |fact| matches!(fact, Fact::Holds(_) | Fact::Entered(_))),
            redeemed: buyers_with(history, |fact| matches!(fact, Fact::Entered(_))),
            bought: sessions.bought,
            refused_by_reason: refused(history),
            unreached: facts(history).filter(|seen| seen.fact == Fact::Unreached).count(),
            most_sessions: sessions.most,
            capacity: history.capacity,
            positions_risen: counts(|found| matches!(found, Violation::PositionRose { .. })),
            numbers_twice: counts(|found| matches!(found, Violation::NumberReissued { .. })),
            stayed_outside: counts(|found| matches!(found, Violation::StayedOutside { .. })),
            pairs: order.pairs,
            inversions: order.inverted,
            most_overtakes: order.worst,
            first_eta: Eta::of(history, 1),
            every_eta: Eta::of(history, usize::MAX),
            requests: counted.requests,
            polls: counted.polls,
            requests_per_s: ratio(counted.requests, counted.seconds),
            server_requests_per_poll: ratio(of_polls, float(counted.polls)),
            server_requests: counted.server_requests,
            violations: violations.iter().map(ToString::to_string).collect(),
            missing: counted.missing,
        }
    }

    /// Share of pairs that entered the wrong way round.
    pub fn inversion_share(&self) -> f64 {
        ratio(self.inversions, float(self.pairs))
    }
}

impl Eta {
    /// Compares the first `most` waits that each buyer was told with the true ones.
    fn of(history: &History, most: usize) -> Self {
        let mut eta = Self::default();
        let stayed = history.buyers.iter().filter(|buyer| buyer.kind == BuyerKind::Stays);
        for (low_s, high_s, wait_s) in stayed.flat_map(|buyer| told_waits(buyer).take(most)) {
            eta.told += 1;
            // The range is in whole seconds, and a poll tells of the turn up to a second late.
            eta.shorter += usize::from(wait_s + 1.0 < low_s);
            eta.longer += usize::from(wait_s > high_s + 1.0);
            eta.mean_error_s += (wait_s - f64::midpoint(low_s, high_s)).abs();
            eta.mean_wait_s += wait_s;
        }
        eta.within = eta.told - eta.shorter - eta.longer;
        let told = float(eta.told as u64).max(1.0);
        eta.mean_error_s /= told;
        eta.mean_wait_s /= told;
        eta
    }
}

/// Each told range and the true wait from then until the turn, in seconds.
fn told_waits(buyer: &Buyer) -> impl Iterator<Item = (f64, f64, f64)> {
    let turn = buyer.seen.iter().find(|seen| matches!(seen.fact, Fact::Called | Fact::Entered(_)));
    let turn_ms = turn.map(|seen| seen.answered_ms);
    buyer.seen.iter().filter_map(move |seen| {
        let Fact::Waiting { eta_s: Some((low_s, high_s)), .. } = seen.fact else { return None };
        let wait_ms = turn_ms?.checked_sub(seen.answered_ms)?;
        Some((float(low_s), float(high_s), float(wait_ms) / 1000.0))
    })
}

fn facts(history: &History) -> impl Iterator<Item = &Seen> {
    history.buyers.iter().flat_map(|buyer| &buyer.seen)
}

fn buyers_with(history: &History, which: impl Fn(&Fact) -> bool) -> usize {
    history.buyers.iter().filter(|buyer| buyer.seen.iter().any(|seen| which(&seen.fact))).count()
}

fn refused(history: &History) -> BTreeMap<String, usize> {
    let mut reasons = BTreeMap::new();
    for seen in facts(history) {
        if let Fact::Refused { code, .. } = &seen.fact {
            let again = if seen.call == Call::RedeemAgain { " (after the end)" } else { "" };
            *reasons.entry(format!("{code}{again}")).or_default() += 1;
        }
    }
    reasons
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn float(count: u64) -> f64 {
    count as f64
}

fn ratio(count: u64, of: f64) -> f64 {
    if of > 0.0 { float(count) / of } else { 0.0 }
}

/// What polls could cost the queue server: snapshots, the feed beside them, and polls that came through.
const POLL_ROUTES: [&str; 3] = ["snapshot", "ended", "status"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rush::history::tests::{place, seen};

    #[test]
    fn told_waits_are_compared_with_the_true_ones() {
        let buyer = |id, called_ms| Buyer {
            id,
            kind: BuyerKind::Stays,
            seen: vec![
                seen(1_000, Call::Join, Fact::Holds(place(u64::from(id)))),
                seen(1_000, Call::Join, Fact::Waiting { position: 3, eta_s: Some((10, 20)) }),
                seen(2_000, Call::Poll, Fact::Waiting { position: 2, eta_s: Some((1, 2)) }),
                seen(called_ms, Call::Poll, Fact::Called),
            ],
        };
        let buyers = vec![buyer(1, 16_000), buyer(2, 9_000), buyer(3, 31_000), buyer(4, 22_001)];
        let history = History { buyers, ..History::default() };
        let eta = Eta::of(&history, 1);
        assert_eq!((eta.told, eta.within, eta.shorter, eta.longer), (4, 1, 1, 2));
        assert!((eta.mean_wait_s - (15.0 + 8.0 + 30.0 + 21.001) / 4.0).abs() < 1e-9);
        assert!((eta.mean_error_s - (0.0 + 7.0 + 15.0 + 6.001) / 4.0).abs() < 1e-9);
        let every = Eta::of(&history, usize::MAX);
        assert_eq!((every.told, every.within, every.longer), (8, 1, 6));
    }

    #[test]
    fn joins_and_reports_are_no_cost_of_polls() {
        let routes = [("join", 50), ("report", 40), ("snapshot", 30), ("ended", 20), ("metrics", 9)];
        let server_requests = routes.iter().map(|(route, n)| ((*route).to_owned(), *n)).collect();
        let counted =
            Counted { seconds: 2.0, requests: 400, polls: 200, server_requests, ..Counted::default() };
        let summary = Summary::of(&History::default(), counted);
        assert!((summary.server_requests_per_poll - 0.25).abs() < 1e-9);
        assert!((summary.requests_per_s - 200.0).abs() < 1e-9);
    }
}
