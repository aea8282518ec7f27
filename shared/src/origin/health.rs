//! The capacity that one server can serve, found by what its replies say.

use super::latency::OriginSample;
use crate::room::Standstill;
use crate::time::Timestamp;
use core::time::Duration;

/// The controller looks at what it was told this often.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// With fewer ended requests nothing is cut, and the controller goes on listening.
const SAMPLES_MIN: u64 = 100;

/// What is older says nothing about now.
const WINDOW_MAX: Duration = Duration::from_mins(1);
/// From this share of sessions with errors on, the server is failing, in percent.
const FAILING_PCT: u64 = 5;
/// How long nobody is called after a look that found it failing.
const CALLS_STOP_FOR: Duration = Duration::from_secs(10);
/// Fewer forwarded requests without a reply are no silence.
const SILENT_REQUESTS_MIN: u64 = 20;
const SILENCE_HOLDS_AFTER: Duration = Duration::from_secs(15);
const SILENCE_CUTS_AFTER: Duration = Duration::from_mins(1);
/// After a cut for latency the load gets this long to follow.
const HOLD_WHEN_SLOW: Duration = Duration::from_secs(30);
const SESSION_MIN_S: u64 = 10;
const SESSION_MAX_S: u64 = 900;
const SESSION_UNKNOWN_S: u64 = 120;
/// Looks over which the ending of sessions is averaged.
const ENDING_MEMORY: u64 = 12;

/// What the operator says of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginSettings {
    /// Median of the replies to gated requests that the shop is meant to have; 1 ms to 30 s.
    pub target_latency: Duration,
    /// Fewest sessions, however bad it looks; 1 to `capacity_max`.
    pub capacity_min: u32,
    /// Most sessions of all its rooms together.
    pub capacity_max: u32,
}

/// What rooms are to heed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Most sessions of all rooms together.
    pub capacity: u32,
    /// Why nobody is called, or why fewer are let in than the operator allows; `None` while all is well.
    pub reason: Option<Standstill>,
}

/// How the sessions of all rooms of a server stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OriginState {
    /// Sessions now.
    pub sessions: u32,
    /// Sessions that have ended, ever; it may begin anew.
    pub ended_total: u64,
}

/// The controller of one server.
///
/// Every 5 s the first that applies (`C` capacity, `A` sessions, `s` median, `L0` target, `S` length of a session):
/// - more than 5 % of the sessions saw errors: nobody is called for 10 s, and `C = 0.8·max(min(C, A), C/2)`;
/// - `s > 1.5·L0`: `C = max(min(C, A), C/2)·(0.7 + 0.3·max(0.5, 1.5·L0/s))`;
/// - requests are sent and nothing comes back: `C` stays after 15 s and is cut to `max(min(C, A), C/2)` after 60 s;
/// - `A > 0.8·C` and `s < L0`: `C` grows by `0.5·sqrt(C)`, or by up to 5 % where `s` is far below.
///
/// After a cut nothing changes until the load has had time to follow. The target is never learnt: a moving one drifts with
/// the overload that it should find.
#[derive(Clone, Debug)]
pub struct OriginHealth {
    settings: OriginSettings,
    capacity: u32,
    /// The capacity is lower than it was because of a cut.
    is_cut: bool,
    heard: OriginSample,
    heard_since: Timestamp,
    looked_at: Timestamp,
    held_until: Timestamp,
    calls_stop_until: Timestamp,
    /// Requests sent since the last reply, and since when.
    unanswered: u64,
    silent_since: Timestamp,
    ended_before: Option<u64>,
    /// Sessions that end between two looks, in thousandths, as a running mean.
    ending_milli: u64,
    /// The operator's word instead.
    fixed: Option<u32>,
}

impl OriginHealth {
    /// Of a server that nothing is known of yet: everything allowed is allowed.
    pub fn new(settings: OriginSettings, now: Timestamp) -> Self {
        Self {
            settings,
            capacity: settings.capacity_max,
            is_cut: false,
            heard: OriginSample::default(),
            heard_since: now,
            looked_at: now,
            held_until: now,
            calls_stop_until: now,
            unanswered: 0,
            silent_since: now,
            ended_before: None,
            ending_milli: 0,
            fixed: None,
        }
    }

    /// Hears what an edge saw.
    pub fn hear(&mut self, sample: &OriginSample, now: Timestamp) {
        if sample.ended() > 0 || self.unanswered == 0 {
            self.silent_since = now;
            self.unanswered = 0;
        }
        if sample.ended() == 0 {
            self.unanswered = self.unanswered.saturating_add(sample.forwarded.into());
        }
        self.heard.add(sample);
    }

    /// The operator fixes the capacity, whatever is heard, or lets it follow the server again. It is kept inside the bounds.
    pub fn fix(&mut self, capacity: Option<u32>) {
        self.fixed = capacity.map(|capacity| self.bounded(capacity));
        if self.fixed.is_none() {
            self.is_cut = self.capacity < self.settings.capacity_max;
        }
    }

    /// The operator's fixed capacity.
    pub fn fixed(&self) -> Option<u32> {
        self.fixed
    }

    /// What holds from `now` on. To be called about once a second.
    pub fn advise(&mut self, state: OriginState, now: Timestamp) -> Advice {
        if now < self.looked_at {
            // The clock stepped back: nothing is held for longer than it was to be.
            let back = self.looked_at.since(now);
            for moment in [&mut self.heard_since, &mut self.held_until, &mut self.calls_stop_until] {
                *moment = moment.saturating_sub(back);
            }
            self.silent_since = self.silent_since.saturating_sub(back);
            self.looked_at = now;
        }
        if now.since(self.looked_at) >= LOOK_EVERY {
            self.looked_at = now;
            self.look(state, now);
        }
        let reason = match self.fixed {
            Some(_) => None,
            None if now < self.calls_stop_until => Some(Standstill::OriginFailing),
            None => self.is_cut.then_some(Standstill::OriginSlow),
        };
        Advice { capacity: self.fixed.unwrap_or(self.capacity), reason }
    }

    fn look(&mut self, state: OriginState, now: Timestamp) {
        let session_s = self.session_s(state);
        let sessions = u64::from(state.sessions);
        let target_ms = u64::try_from(self.settings.target_latency.as_millis()).unwrap_or(u64::MAX).max(1);
        let capacity = u64::from(self.capacity);
        let in_use = capacity.min(sessions).max(capacity >> 1);
        let is_held = now < self.held_until;
        let is_heard = self.heard.ended() >= SAMPLES_MIN;
        let median_ms = self.heard.latencies.median_ms();
        let failing = u64::from(self.heard.failed_sessions).saturating_mul(100)
            > u64::from(self.heard.sessions).saturating_mul(FAILING_PCT);
        let slow_from_ms = target_ms.saturating_mul(3) >> 1;
        let slow = median_ms.is_some_and(|median_ms| median_ms > slow_from_ms);
        let silence = if self.unanswered >= SILENT_REQUESTS_MIN {
            now.since(self.silent_since)
        } else {
            Duration::ZERO
        };
        if is_heard && failing {
            self.calls_stop_until = now.saturating_add(CALLS_STOP_FOR);
            if !is_held {
                let follows_s = session_s.saturating_mul(LN_OF_5_4_MILLI).div_ceil(1_000);
                let hold = CALLS_STOP_FOR.saturating_add(Duration::from_secs(follows_s));
                self.cut(in_use.saturating_mul(800), now.saturating_add(hold));
            }
        } else if is_heard && slow && !is_held {
            let over =
                slow_from_ms.saturating_mul(1_000).checked_div(median_ms.unwrap_or(1)).unwrap_or(1_000);
            let kept_milli = over.clamp(500, 1_000).saturating_mul(3).div_ceil(10).saturating_add(700);
            self.cut(in_use.saturating_mul(kept_milli), now.saturating_add(HOLD_WHEN_SLOW));
        } else if silence >= SILENCE_CUTS_AFTER {
            self.silent_since = now;
            self.cut(in_use.saturating_mul(1_000), now.saturating_add(HOLD_WHEN_SLOW));
        } else if silence < SILENCE_HOLDS_AFTER
            && !is_held
            && let Some(median_ms) = median_ms
            && sessions.saturating_mul(5) > capacity.saturating_mul(4)
        {
            self.grow(median_ms, target_ms);
        }
        if is_heard || now.since(self.heard_since) >= WINDOW_MAX {
            self.heard = OriginSample::default();
            self.heard_since = now;
        }
    }

    fn cut(&mut self, capacity_milli: u64, held_until: Timestamp) {
        let capacity = u32::try_from(capacity_milli.checked_div(1_000).unwrap_or(0)).unwrap_or(u32::MAX);
        self.capacity = self.bounded(capacity).min(self.capacity);
        self.is_cut = true;
        self.held_until = self.held_until.max(held_until);
    }

    fn grow(&mut self, median_ms: u64, target_ms: u64) {
        let Some(left_ms) = target_ms.checked_sub(median_ms).filter(|left_ms| *left_ms > 0) else { return };
        let slowly = self.capacity.isqrt() >> 1;
        // All of 5 % where replies take half of the target.
        let room_ms = left_ms.saturating_mul(2).min(target_ms);
        let fast = u64::from(self.capacity).saturating_mul(room_ms).checked_div(target_ms.saturating_mul(20));
        let fast = u32::try_from(fast.unwrap_or(0)).unwrap_or(u32::MAX);
        self.capacity = self.bounded(self.capacity.saturating_add(slowly.max(fast).max(1)));
        self.is_cut &= self.capacity < self.settings.capacity_max;
    }

    fn bounded(&self, capacity: u32) -> u32 {
        let OriginSettings { capacity_min, capacity_max, .. } = self.settings;
        capacity.max(capacity_min).min(capacity_max)
    }

    /// How long a session lasts, by Little's law.
    fn session_s(&mut self, state: OriginState) -> u64 {
        let before = self.ended_before.replace(state.ended_total).unwrap_or(state.ended_total);
        let ended_milli = state.ended_total.saturating_sub(before).saturating_mul(1_000);
        let weighed = self.ending_milli.saturating_mul(ENDING_MEMORY.saturating_sub(1));
        self.ending_milli =
            weighed.saturating_add(ended_milli).checked_div(ENDING_MEMORY).unwrap_or(ended_milli);
        u64::from(state.sessions)
            .saturating_mul(LOOK_EVERY.as_secs().saturating_mul(1_000))
            .checked_div(self.ending_milli)
            .map_or(SESSION_UNKNOWN_S, |length_s| length_s.clamp(SESSION_MIN_S, SESSION_MAX_S))
    }
}

/// The natural logarithm of 1/0.8, in thousandths, rounded up: a load that ends exponentially falls by a fifth in so many
/// lengths of a session.
const LN_OF_5_4_MILLI: u64 = 224;
