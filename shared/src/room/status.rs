//! What one ticket's owner is told, from the snapshot alone: the Worker and the queue server share this rule.

use crate::{
    ids::{Place, TicketNumber},
    time::Timestamp,
    wire::{EtaRange, LaneSnapshot, Snapshot, Status, TicketState},
};
use core::time::Duration;

/// A snapshot older than this no longer tells where the line stands; clients say "paused".
pub const STALE_AFTER: Duration = Duration::from_secs(10);

const POLL_MIN_MS: u64 = 5_000;
const POLL_MAX_MS: u64 = 300_000;
/// People this close to their turn ask at the shortest interval, whatever the budget.
const NEAR_S: u64 = 60;

/// The personal status of `place`; `None` where the ticket is of another epoch or lane, so that it is void.
pub fn status(snapshot: &Snapshot, place: Place, now: Timestamp) -> Option<Status> {
    let lane = snapshot.lanes.iter().find(|lane| lane.lane == place.lane)?;
    if place.epoch != snapshot.epoch || place.number == TicketNumber(0) {
        return None;
    }
    let age = now.since(Timestamp::from_millis(snapshot.server_time_ms));
    let state = state_of(lane, place.number);
    let waiting = state == TicketState::Waiting;
    let position = place.number.0.saturating_sub(lane.serving_number.0).saturating_sub(1);
    let eta = eta(lane, position);
    Some(Status {
        event: snapshot.event.clone(),
        state,
        lane: lane.name.clone(),
        ticket_number: place.number,
        position: waiting.then_some(position),
        eta: waiting.then_some(eta),
        moved_at_ms: lane.moved_at_ms,
        next_poll_ms: next_poll_ms(snapshot, lane, place.number, waiting.then_some(eta)),
        phase: snapshot.phase,
        reason: snapshot.reason.clone(),
        message: snapshot.message.clone(),
        stale: age > STALE_AFTER,
    })
}

fn state_of(lane: &LaneSnapshot, number: TicketNumber) -> TicketState {
    if number > lane.serving_number {
        TicketState::Waiting
    } else if number > lane.turn_end_number {
        TicketState::Called
    } else {
        TicketState::Late
    }
}

/// `position / speed`, less and more by the pace's error; the upper end also carries the time between two polls.
fn eta(lane: &LaneSnapshot, position: u64) -> EtaRange {
    let spread = u64::from(lane.speed_error_pct).saturating_add(100);
    let milli = position.saturating_add(1).saturating_mul(1_000);
    let at_speed = |milli: u64, speed: u64| if speed == 0 { ETA_MAX_S } else { milli.div_ceil(speed).min(ETA_MAX_S) };
    let low_s = at_speed(milli.saturating_mul(100).div_ceil(spread), lane.speed_milli_per_s);
    let high_s = at_speed(milli.saturating_mul(spread).div_ceil(100), lane.speed_milli_per_s);
    EtaRange { low_s, high_s: high_s.saturating_add(POLL_SLACK_S) }
}

const ETA_MAX_S: u64 = 86_400;
const POLL_SLACK_S: u64 = 7;

/// `max(5 s, a tenth of the wait, waiting / budget)`, but never more than half of the shortest wait, nor 300 s; ± 20 %.
fn next_poll_ms(snapshot: &Snapshot, lane: &LaneSnapshot, number: TicketNumber, eta: Option<EtaRange>) -> u64 {
    let Some(eta) = eta else { return POLL_MIN_MS };
    let waiting = lane.next_number.0.saturating_sub(lane.serving_number.0);
    let middle_s = eta.low_s.midpoint(eta.high_s);
    let by_budget = waiting.saturating_mul(1_000).div_ceil(u64::from(snapshot.poll_budget_per_s.max(1)));
    let wanted = if eta.low_s <= NEAR_S { 0 } else { middle_s.saturating_mul(100).max(by_budget) };
    let half_low = eta.low_s.saturating_mul(500).max(POLL_MIN_MS);
    let delta = wanted.max(POLL_MIN_MS).min(half_low).min(POLL_MAX_MS);
    spread(delta, number.0 ^ snapshot.tick.rotate_left(32))
}

/// `delta` times 0.8 to 1.2, the same for the same seed: the crowd is spread without a random source.
fn spread(delta_ms: u64, seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let per_mille = 800_u64.saturating_add((mixed >> 33).checked_rem(401).unwrap_or(0));
    delta_ms.saturating_mul(per_mille).checked_div(1_000).unwrap_or(delta_ms)
}
