//! How a room stands at a tick, for those who decide from it.

use super::{Room, clock::RoomTime, cohorts::Cohort, delays::ShowUp, lane::Lane, stays::Stays};
use crate::{
    ids::{Epoch, TicketNumber},
    time::Timestamp,
    wire::{Message, Phase},
};

/// What the calling law and the snapshot are made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Moment of the tick, by the host's clock.
    pub now: Timestamp,
    /// The room's own time.
    pub at: RoomTime,
    /// Generation of the tickets.
    pub epoch: Epoch,
    /// Count of ticks.
    pub tick: u64,
    /// Where the room stands.
    pub phase: Phase,
    /// The operator lets everybody in, whatever the capacity.
    pub everyone_in: bool,
    /// Most sessions at once.
    pub capacity: u32,
    /// The same by the operator's word or the configuration's, whatever the shop's server can serve.
    pub own_capacity: u32,
    /// What those who wait are told.
    pub message: Option<Message>,
    /// Counted sessions.
    pub sessions: u32,
    /// Sessions that have ended since this process has the room.
    pub sessions_ended_total: u64,
    /// How long sessions last, and how long those of now have lasted.
    pub stays: Stays,
    /// Called buyers in front of a full door.
    pub at_door: u32,
    /// Newest entry of the ended feed.
    pub ended_seq: u64,
    /// The lanes.
    pub lanes: Vec<LaneFacts>,
}

/// One lane inside [`Facts`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneFacts {
    /// The number that the next join gets.
    pub next_number: TicketNumber,
    /// The highest number called.
    pub serving_number: TicketNumber,
    /// When it last rose.
    pub moved_at: Timestamp,
    /// Numbers up to this one are late.
    pub turn_end_number: TicketNumber,
    /// Numbers not called yet whose owners are there.
    pub waiting: u64,
    /// From each number on, so many of 1,000 who wait are there; all before the first.
    pub ahead: Vec<(TicketNumber, u16)>,
    /// Called numbers inside `turn_grace`, oldest first.
    pub cohorts: Vec<Cohort>,
    /// Which of those who are called come, and how long they take.
    pub show_up: ShowUp,
    /// Of those who are next, so many of 1,000 were heard of after their joins.
    pub next_heard_permille: u16,
    /// The same of the whole line.
    pub line_heard_permille: u16,
    /// Of those called who had been heard of and may not have asked yet, nobody was told to ask later than so many seconds after the call.
    pub asks_after_s: u64,
    /// First arrivals at the door, ever, with those who came into an empty line.
    pub come_total: u64,
}

impl LaneFacts {
    /// Share in ppm of the called who come within so many seconds: of those who had been heard of, or of the others, of whom so many are
    /// supposed to come as long as nothing is seen.
    pub(super) fn come_within_ppm(&self, heard: bool, supposed_ppm: u64) -> Vec<u64> {
        self.show_up.come_within_ppm(heard, self.asks_after_s, supposed_ppm)
    }
}

impl Room {
    pub(super) fn facts(&self, now: Timestamp) -> Facts {
        let lane_facts = |lane: &Lane| {
            let moved_at = lane.line.moved_at;
            let (next_heard_permille, line_heard_permille) = lane.heard_permille();
            LaneFacts {
                next_number: lane.line.next_number,
                serving_number: lane.line.serving_number,
                moved_at: if moved_at == Timestamp::default() { moved_at } else { self.host_time(moved_at) },
                turn_end_number: lane.line.cohorts.turn_end_number(),
                waiting: lane.waiting(),
                ahead: lane.ahead.shares(),
                cohorts: lane.line.cohorts.in_time().copied().collect(),
                show_up: lane.line.show_up.clone(),
                next_heard_permille,
                line_heard_permille,
                asks_after_s: lane.asks_after_s(self.clock.at),
                come_total: lane.line.come_total,
            }
        };
        Facts {
            now: self.host_time(now),
            at: self.clock.at,
            epoch: self.epoch,
            tick: self.clock.tick,
            phase: self.control.phase,
            everyone_in: self.control.everyone_in,
            capacity: self.capacity(),
            own_capacity: self.own_capacity(),
            message: self.control.message.clone(),
            sessions: self.sessions.count(),
            sessions_ended_total: self.sessions.ended_total(),
            stays: self.sessions.stays.clone(),
            at_door: self.doorstep.waiting_count(now),
            ended_seq: self.ended.last_seq(),
            lanes: self.lanes.iter().map(lane_facts).collect(),
        }
    }
}
