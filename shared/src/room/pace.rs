//! How fast lanes are served, for the estimates that buyers see.

use super::{PPM, RoomSettings, facts::Facts};
use core::time::Duration;
use std::collections::VecDeque;

/// How fast a lane is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// People of the line per 1,000 s: entries, and those beside them who do not come when they are called.
    pub speed_milli_per_s: u64,
    /// How far that may be off, either way, as a factor in percent.
    pub error_pct: u32,
}

impl Pace {
    /// Before anything is measured: between sessions that last twice their idle time-out and the admission rate.
    pub fn unmeasured(settings: &RoomSettings) -> Self {
        Self::guessed(settings, PPM)
    }

    /// The same of a lane that has this share of the room, in ppm. At the opening one lane's people may be the quicker ones, so the fastest is
    /// the whole room's.
    fn guessed(settings: &RoomSettings, share_ppm: u64) -> Self {
        let fastest = u64::from(settings.admission_rate_per_s).saturating_mul(1_000).max(1);
        let pass_life_s = settings.pass_life.as_secs().max(1);
        let slowest = u64::from(settings.capacity).saturating_mul(500).checked_div(pass_life_s).unwrap_or(0);
        let slowest = slowest.saturating_mul(share_ppm).checked_div(PPM).unwrap_or(0);
        let guess = Self::between(slowest.clamp(1, fastest), fastest);
        Self { error_pct: guess.error_pct.max(PACE_UNKNOWN_ERROR_PCT_MIN), ..guess }
    }

    /// The slowest and the fastest that it may be, in thousandths of a person a second.
    fn bounds(self) -> (u64, u64) {
        let factor_pct = u64::from(self.error_pct).saturating_add(100);
        let slower = self.speed_milli_per_s.saturating_mul(100).checked_div(factor_pct).unwrap_or(0);
        let faster = self.speed_milli_per_s.saturating_mul(factor_pct).checked_div(100).unwrap_or(u64::MAX);
        (slower, faster)
    }

    /// From `slowest` to `fastest`, in thousandths of a person a second.
    fn between(slowest: u64, fastest: u64) -> Self {
        let slowest = slowest.max(1);
        let middle = fastest.saturating_mul(slowest).isqrt().max(1);
        let spread_pct = middle.saturating_mul(100).div_ceil(slowest);
        let error_pct = u32::try_from(spread_pct.saturating_sub(100)).unwrap_or(u32::MAX);
        Self { speed_milli_per_s: middle, error_pct }
    }
}

/// Where each lane stood lately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Paces {
    /// Time in which the line could move: held and stopped lines have no pace.
    moving: Duration,
    first_served: Option<Duration>,
    /// When the line began to have a pace, and how many of all lanes had come to the door by then.
    since: Option<(Duration, u64)>,
    capacity: u32,
    /// Per lane: when, and how many had come to the door.
    lanes: Vec<VecDeque<(Duration, u64)>>,
}

impl Paces {
    /// The pace of a lane that has a share of the room, and of whose people a share comes: the mean over three minutes.
    pub(super) fn of(&self, settings: &RoomSettings, lane: usize, share_ppm: u64, show_up_ppm: u64) -> Pace {
        let come = self.come(settings, lane, share_ppm);
        let speed_milli_per_s = come.speed_milli_per_s.saturating_mul(PPM).checked_div(show_up_ppm);
        Pace { speed_milli_per_s: speed_milli_per_s.unwrap_or(come.speed_milli_per_s), ..come }
    }

    /// How fast people of a lane come in.
    fn come(&self, settings: &RoomSettings, lane: usize, share_ppm: u64) -> Pace {
        let guess = Pace::guessed(settings, share_ppm);
        let seen = self.lanes.get(lane);
        let (first, last) = (seen.and_then(VecDeque::front), seen.and_then(VecDeque::back));
        let (Some((from, first)), Some((until, last))) = (first, last) else { return guess };
        let span = until.saturating_sub(*from);
        if span < PACE_KNOWN_AFTER {
            return guess;
        }
        let come_milli = last.saturating_sub(*first).saturating_mul(1_000);
        let speed_milli_per_s = come_milli.checked_div(span.as_secs()).unwrap_or(0).max(slowest(settings));
        // The shorter it was looked at, the less is known.
        let window_s = PACE_WINDOW.as_secs().max(span.as_secs());
        let error_pct = u64::from(PACE_KNOWN_ERROR_PCT).saturating_mul(window_s).checked_div(span.as_secs());
        let error_pct = error_pct.and_then(|pct| u32::try_from(pct).ok()).unwrap_or(PACE_KNOWN_ERROR_PCT);
        let measured = Pace { speed_milli_per_s, error_pct };
        match self.sudden_milli(settings, lane) {
            Some(sudden) if sudden > measured.bounds().1 => Pace::between(measured.bounds().0, sudden),
            _ => measured,
        }
    }

    /// How fast people of a lane come in, in thousandths a second, if all who have been inside since the first fill leave as soon as they
    /// have stayed for as long again as they have now. `None` when as many have come in since as the shop holds: the pace knows a whole
    /// generation of sessions then. Where all stay about as long, it knows nothing before.
    fn sudden_milli(&self, settings: &RoomSettings, lane: usize) -> Option<u64> {
        let (since, come_before) = self.since?;
        let come_now = |lane: &VecDeque<(Duration, u64)>| lane.back().map_or(0, |(_, come)| *come);
        let come = self.lanes.iter().map(come_now).fold(0_u64, u64::saturating_add);
        let capacity = u64::from(self.capacity);
        if come.saturating_sub(come_before) >= capacity {
            return None;
        }
        let for_s = self.moving.saturating_sub(since).as_secs().max(1);
        let rate_milli = u64::from(settings.admission_rate_per_s).saturating_mul(1_000);
        let all_milli = capacity.saturating_mul(1_000).checked_div(for_s).unwrap_or(0).min(rate_milli);
        let of_lane = come_now(self.lanes.get(lane)?);
        all_milli.saturating_mul(of_lane).checked_div(come)
    }

    /// Remembers how many have come, once the first calls have filled the shop: they say nothing about the pace. `passed`: time since the
    /// last tick, in which the line could move.
    pub(super) fn note(&mut self, facts: &Facts, passed: Duration) {
        self.moving = self.moving.saturating_add(passed);
        if facts.lanes.iter().all(|lane| lane.waiting == 0) {
            // Where nobody waits there is no line that could have a pace.
            self.lanes.clear();
            self.since = None;
            return;
        }
        let served = facts.lanes.iter().any(|lane| lane.serving_number.0 > 0);
        if self.first_served.is_none() && served {
            self.first_served = Some(self.moving);
        }
        let Some(first_served) = self.first_served else { return };
        let nine_tenths = u64::from(facts.capacity).saturating_mul(9).div_ceil(10);
        let full = u64::from(facts.sessions) >= nine_tenths;
        if !full && self.lanes.is_empty() && self.moving.saturating_sub(first_served) < FILL_MAX {
            return;
        }
        self.capacity = facts.capacity;
        let come = facts.lanes.iter().fold(0_u64, |sum, lane| sum.saturating_add(lane.come_total));
        self.since.get_or_insert((self.moving, come));
        self.lanes.resize(facts.lanes.len(), VecDeque::new());
        for (pace, lane) in self.lanes.iter_mut().zip(&facts.lanes) {
            pace.push_back((self.moving, lane.come_total));
            while pace.front().is_some_and(|(at, _)| self.moving.saturating_sub(*at) > PACE_WINDOW) {
                pace.pop_front();
            }
        }
    }
}

/// A full shop whose sessions all last as long as they may. What was measured may be slower for a while, where all began together.
fn slowest(settings: &RoomSettings) -> u64 {
    let rate_milli = u64::from(settings.admission_rate_per_s).saturating_mul(1_000);
    let session_max_s = settings.session_max.as_secs().max(1);
    let milli = u64::from(settings.capacity).saturating_mul(1_000).checked_div(session_max_s).unwrap_or(0);
    milli.min(rate_milli)
}

/// So far back the pace looks.
pub(super) const PACE_WINDOW: Duration = Duration::from_secs(180);
const PACE_KNOWN_AFTER: Duration = Duration::from_secs(60);
/// A first fill that takes longer than this is no fill but a pace.
const FILL_MAX: Duration = Duration::from_secs(30);
const PACE_KNOWN_ERROR_PCT: u32 = 60;
/// A guess is never told as closely as a measurement.
const PACE_UNKNOWN_ERROR_PCT_MIN: u32 = 300;
