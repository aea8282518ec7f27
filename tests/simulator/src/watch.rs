//! What must hold at every event; the first thing that does not ends the run.

use serde::Serialize;
use shared::{
    ids::{Place, TicketNumber},
    room::{CallOrder, Facts, RoomSettings},
    wire::Phase,
};
use std::collections::VecDeque;
use std::fmt;

/// A promise that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// More sessions than capacity at a redemption.
    OverCapacity { inside: u32, capacity: u32 },
    /// The room counts other sessions than there are.
    Miscounted { room: u32, inside: u32 },
    /// A position that was shown went up.
    PositionRose { number: u64, from: u64, to: u64 },
    /// A number was given out twice.
    NumberReissued { number: u64 },
    /// Somebody came in whose number had not been called.
    EnteredUncalled { number: u64 },
    /// One ticket began two sessions.
    EnteredTwice { number: u64 },
    /// The same call, sent twice, had two effects.
    DuplicateDiffers { number: u64 },
    /// A called buyer who was there lost their turn.
    TurnLost { number: u64 },
    /// More entered than the admission rate allows.
    RateExceeded { entered: u32, rate_per_s: u32 },
    /// A serving number fell or passed what was given out.
    ServingJumped { from: u64, to: u64 },
    /// Numbers were called while the operator held the line.
    CalledWhilePaused { calls: u32 },
    /// A lane in which people waited was passed over.
    LaneStarved { lane: u8 },
    /// The rooms of a server took more than it allows.
    OverServer { sessions: u32, capacity: u32 },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Looks at every event of one run.
pub(crate) struct Watch {
    found: Option<(u32, Violation)>,
    /// Per lane, which buyer holds each number; `NOBODY` where none is known.
    holders: Vec<Vec<u32>>,
    serving: Vec<u64>,
    /// Per lane: seconds since it was last called while people waited in it.
    passed_over_s: Vec<u32>,
    /// Entries of the last second, by millisecond.
    entries: VecDeque<u32>,
}

const NOBODY: u32 = u32::MAX;

impl Watch {
    pub(crate) fn new(lanes: usize) -> Self {
        Self {
            found: None,
            holders: vec![vec![NOBODY]; lanes],
            serving: vec![0; lanes],
            passed_over_s: vec![0; lanes],
            entries: VecDeque::new(),
        }
    }

    pub(crate) fn found(&self) -> Option<(u32, Violation)> {
        self.found
    }

    /// Keeps the first violation.
    pub(crate) fn report(&mut self, now_ms: u32, violation: Violation) {
        self.found.get_or_insert((now_ms, violation));
    }

    pub(crate) fn joined(&mut self, now_ms: u32, buyer: u32, place: Place) {
        let holders = &mut self.holders[usize::from(place.lane.0)];
        let index = place.number.0 as usize;
        if holders.len() <= index {
            holders.resize(index + 1, NOBODY);
        }
        if holders[index] != NOBODY {
            self.report(now_ms, Violation::NumberReissued { number: place.number.0 });
            return;
        }
        holders[index] = buyer;
    }

    /// Who holds a number, if anybody does.
    pub(crate) fn holder(&self, lane: usize, number: u64) -> Option<u32> {
        self.holders[lane].get(number as usize).copied().filter(|&buyer| buyer != NOBODY)
    }

    /// A redemption began a session; `inside` counts it.
    pub(crate) fn entered(&mut self, now_ms: u32, place: Place, inside: u32, settings: &RoomSettings) {
        if inside > settings.capacity {
            self.report(now_ms, Violation::OverCapacity { inside, capacity: settings.capacity });
        }
        if place.number > TicketNumber(self.serving[usize::from(place.lane.0)]) {
            self.report(now_ms, Violation::EnteredUncalled { number: place.number.0 });
        }
        self.entries.push_back(now_ms);
        while self.entries.front().is_some_and(|&at| at + 1_000 <= now_ms) {
            self.entries.pop_front();
        }
        let (entered, rate_per_s) = (self.entries.len() as u32, settings.admission_rate_per_s);
        // A burst of one second, and the second itself.
        if entered > 2 * rate_per_s {
            self.report(now_ms, Violation::RateExceeded { entered, rate_per_s });
        }
    }

    /// The one lane in which a buyer entered an empty line moved on with the join.
    pub(crate) fn called_on_arrival(&mut self, place: Place) {
        let serving = &mut self.serving[usize::from(place.lane.0)];
        *serving = (*serving).max(place.number.0);
    }

    /// One tick is over: what was ordered, and how things stand after it.
    pub(crate) fn ticked(
        &mut self,
        now_ms: u32,
        phase: Phase,
        order: &CallOrder,
        facts: &Facts,
        inside: u32,
    ) {
        if facts.sessions != inside {
            self.report(now_ms, Violation::Miscounted { room: facts.sessions, inside });
        }
        let calls: u32 = order.calls.iter().map(|(_, count)| count).sum();
        if phase == Phase::Paused && calls > 0 {
            self.report(now_ms, Violation::CalledWhilePaused { calls });
        }
        for (lane, now) in facts.lanes.iter().enumerate() {
            let (from, to) = (self.serving[lane], now.serving_number.0);
            if to < from || to >= now.next_number.0 {
                self.report(now_ms, Violation::ServingJumped { from, to });
            }
            self.serving[lane] = to;
            let passed_over = to == from && now.waiting > 0 && calls > 0;
            self.passed_over_s[lane] = if passed_over { self.passed_over_s[lane] + 1 } else { 0 };
            if self.passed_over_s[lane] > STARVED_AFTER_TICKS {
                self.report(now_ms, Violation::LaneStarved { lane: lane as u8 });
            }
        }
    }
}

/// Weights of a tenth and more get their turn within so many ticks in which others are called.
const STARVED_AFTER_TICKS: u32 = 60;
