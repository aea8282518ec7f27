//! Rooms of several servers on real Redis: parity with a room in memory, take-over, a leader that was stopped, failovers,
//! replicas that do not confirm. Nothing that a buyer was told is taken back.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod backup;
mod failover;
mod format;
mod forward;
#[path = "../../../queue-server/tests/stores/history.rs"]
mod history;
mod logs;
mod moving;
mod parity;
mod restore;
mod secure;
mod takeover;
mod traces;
mod troubles;

use shared::room::{LaneSettings, RoomSettings};
use shared::wire::Phase;
use std::time::Duration;

/// A small room, so that short histories meet its limits.
pub(crate) fn settings() -> RoomSettings {
    let lane = |name: &str, weight| LaneSettings::weighing(name, weight);
    RoomSettings {
        capacity: 3,
        admission_rate_per_s: 5,
        turn_grace: Duration::from_secs(10),
        pass_life: Duration::from_secs(10),
        session_max: Duration::from_secs(30),
        poll_budget_per_s: 100,
        session_extensions_max: 10,
        sessions_per_buyer: None,
        remembers_devices: true,
        phase: Phase::Open,
        opens_at: None,
        closes_at: None,
        lanes: vec![lane("guest", 1), lane("member", 3)],
    }
}
