//! The public state of a room, made from the facts of a tick.

use super::{CallOrder, Fault, Pace, Planted, RoomSettings, facts::Facts};
use crate::{
    ids::{EventId, LaneId, TicketNumber},
    wire::{LaneSnapshot, Snapshot},
};

/// What everybody may know after the calls of a tick.
///
/// `facts` are those after the calls; `session_free` is [`Room::session_free`](super::Room::session_free) at the same moment.
pub fn snapshot(
    event: &EventId,
    settings: &RoomSettings,
    facts: &Facts,
    order: &CallOrder,
    session_free: bool,
    planted: Planted,
) -> Snapshot {
    let lane = |(index, (lane, names)): (usize, (&super::LaneFacts, &super::LaneSettings))| {
        let pace = order.paces.get(index).copied().unwrap_or_else(|| Pace::unmeasured(settings));
        LaneSnapshot {
            lane: LaneId::at(index),
            name: names.name.clone(),
            next_number: lane.next_number,
            serving_number: told_serving(lane.serving_number, facts.tick, planted),
            speed_milli_per_s: pace.speed_milli_per_s,
            speed_error_pct: pace.error_pct,
            moved_at_ms: lane.moved_at.as_millis(),
            turn_end_number: lane.turn_end_number,
            ahead: lane.ahead.clone(),
        }
    };
    Snapshot {
        v: 1,
        event: event.clone(),
        epoch: facts.epoch,
        tick: facts.tick,
        phase: facts.phase,
        server_time_ms: facts.now.as_millis(),
        redeemable_time_s: facts.at.redeemable.as_secs(),
        lanes: facts.lanes.iter().zip(&settings.lanes).enumerate().map(lane).collect(),
        session_free,
        turn_grace_s: settings.turn_grace.as_secs(),
        poll_budget_per_s: settings.poll_budget_per_s,
        ended_seq: facts.ended_seq,
        reason: order.standstill.map(|standstill| standstill.code().to_owned()),
        message: facts.message.clone(),
        everyone_in: facts.everyone_in,
    }
}

fn told_serving(serving: TicketNumber, tick: u64, planted: Planted) -> TicketNumber {
    if planted.has(Fault::PositionRising) && tick.is_multiple_of(2) {
        TicketNumber(serving.0.saturating_sub(3))
    } else {
        serving
    }
}
