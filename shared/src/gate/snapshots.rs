//! When an isolate renews its copy of a room's snapshot.

use super::renewal::{Look, Renewal};
use crate::room::STALE_AFTER;
use crate::time::Timestamp;
use crate::wire::Snapshot;
use core::time::Duration;
use std::sync::Arc;

/// A snapshot younger than this is used without asking for a newer one.
pub const SNAPSHOT_FRESH_FOR: Duration = Duration::from_secs(1);

/// After this time without any renewal, well or not, requests wait for the next: an isolate that wakes from a pause does not
/// show people a place that they left long ago.
pub const SNAPSHOT_IDLE_AFTER: Duration = Duration::from_secs(3);

/// Some edge may still answer from the oldest of so many snapshots, which are a second apart: it renews its own once a second,
/// gets one that is as old again, and waits for a slow reply.
pub const SNAPSHOTS_IN_USE: usize = 4;

/// How long the last good snapshot is kept.
pub const SNAPSHOT_KEPT_FOR: Duration = Duration::from_hours(24);

/// One isolate's copy of the snapshot of one event.
#[derive(Clone, Debug)]
pub struct SnapshotSlot {
    held: Option<Held>,
    renewal: Renewal,
}

#[derive(Clone, Debug)]
struct Held {
    snapshot: Arc<Snapshot>,
    json: Arc<str>,
    /// When a later one than before came last: while the room's clock stands still, nothing is later.
    moved_at: Timestamp,
}

impl Default for SnapshotSlot {
    fn default() -> Self {
        Self { held: None, renewal: Renewal::new(SNAPSHOT_FRESH_FOR, SNAPSHOT_IDLE_AFTER) }
    }
}

impl SnapshotSlot {
    /// What to do at `now`. [`Look::UseAndRenew`] and [`Look::Fetch`] mark a renewal as begun: whoever gets them performs it.
    pub fn look(&mut self, now: Timestamp) -> Look {
        self.forget_outlived(now);
        self.renewal.look(now)
    }

    /// The renewal that began at `began` has ended at `now`, well or not. One that was taken over says nothing.
    pub fn renewal_ended(&mut self, began: Timestamp, now: Timestamp) {
        self.renewal.ended(began, now);
    }

    /// Takes a snapshot and its JSON text, unless a later one (by epoch and tick) is held.
    pub fn take(&mut self, snapshot: Snapshot, json: &str, now: Timestamp) {
        let order = |snapshot: &Snapshot| (snapshot.epoch, snapshot.tick);
        let moved_at = match &self.held {
            Some(held) if order(&held.snapshot) > order(&snapshot) => return,
            Some(held) if order(&held.snapshot) == order(&snapshot) => held.moved_at,
            _ => now,
        };
        self.held = Some(Held { snapshot: Arc::new(snapshot), json: json.into(), moved_at });
        self.renewal.took(now);
    }

    /// The queue server gave a place in line instead of a pass: until the next snapshot says otherwise, no session is free.
    pub fn note_line(&mut self) {
        if let Some(held) = &mut self.held
            && held.snapshot.session_free
        {
            Arc::make_mut(&mut held.snapshot).session_free = false;
        }
    }

    /// The snapshot.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.held.as_ref().map(|held| Arc::clone(&held.snapshot))
    }

    /// The queue server's time, as the last snapshot and the time since then tell it: this isolate's clock may differ from
    /// it. `now` where there is no snapshot.
    pub fn server_time(&self, now: Timestamp) -> Timestamp {
        let Some(held) = &self.held else { return now };
        Timestamp::from_millis(held.snapshot.server_time_ms).saturating_add(now.since(held.moved_at))
    }

    /// The room's clock has stood still for so long that the queue server, or its store, must be out of reach.
    pub fn is_server_away(&self, now: Timestamp) -> bool {
        self.held.as_ref().is_some_and(|held| now.since(held.moved_at) > STALE_AFTER)
    }

    /// The snapshot as the queue server wrote it.
    pub fn json(&self) -> Option<Arc<str>> {
        self.held.as_ref().map(|held| Arc::clone(&held.json))
    }

    fn forget_outlived(&mut self, now: Timestamp) {
        if self.renewal.taken_at().is_some_and(|taken_at| now.since(taken_at) > SNAPSHOT_KEPT_FOR) {
            self.held = None;
            self.renewal.lost();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Epoch, EventId};
    use crate::wire::Phase;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(1_000_000_u64.saturating_add(millis))
    }

    fn snapshot(epoch: u16, tick: u64) -> Snapshot {
        Snapshot {
            v: 1,
            event: EventId::parse("drop").unwrap(),
            epoch: Epoch(epoch),
            tick,
            phase: Phase::Open,
            server_time_ms: 0,
            redeemable_time_s: 0,
            lanes: Vec::new(),
            session_free: true,
            turn_grace_s: 300,
            poll_budget_per_s: 1000,
            ended_seq: 0,
            reason: None,
            message: None,
            everyone_in: false,
        }
    }

    fn held(now: Timestamp) -> SnapshotSlot {
        let mut slot = SnapshotSlot::default();
        assert_eq!(slot.look(now), Look::Fetch);
        slot.take(snapshot(1, 1), "{}", now);
        slot.renewal_ended(now, now);
        slot
    }

    #[test]
    fn one_request_a_second_renews() {
        let mut slot = held(at(0));
        assert_eq!(slot.look(at(999)), Look::Use);
        assert_eq!(slot.look(at(1_000)), Look::UseAndRenew);
        assert_eq!(slot.look(at(1_000)), Look::Use);
        slot.renewal_ended(at(1_000), at(1_400));
        assert_eq!(slot.look(at(2_399)), Look::Use);
        assert_eq!(slot.look(at(2_400)), Look::UseAndRenew);
    }

    #[test]
    fn a_renewal_that_was_cut_off_is_taken_over_after_two_seconds() {
        let mut slot = held(at(0));
        assert_eq!(slot.look(at(1_000)), Look::UseAndRenew);
        assert_eq!(slot.look(at(2_999)), Look::Use);
        assert_eq!(slot.look(at(3_000)), Look::UseAndRenew);
        // The one that was thought dead comes back: it neither ends nor delays the new one.
        slot.renewal_ended(at(1_000), at(3_100));
        assert_eq!(slot.look(at(4_500)), Look::Use);
    }

    #[test]
    fn without_any_snapshot_one_request_fetches_and_the_others_look_again() {
        let mut slot = SnapshotSlot::default();
        assert_eq!(slot.look(at(0)), Look::Fetch);
        assert_eq!(slot.look(at(1_999)), Look::LookAgain);
        slot.renewal_ended(at(0), at(1_999));
        assert_eq!(slot.look(at(2_998)), Look::Missing);
        assert_eq!(slot.look(at(2_999)), Look::Fetch);
    }

    #[test]
    fn the_last_good_snapshot_is_kept_for_a_day() {
        let day = 24 * 3_600 * 1_000;
        let mut slot = held(at(0));
        assert_eq!(slot.look(at(day)), Look::Fetch);
        slot.renewal_ended(at(day), at(day));
        assert_eq!(slot.look(at(day)), Look::Use);
        assert_eq!(slot.look(at(day.saturating_add(1))), Look::Missing);
        assert_eq!(slot.snapshot(), None);
    }

    #[test]
    fn an_earlier_snapshot_is_ignored() {
        let mut slot = held(at(0));
        let check = |slot: &mut SnapshotSlot, offered: (u16, u64), kept: (u16, u64)| {
            slot.take(snapshot(offered.0, offered.1), "{}", at(1));
            let held = slot.snapshot().unwrap();
            assert_eq!((held.epoch.0, held.tick), kept);
        };
        check(&mut slot, (1, 5), (1, 5));
        check(&mut slot, (1, 4), (1, 5));
        check(&mut slot, (2, 1), (2, 1));
        check(&mut slot, (1, 9), (2, 1));
    }

    #[test]
    fn a_clock_that_steps_back_stops_no_renewal() {
        let mut slot = held(at(5_000));
        assert_eq!(slot.look(at(0)), Look::Fetch);
    }

    #[test]
    fn after_a_pause_nobody_is_answered_before_a_renewal() {
        let mut slot = held(at(0));
        assert_eq!(slot.look(at(3_000)), Look::Fetch);
        assert_eq!(
            slot.look(at(3_100)),
            Look::LookAgain,
            "who comes with them is not shown the old line either"
        );
        slot.renewal_ended(at(3_000), at(3_200));
        assert_eq!(slot.look(at(3_201)), Look::Use, "a server that is away holds nobody up twice");
        let mut slot = held(at(0));
        assert_eq!(slot.look(at(2_999)), Look::UseAndRenew);
    }

    #[test]
    fn a_renewal_after_a_pause_that_was_cut_off_is_waited_for_once() {
        let mut slot = held(at(0));
        assert_eq!(slot.look(at(3_000)), Look::Fetch);
        assert_eq!(slot.look(at(4_999)), Look::LookAgain);
        assert_eq!(slot.look(at(5_000)), Look::UseAndRenew);
        assert_eq!(slot.look(at(5_001)), Look::Use);
    }

    #[test]
    fn a_server_that_does_not_answer_makes_nobody_wait_while_requests_come() {
        let mut slot = held(at(0));
        for began in [1_000, 4_000, 7_000, 10_000] {
            assert_eq!(slot.look(at(began)), Look::UseAndRenew);
            assert_eq!(slot.look(at(began + 1_999)), Look::Use);
            slot.renewal_ended(at(began), at(began + 2_000));
            assert_eq!(slot.look(at(began + 2_999)), Look::Use);
        }
    }

    #[test]
    fn a_line_is_remembered_until_the_next_snapshot() {
        let mut slot = held(at(0));
        slot.note_line();
        assert!(!slot.snapshot().unwrap().session_free);
        slot.take(snapshot(1, 2), "{}", at(1_000));
        assert!(slot.snapshot().unwrap().session_free);
    }
}
