//! Sessions as the shop's log tells them.

use super::history::{History, place_of};
use super::violation::Violation;
use crate::shop::ledger::{Kind, LogEntry};
use std::collections::{BTreeMap, BTreeSet};

/// What the shop's log says about the sessions of one event.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sessions {
    /// Most sessions at once.
    pub most: usize,
    /// When that was, and the session that made it so.
    pub most_at: Option<(u64, String)>,
    /// Sessions that bought.
    pub bought: usize,
    /// Passes used after their session's end: session, milliseconds after.
    pub used_after_end: Vec<(String, u64)>,
    /// Every session that ever put something into a cart.
    pub all: BTreeSet<String>,
}

impl Sessions {
    /// Walks the log once. A session lasts from its first add-to-cart until it finishes or its last seen pass runs out.
    pub fn of(log: &[LogEntry], event: &str) -> Self {
        let mut sessions = Self::default();
        let mut open: BTreeMap<&str, u64> = BTreeMap::new();
        let mut ended: BTreeMap<&str, u64> = BTreeMap::new();
        for entry in log {
            let Some(jti) = entry.jti.as_deref().filter(|jti| place_of(jti, event).is_some()) else {
                continue;
            };
            match (entry.kind, ended.get(jti)) {
                (Kind::Finish, _) => {
                    open.remove(jti);
                    ended.insert(jti, entry.t_ms);
                }
                (Kind::Add, Some(end_ms)) => {
                    let after_ms = entry.t_ms.saturating_sub(*end_ms);
                    sessions.used_after_end.push((jti.to_owned(), after_ms));
                }
                (Kind::Add, None) => {
                    open.retain(|_, ends_ms| *ends_ms > entry.t_ms);
                    let ends_ms = entry.exp_s.map_or(u64::MAX, |s| s.saturating_mul(1000));
                    open.insert(jti, ends_ms);
                    sessions.all.insert(jti.to_owned());
                    if open.len() > sessions.most {
                        sessions.most = open.len();
                        sessions.most_at = Some((entry.t_ms, jti.to_owned()));
                    }
                }
            }
        }
        sessions.bought = ended.len();
        sessions
    }

    /// What of this breaks a promise; `known` are the sessions that buyers were given.
    pub fn violations(&self, history: &History, known: &BTreeSet<String>) -> Vec<Violation> {
        let mut found = Vec::new();
        if let Some((at_ms, jti)) = self.most_at.clone().filter(|_| self.most > history.capacity) {
            let (most, capacity) = (self.most, history.capacity);
            found.push(Violation::OverCapacity { most, capacity, at_ms, jti });
        }
        let late = self.used_after_end.iter().filter(|(_, after_ms)| *after_ms > ENDED_FEED_MS);
        found.extend(
            late.map(|(jti, after_ms)| Violation::UsedAfterEnd { jti: jti.clone(), after_ms: *after_ms }),
        );
        let strangers = self.all.difference(known);
        found.extend(strangers.map(|jti| Violation::Stranger { jti: jti.clone() }));
        found
    }
}

/// The edges learn of an ended session within a second, and take it up with the next renewal of the snapshot.
const ENDED_FEED_MS: u64 = 2_500;

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(t_ms: u64, number: u64, kind: Kind) -> LogEntry {
        LogEntry {
            t_ms,
            shop: "alpha".to_owned(),
            jti: Some(format!("drop:1:0:{number}")),
            exp_s: Some(100),
            sku: "A-1".to_owned(),
            quantity: 1,
            kind,
        }
    }

    #[test]
    fn a_session_frees_its_room_when_it_finishes() {
        let log = [
            entry(1, 1, Kind::Add),
            entry(2, 2, Kind::Add),
            entry(3, 2, Kind::Add),
            entry(3, 1, Kind::Finish),
            entry(3, 3, Kind::Add),
        ];
        let sessions = Sessions::of(&log, "drop");
        assert_eq!((sessions.most, sessions.bought), (2, 1));
        assert_eq!(Sessions::of(&log, "other").most, 0);
    }

    #[test]
    fn a_session_frees_its_room_when_its_pass_runs_out() {
        let log = [entry(1, 1, Kind::Add), entry(100_000, 2, Kind::Add)];
        assert_eq!(Sessions::of(&log, "drop").most, 1);
        let log = [entry(1, 1, Kind::Add), entry(99_999, 2, Kind::Add)];
        assert_eq!(Sessions::of(&log, "drop").most, 2);
    }

    #[test]
    fn one_session_too_many_is_found() {
        let log = [entry(1, 1, Kind::Add), entry(2, 2, Kind::Add), entry(3, 3, Kind::Add)];
        let known = Sessions::of(&log, "drop").all;
        let found = |capacity| {
            let history = History { capacity, ..History::default() };
            Sessions::of(&log, "drop").violations(&history, &known)
        };
        assert_eq!(found(3), []);
        let jti = "drop:1:0:3".to_owned();
        assert_eq!(found(2), [Violation::OverCapacity { most: 3, capacity: 2, at_ms: 3, jti }]);
    }

    #[test]
    fn a_pass_used_long_after_its_end_is_found() {
        let found = |after_ms| {
            let log = [entry(1, 1, Kind::Add), entry(2, 1, Kind::Finish), entry(2 + after_ms, 1, Kind::Add)];
            let sessions = Sessions::of(&log, "drop");
            let history = History { capacity: 1, ..History::default() };
            sessions.violations(&history, &sessions.all)
        };
        assert_eq!(found(ENDED_FEED_MS), []);
        let after_ms = ENDED_FEED_MS + 1;
        assert_eq!(found(after_ms), [Violation::UsedAfterEnd { jti: "drop:1:0:1".to_owned(), after_ms }]);
    }

    #[test]
    fn a_session_of_nobody_is_found() {
        let sessions = Sessions::of(&[entry(1, 1, Kind::Add)], "drop");
        let history = History { capacity: 1, ..History::default() };
        let jti = "drop:1:0:1".to_owned();
        assert_eq!(sessions.violations(&history, &BTreeSet::new()), [Violation::Stranger { jti }]);
    }
}
