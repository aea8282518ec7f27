//! How many numbers to call each second, from how many called buyers really come.

use super::{
    Fault, PPM, Planted, RoomSettings,
    delays::Delays,
    facts::{Facts, LaneFacts},
    stride::{Contender, Strides},
};
use crate::{
    ids::{Epoch, LaneId, TicketNumber},
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
    ended_before: Option<u64>,
    /// Sessions that end per second, in millionths, as a running mean.
    ending_micro: u64,
    stopped: bool,
    /// Time in which the line could move: held and stopped lines have no pace.
    moving: Duration,
    seen_at: Duration,
    first_served: Option<Duration>,
    paces: Vec<VecDeque<(Duration, TicketNumber)>>,
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
    /// Called buyers still expected at the door after these calls, rounded up.
    pub expected: u32,
    /// Why the line stands still or goes slower than it could, if it does.
    pub standstill: Option<Standstill>,
    /// Most sessions from now on, as far as the shop's server is concerned; `None`: as many as the room's own capacity.
    pub share: Option<u32>,
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

/// How fast a lane is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Numbers per 1,000 s.
    pub speed_milli_per_s: u64,
    /// How far that may be off, either way, as a factor in percent.
    pub error_pct: u32,
}

/// What the past says about one lane: a share in ppm, and people in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Forecast {
    /// Share of called buyers who come.
    show_up_ppm: u64,
    /// Called buyers still expected.
    pending_micro: u64,
    /// Called numbers that may still come, whether or not they are expected to.
    open_micro: u64,
    /// Arrivals expected within the coming second.
    next_second_micro: u64,
}

/// Those of one cohort who have not come yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Missing {
    people: u64,
    /// Share of the cohort that should have come by now.
    due_ppm: u64,
    /// The same a second later.
    due_next_ppm: u64,
}

impl Missing {
    /// How many of them come before the share `until_ppm` is due, given that they have not come yet:
    /// `(until − due) / (1 − due)` of them.
    fn still_to_come_micro(&self, until_ppm: u64) -> u64 {
        let due = until_ppm.saturating_sub(self.due_ppm);
        let not_due_ppm = PPM.saturating_sub(self.due_ppm);
        self.people.saturating_mul(due).saturating_mul(PPM).checked_div(not_due_ppm).unwrap_or(0)
    }
}

/// Before anything is measured: between sessions that last half their idle time-out and the admission rate.
fn unmeasured(settings: &RoomSettings) -> Pace {
    let fastest = u64::from(settings.admission_rate_per_s).saturating_mul(1_000).max(1);
    let pass_life_s = settings.pass_life.as_secs().max(1);
    let slowest = u64::from(settings.capacity).saturating_mul(2_000).checked_div(pass_life_s).unwrap_or(0);
    let slowest = slowest.clamp(1, fastest);
    let middle = fastest.saturating_mul(slowest).isqrt().max(1);
    let spread_pct = middle.saturating_mul(100).div_ceil(slowest);
    let error_pct = u32::try_from(spread_pct.saturating_sub(100)).unwrap_or(u32::MAX);
    Pace { speed_milli_per_s: middle, error_pct: error_pct.max(PACE_UNKNOWN_ERROR_PCT_MIN) }
}

const SHOW_UP_MIN_PPM: u64 = 100_000;
/// So few come at least, so this many calls bring one redemption at most.
const CALLS_PER_ADMISSION_MAX: u64 = 10;
/// Ticks over which ending sessions are averaged.
const ENDING_MEMORY: u64 = 8;
const WATCHED_TICKS: usize = 15;
/// Below this many expected arrivals in the watched time, silence says nothing.
const WATCHED_MIN_MICRO: u64 = 10_000_000;
/// While calling is stopped, one probe in this many ticks finds out whether buyers can come again.
const PROBE_EVERY: u64 = 5;
const PACE_WINDOW: Duration = Duration::from_secs(180);
const PACE_KNOWN_AFTER: Duration = Duration::from_secs(60);
/// A first fill that takes longer than this is no fill but a pace.
const FILL_MAX: Duration = Duration::from_secs(30);
const PACE_KNOWN_ERROR_PCT: u32 = 60;
/// A guess is never told as closely as a measurement.
const PACE_UNKNOWN_ERROR_PCT_MIN: u32 = 300;

impl Law {
    /// Plants a fault for the tests of the checkers.
    #[must_use]
    pub fn with_fault(mut self, planted: Planted) -> Self {
        self.planted = planted;
        self
    }

    /// What the shop's server can bear from now on.
    pub fn heed(&mut self, heeded: Heeded) {
        self.heeded = heeded;
    }

    /// Decides the calls of one tick from the facts after [`Room::expire`](super::Room::expire).
    pub fn decide(&mut self, settings: &RoomSettings, facts: &Facts) -> CallOrder {
        if self.epoch != Some(facts.epoch) {
            let Self { planted, heeded, .. } = *self;
            *self = Self { epoch: Some(facts.epoch), planted, heeded, ..Self::default() };
        }
        let forecasts: Vec<Forecast> = facts.lanes.iter().map(|lane| self.forecast(facts, lane)).collect();
        let pending_micro = forecasts.iter().fold(0_u64, |sum, lane| sum.saturating_add(lane.pending_micro));
        self.watch(facts, &forecasts);
        self.note_ended(facts);
        let calls_now = facts.phase.lets_in();
        let standstill = match facts.phase {
            Phase::Paused => Some(Standstill::OperatorPaused),
            _ if !calls_now || facts.everyone_in => None,
            _ if self.stopped => Some(Standstill::RedemptionsStopped),
            _ => self.heeded.reason,
        };
        let is_held = standstill.is_some_and(Standstill::holds);
        let passed = facts.at.up.saturating_sub(core::mem::replace(&mut self.seen_at, facts.at.up));
        if calls_now && !is_held {
            self.moving = self.moving.saturating_add(passed);
            self.note_paces(facts);
        }
        let (budget_micro, most) = match standstill {
            _ if facts.everyone_in && calls_now => (u64::MAX, u64::MAX),
            _ if calls_now && !is_held => {
                let rate = u64::from(settings.admission_rate_per_s);
                let free = self.free_micro(settings, facts, pending_micro);
                (free, rate.saturating_mul(CALLS_PER_ADMISSION_MAX))
            }
            Some(Standstill::RedemptionsStopped) if facts.tick.is_multiple_of(PROBE_EVERY) => (PPM, 1),
            _ => (0, 0),
        };
        let contenders: Vec<Contender> = facts
            .lanes
            .iter()
            .zip(&forecasts)
            .zip(&settings.lanes)
            .map(|((lane, forecast), lane_settings)| Contender {
                callable: callable(facts, lane, forecast),
                show_up_ppm: forecast.show_up_ppm,
                served_micro: served_micro(lane, forecast),
                weight: if self.planted.has(Fault::WeightsForgotten) { 1 } else { lane_settings.weight },
            })
            .collect();
        let calls = self.strides.share(&contenders, budget_micro, most);
        let called_micro = calls.iter().fold(0_u64, |sum, &(lane, count)| {
            let show_up = contenders.get(usize::from(lane.0)).map_or(PPM, |lane| lane.show_up_ppm);
            sum.saturating_add(show_up.saturating_mul(u64::from(count)))
        });
        let expected = pending_micro.saturating_add(called_micro).div_ceil(PPM);
        let expected = u32::try_from(expected).unwrap_or(u32::MAX);
        CallOrder { calls, expected, standstill, share: self.heeded.share }
    }

    /// How fast a lane is served, for the estimate that buyers see: the mean over three minutes, of which the part that was not
    /// seen yet counts as guessed.
    pub fn pace(&self, settings: &RoomSettings, lane: LaneId) -> Pace {
        let guess = unmeasured(settings);
        let seen = self.paces.get(usize::from(lane.0));
        let (first, last) = (seen.and_then(VecDeque::front), seen.and_then(VecDeque::back));
        let (Some((from, first)), Some((until, last))) = (first, last) else { return guess };
        let span = until.saturating_sub(*from);
        if span < PACE_KNOWN_AFTER {
            return guess;
        }
        let unseen_s = PACE_WINDOW.saturating_sub(span).as_secs();
        let called_milli = last.0.saturating_sub(first.0).saturating_mul(1_000);
        let in_window = called_milli.saturating_add(unseen_s.saturating_mul(guess.speed_milli_per_s));
        let speed_milli_per_s = in_window.checked_div(PACE_WINDOW.as_secs()).unwrap_or(0);
        Pace { speed_milli_per_s, error_pct: PACE_KNOWN_ERROR_PCT }
    }

    fn forecast(&self, facts: &Facts, lane: &LaneFacts) -> Forecast {
        let shares = lane.delays.come_within_ppm();
        let all_ppm = shares.last().copied().unwrap_or(PPM);
        let within =
            |age_s: u64| shares.get(usize::try_from(age_s).unwrap_or(usize::MAX)).copied().unwrap_or(all_ppm);
        let missing = lane.cohorts.iter().map(|cohort| {
            let age_s = facts.at.up.saturating_sub(cohort.called_at.up).as_secs();
            let age_s = if self.planted.has(Fault::GhostsAwaited) { 0 } else { age_s };
            Missing {
                people: u64::from(cohort.called.saturating_sub(cohort.come)),
                due_ppm: within(age_s),
                due_next_ppm: within(age_s.saturating_add(1)),
            }
        });
        let mut forecast = Forecast {
            show_up_ppm: all_ppm.clamp(SHOW_UP_MIN_PPM, PPM),
            pending_micro: 0,
            open_micro: 0,
            next_second_micro: 0,
        };
        for cohort in missing {
            let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
            add(&mut forecast.pending_micro, cohort.still_to_come_micro(all_ppm));
            add(&mut forecast.next_second_micro, cohort.still_to_come_micro(cohort.due_next_ppm));
            let open = cohort.people.saturating_mul(all_ppm.saturating_sub(cohort.due_ppm));
            add(
                &mut forecast.open_micro,
                open.saturating_mul(PPM).checked_div(forecast.show_up_ppm).unwrap_or(0),
            );
        }
        forecast
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

    fn note_ended(&mut self, facts: &Facts) {
        let total = facts.sessions_ended_total;
        let ended = total.saturating_sub(self.ended_before.unwrap_or(total)).saturating_mul(PPM);
        self.ended_before = Some(total);
        let weighed = self.ending_micro.saturating_mul(ENDING_MEMORY.saturating_sub(1)).saturating_add(ended);
        self.ending_micro = weighed.checked_div(ENDING_MEMORY).unwrap_or(0);
    }

    /// Expected redemptions to call for now, in millionths: what capacity has free for them and what the admission rate lets through,
    /// less those who are on the way or at the door already.
    ///
    /// Half of the called come within the median delay; what ends in that time is free for them.
    fn free_micro(&self, settings: &RoomSettings, facts: &Facts, pending_micro: u64) -> u64 {
        let delay_s = facts.lanes.iter().map(|lane| median_s(&lane.delays)).min().unwrap_or(0);
        let inside = u64::from(facts.sessions).saturating_mul(PPM);
        let staying = inside.saturating_sub(self.ending_micro.saturating_mul(delay_s));
        let at_door = u64::from(facts.at_door).saturating_mul(PPM);
        let pending_micro = if self.planted.has(Fault::PipelineForgotten) { 0 } else { pending_micro };
        let coming = at_door.saturating_add(pending_micro);
        let capacity = u64::from(facts.capacity).saturating_mul(PPM).saturating_sub(staying);
        let rate = u64::from(settings.admission_rate_per_s).saturating_mul(PPM);
        let let_through = rate.saturating_mul(delay_s.saturating_add(1));
        capacity.min(let_through).saturating_sub(coming).min(rate)
    }

    /// Remembers where each lane stood lately, once the first calls have filled the shop: they say nothing about the pace.
    fn note_paces(&mut self, facts: &Facts) {
        let served = facts.lanes.iter().any(|lane| lane.serving_number > TicketNumber(0));
        if self.first_served.is_none() && served {
            self.first_served = Some(self.moving);
        }
        let Some(first_served) = self.first_served else { return };
        let nine_tenths = u64::from(facts.capacity).saturating_mul(9).div_ceil(10);
        let full = u64::from(facts.sessions) >= nine_tenths;
        if !full && self.paces.is_empty() && self.moving.saturating_sub(first_served) < FILL_MAX {
            return;
        }
        self.paces.resize(facts.lanes.len(), VecDeque::new());
        for (pace, lane) in self.paces.iter_mut().zip(&facts.lanes) {
            pace.push_back((self.moving, lane.serving_number));
            while pace.front().is_some_and(|(at, _)| self.moving.saturating_sub(*at) > PACE_WINDOW) {
                pace.pop_front();
            }
        }
    }
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

/// Seconds within which half of those who come have come, rounded up.
fn median_s(delays: &Delays) -> u64 {
    let shares = delays.come_within_ppm();
    let half = shares.last().map_or(0, |all| all >> 1);
    u64::try_from(shares.partition_point(|&share| share < half)).unwrap_or(u64::MAX)
}
