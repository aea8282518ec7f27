//! How many numbers to call each second, from how many called buyers really come.

use super::{
    Fault, PPM, Pace, Planted, RoomSettings,
    delays::ShowUp,
    facts::{Facts, LaneFacts},
    forecast::{Forecast, SHOW_UP_MIN_PPM, median_s},
    pace::Paces,
    shares::{Claim, shares},
    stride::{Contender, Strides},
};
use crate::{
    ids::{Epoch, LaneId},
    wire::Phase,
};
use core::time::Duration;
use std::collections::VecDeque;

/// Decides the calls of one room; the leader keeps it, and a new leader learns it again from the cohorts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Law {
    strides: Strides,
    /// Expected (ppm of a person) and real arrivals of the last 15 ticks.
    recent: VecDeque<(u64, u64)>,
    come_before: Option<u64>,
    stopped: bool,
    seen_at: Duration,
    paces: Paces,
    planted: Planted,
    heeded: Heeded,
    /// What was learnt belongs to the numbers of this epoch.
    epoch: Option<Epoch>,
}

/// What the shop's server can bear, as far as this room is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heeded {
    /// The room's share of the sessions that its server can serve; `None`: the room's own capacity.
    pub share: Option<u32>,
    /// Why nobody is called, or fewer are let in than the room's own capacity allows.
    pub reason: Option<Standstill>,
}

/// What to call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOrder {
    /// How many live numbers to call in each lane that is called at all.
    pub calls: Vec<(LaneId, u32)>,
    /// What the calls of each lane may bring; a lane without it is called by their number alone.
    pub bounds: Vec<CallBound>,
    /// Called buyers still expected at the door after these calls, rounded up.
    pub expected: u32,
    /// Why the line stands still or goes slower than it could, if it does.
    pub standstill: Option<Standstill>,
    /// Most sessions from now on, as far as the shop's server is concerned; `None`: as many as the room's own capacity.
    pub share: Option<u32>,
    /// How fast each lane is served.
    pub paces: Vec<Pace>,
}

/// The most redemptions that the calls of one lane may be expected to bring.
///
/// How many numbers to call follows from those who are next. Behind them others may stand: where those next have left and those behind
/// them are there, the same number of calls would bring ten times as many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallBound {
    /// Share of those who come of whom nothing was heard after the join, and of the others; in millionths.
    pub comes_ppm: [u64; 2],
    /// In millionths of a redemption.
    pub most_micro: u64,
}

/// Why the line stands still, or goes slower than it could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standstill {
    /// Hardly anybody who was called came: something between buyers and door is broken.
    RedemptionsStopped,
    /// The operator holds the line.
    OperatorPaused,
    /// The shop's server fails, so nobody is called for a moment.
    OriginFailing,
    /// The shop's server is slow: fewer are let in, and the line moves on.
    OriginSlow,
}

impl Standstill {
    /// Nobody is called. Otherwise the line moves on, only slower.
    pub fn holds(self) -> bool {
        self != Self::OriginSlow
    }

    /// The reason code that travels in the snapshot.
    pub fn code(self) -> &'static str {
        match self {
            Self::RedemptionsStopped => "REDEMPTIONS_STOPPED",
            Self::OperatorPaused => "OPERATOR_PAUSED",
            Self::OriginFailing => "ORIGIN_FAILING",
            Self::OriginSlow => "ORIGIN_SLOW",
        }
    }
}

/// A call may bring one part in so many more than what it is made for.
const CHANCE_ONE_IN: u64 = 4;
/// So few come at least, so this many calls bring one redemption at most.
const CALLS_PER_ADMISSION_MAX: u64 = 10;
const WATCHED_TICKS: usize = 15;
/// Below this many expected arrivals in the watched time, silence says nothing.
const WATCHED_MIN_MICRO: u64 = 10_000_000;
/// While calling is stopped, one probe in this many ticks finds out whether buyers can come again.
const PROBE_EVERY: u64 = 5;

impl Law {
    /// Plants a fault for the tests of the checkers.
    #[must_use]
    pub fn with_fault(mut self, planted: Planted) -> Self {
        self.planted = planted;
        self
    }

    /// What the shop's server can bear from now on.
    pub fn heed(&mut self, heeded: Heeded) {
        self.heeded = if self.planted.has(Fault::ServerUnheeded) { Heeded::default() } else { heeded };
    }

    /// Decides the calls of one tick from the facts after [`Room::expire`](super::Room::expire).
    pub fn decide(&mut self, settings: &RoomSettings, facts: &Facts) -> CallOrder {
        self.begin_epoch(facts);
        let forecasts = self.forecasts(facts);
        let pending_micro = forecasts.iter().fold(0_u64, |sum, lane| sum.saturating_add(lane.pending_micro));
        self.watch(facts, &forecasts);
        let standstill = self.standstill(facts);
        let passed = facts.at.up.saturating_sub(core::mem::replace(&mut self.seen_at, facts.at.up));
        if facts.phase.lets_in() && !standstill.is_some_and(Standstill::holds) {
            self.paces.note(facts, passed);
        }
        let (budget_micro, most) = self.budget(settings, facts, standstill, pending_micro);
        let claims = self.claims(settings, facts);
        let contenders = contenders(facts, &forecasts, &claims);
        let calls = self.strides.share(&contenders, budget_micro, most);
        let expected = expected(&calls, &contenders, pending_micro);
        let shown_up = forecasts.iter().enumerate();
        let pace = |(lane, forecast): (usize, &Forecast)| {
            let share_ppm = share_if_busy(&claims, lane);
            self.paces.of(settings, lane, share_ppm, forecast.line_show_up_ppm)
        };
        let paces = shown_up.map(pace).collect();
        let bounds = if facts.everyone_in { Vec::new() } else { bounds(&calls, &forecasts) };
        CallOrder { calls, bounds, expected, standstill, share: self.heeded.share, paces }
    }

    /// What the past says of each lane. Of whom nothing is known yet, everybody is supposed to come in the lane in which most do, and in
    /// the others as many as have come beside that one.
    fn forecasts(&self, facts: &Facts) -> Vec<Forecast> {
        let show_ups: Vec<&ShowUp> = facts.lanes.iter().map(|lane| &lane.show_up).collect();
        let supposed_ppm = ShowUp::beside_the_best_ppm(&show_ups);
        let lanes = facts.lanes.iter().zip(supposed_ppm);
        lanes.map(|(lane, supposed_ppm)| Forecast::of(facts, lane, supposed_ppm, self.planted)).collect()
    }

    /// Forgets what was learnt of the numbers of another epoch.
    fn begin_epoch(&mut self, facts: &Facts) {
        if self.epoch != Some(facts.epoch) {
            let Self { planted, heeded, .. } = *self;
            *self = Self { epoch: Some(facts.epoch), planted, heeded, ..Self::default() };
        }
    }

    /// Why the line stands still or goes slower than it could. The operator's word comes first, then what is known of the buyers, then
    /// what is known of the shop's server.
    fn standstill(&self, facts: &Facts) -> Option<Standstill> {
        match facts.phase {
            Phase::Paused => Some(Standstill::OperatorPaused),
            phase if !phase.lets_in() || facts.everyone_in => None,
            _ if self.stopped => Some(Standstill::RedemptionsStopped),
            _ => self.heeded.reason,
        }
    }

    /// How many redemptions to call for, in millionths, and how many numbers at most.
    fn budget(
        &self,
        settings: &RoomSettings,
        facts: &Facts,
        standstill: Option<Standstill>,
        pending_micro: u64,
    ) -> (u64, u64) {
        if !facts.phase.lets_in() {
            return (0, 0);
        }
        if facts.everyone_in {
            return (u64::MAX, u64::MAX);
        }
        match standstill {
            Some(Standstill::RedemptionsStopped) if facts.tick.is_multiple_of(PROBE_EVERY) => (PPM, 1),
            Some(reason) if reason.holds() => (0, 0),
            _ => {
                let rate = u64::from(settings.admission_rate_per_s);
                let free_micro = self.free_micro(settings, facts, pending_micro);
                (free_micro, rate.saturating_mul(CALLS_PER_ADMISSION_MAX))
            }
        }
    }

    fn claims(&self, settings: &RoomSettings, facts: &Facts) -> Vec<Claim> {
        let is_unbound = self.planted.has(Fault::BoundsForgotten);
        let lanes = settings.lanes.iter().zip(&facts.lanes);
        lanes
            .map(|(lane, facts)| Claim {
                weight: if self.planted.has(Fault::WeightsForgotten) { 1 } else { lane.weight },
                floor_pct: if is_unbound { 0 } else { lane.floor_pct },
                ceiling_pct: if is_unbound { 100 } else { lane.ceiling_pct },
                is_busy: facts.waiting > 0,
            })
            .collect()
    }

    /// Compares arrivals with what was expected, and stops or resumes calling.
    fn watch(&mut self, facts: &Facts, forecasts: &[Forecast]) {
        let come_total = facts.lanes.iter().fold(0_u64, |sum, lane| sum.saturating_add(lane.come_total));
        let came = come_total.saturating_sub(self.come_before.unwrap_or(come_total));
        self.come_before = Some(come_total);
        let expected = forecasts.iter().fold(0_u64, |sum, lane| sum.saturating_add(lane.next_second_micro));
        if let Some((_, newest)) = self.recent.back_mut() {
            *newest = came;
        }
        self.recent.push_back((expected, 0));
        if self.recent.len() > WATCHED_TICKS.saturating_add(1) {
            self.recent.pop_front();
        }
        // The newest entry is what the coming second should bring: it is judged a tick later.
        let judged = self.recent.len().saturating_sub(1);
        let (expected, came) =
            self.recent.iter().take(judged).fold((0_u64, 0_u64), |(expected, came), next| {
                (expected.saturating_add(next.0), came.saturating_add(next.1))
            });
        let silent = came.saturating_mul(PPM).saturating_mul(10) < expected;
        if self.stopped {
            self.stopped = came == 0;
        } else {
            let may_stop = judged >= WATCHED_TICKS && !self.planted.has(Fault::NeverStops);
            self.stopped = may_stop && expected >= WATCHED_MIN_MICRO && silent;
        }
    }

    /// Expected redemptions to call for now, in millionths: what capacity has free for them and what the admission rate lets through,
    /// less those who are on the way or at the door already.
    ///
    /// Half of the called come within the median delay, and the next calls are a second away; what ends in that time is free for them.
    fn free_micro(&self, settings: &RoomSettings, facts: &Facts, pending_micro: u64) -> u64 {
        let delay_s = facts.lanes.iter().map(median_s).min().unwrap_or(0);
        let inside = u64::from(facts.sessions).saturating_mul(PPM);
        let until_then_s = delay_s.saturating_add(1);
        let staying = inside.saturating_sub(facts.stays.ending_within_micro(until_then_s));
        let at_door = u64::from(facts.at_door).saturating_mul(PPM);
        let pending_micro = if self.planted.has(Fault::PipelineForgotten) { 0 } else { pending_micro };
        let coming = at_door.saturating_add(pending_micro);
        let most = facts.capacity.min(self.heeded.share.unwrap_or(u32::MAX));
        let capacity = u64::from(most).saturating_mul(PPM).saturating_sub(staying);
        let rate = u64::from(settings.admission_rate_per_s).saturating_mul(PPM);
        let let_through = rate.saturating_mul(until_then_s);
        capacity.min(let_through).saturating_sub(coming).min(rate)
    }
}

fn contenders(facts: &Facts, forecasts: &[Forecast], claims: &[Claim]) -> Vec<Contender> {
    let lanes = facts.lanes.iter().zip(forecasts).zip(shares(claims));
    let contender = |((lane, forecast), share): ((&LaneFacts, &Forecast), u64)| Contender {
        callable: callable(facts, lane, forecast),
        show_up_ppm: forecast.show_up_ppm,
        served_micro: served_micro(lane, forecast),
        share,
    };
    lanes.map(contender).collect()
}

/// The share that a lane has when somebody waits in it, in ppm.
fn share_if_busy(claims: &[Claim], lane: usize) -> u64 {
    let mut claims = claims.to_vec();
    if let Some(own) = claims.get_mut(lane) {
        own.is_busy = true;
    }
    shares(&claims).get(lane).copied().unwrap_or(PPM)
}

/// What the calls are made for, and a quarter more: of those who are next only some are looked at, so that it may be less or more by chance.
fn bounds(calls: &[(LaneId, u32)], forecasts: &[Forecast]) -> Vec<CallBound> {
    let bound = |(lane, forecast): (usize, &Forecast)| {
        let count =
            calls.iter().find(|(called, _)| *called == LaneId::at(lane)).map_or(0, |(_, count)| *count);
        let planned_micro = forecast.show_up_ppm.saturating_mul(count.into());
        let most_micro = planned_micro.saturating_add(planned_micro.div_ceil(CHANCE_ONE_IN));
        CallBound { comes_ppm: forecast.comes_ppm, most_micro }
    };
    forecasts.iter().enumerate().map(bound).collect()
}

/// Called buyers still expected at the door after `calls`, rounded up.
fn expected(calls: &[(LaneId, u32)], contenders: &[Contender], pending_micro: u64) -> u32 {
    let called_micro = calls.iter().fold(0_u64, |sum, &(lane, count)| {
        let show_up = contenders.get(usize::from(lane.0)).map_or(PPM, |lane| lane.show_up_ppm);
        sum.saturating_add(show_up.saturating_mul(u64::from(count)))
    });
    let expected = pending_micro.saturating_add(called_micro).div_ceil(PPM);
    u32::try_from(expected).unwrap_or(u32::MAX)
}

/// At most `2·C / show-up` numbers that may still come are called at once.
///
/// "May still come" weighs a number by the delays that were seen: counting every unexpired number instead would let the
/// no-shows of one `turn_grace` stop the line wherever sessions are much shorter than `turn_grace`.
fn callable(facts: &Facts, lane: &LaneFacts, forecast: &Forecast) -> u64 {
    if facts.everyone_in {
        return lane.waiting;
    }
    let most_micro = u64::from(facts.capacity)
        .saturating_mul(2)
        .saturating_mul(PPM)
        .saturating_mul(PPM)
        .checked_div(forecast.show_up_ppm)
        .unwrap_or(0);
    let open = most_micro.saturating_sub(forecast.open_micro).checked_div(PPM).unwrap_or(0);
    lane.waiting.min(open)
}

/// Who has come and who is expected, at least what the fewest show-ups would have brought: a lane of people who left does not
/// hold up the others by being behind for ever.
fn served_micro(lane: &LaneFacts, forecast: &Forecast) -> u64 {
    let come = lane.come_total.saturating_mul(PPM).saturating_add(forecast.pending_micro);
    come.max(lane.serving_number.0.saturating_mul(SHOW_UP_MIN_PPM))
}
