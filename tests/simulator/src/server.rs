//! The shop's own server: how long it takes, what edges report of it, and how its rooms share what it can bear.
//!
//! The controller and the shares are the production code; the server is modelled as a queue in front of a thing of fixed speed.

use crate::scenario::ServerModel;
use shared::{
    origin::{OriginSample, SharedOrigin, latency_bucket},
    room::{Facts, Heeded},
    time::Timestamp,
};

/// One server with its rooms.
pub(crate) struct Server {
    model: ServerModel,
    origin: SharedOrigin,
    weights: Vec<u32>,
    /// People really inside, by room.
    inside: Vec<u32>,
    /// Work that waits, in seconds.
    backlog_s: f64,
    /// Every second of the run.
    pub(crate) seconds: Vec<ServerSecond>,
}

/// One second of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerSecond {
    /// How long replies take.
    pub(crate) latency_ms: f64,
    /// Sessions with which replies take the target.
    pub(crate) safe: f64,
    /// People inside, of all rooms.
    pub(crate) inside: u32,
}

impl Server {
    pub(crate) fn new(model: ServerModel, weights: Vec<u32>, now: Timestamp) -> Self {
        let rooms = weights.len();
        let origin = SharedOrigin::new(model.settings, rooms, now);
        Self { model, origin, weights, inside: vec![0; rooms], backlog_s: 0.0, seconds: Vec::new() }
    }

    /// What a room heeds at its tick.
    pub(crate) fn heed(&mut self, room: usize, facts: &Facts) -> Heeded {
        self.origin.heed(room, self.weights[room], facts)
    }

    /// The room has done so; people who are really inside make the load.
    pub(crate) fn heeded(&mut self, room: usize, heeded: Heeded, facts: &Facts, inside: u32) {
        self.origin.heeded(room, heeded, facts);
        self.inside[room] = inside;
    }

    /// A second is over: the edges report it.
    pub(crate) fn second(&mut self, at_s: u32, now: Timestamp) {
        let safe = self.model.safe_sessions(at_s);
        let inside: u32 = self.inside.iter().sum();
        let load = f64::from(inside) / (safe * AT_ITS_LIMIT);
        self.backlog_s = (self.backlog_s + load - 1.0).clamp(0.0, BACKLOG_MAX_S);
        let idle_ms = self.model.settings.target_latency.as_secs_f64() * 1_000.0 * (1.0 - 1.0 / AT_ITS_LIMIT);
        let latency_ms = idle_ms / (1.0 - load.min(0.98)) + self.backlog_s * 1_000.0;
        let requests = (f64::from(inside) * self.model.requests_per_session_s).round() as u32;
        let failed = if latency_ms > TIME_OUT_MS { requests / 2 } else { 0 };
        let mut sample = OriginSample {
            forwarded: requests,
            failed,
            sessions: requests,
            failed_sessions: failed,
            ..OriginSample::default()
        };
        sample.latencies.add(latency_bucket(latency_ms as u32), requests - failed);
        self.origin.hear(&sample, now);
        self.seconds.push(ServerSecond { latency_ms, safe, inside });
    }

    /// From the loss until replies take 1.5 times the target at most and go on to for a minute, in seconds.
    pub(crate) fn restored_after_s(&self) -> Option<f64> {
        let loss = self.model.loss?;
        let slow_ms = self.model.settings.target_latency.as_secs_f64() * 1_500.0;
        let mut last_slow_s = loss.from_s;
        for (at_s, second) in (0_u32..).zip(&self.seconds) {
            let lasts = (loss.from_s..loss.until_s).contains(&at_s) && at_s < last_slow_s + CALM_S;
            if lasts && second.latency_ms > slow_ms {
                last_slow_s = at_s;
            }
        }
        Some(f64::from(last_slow_s - loss.from_s))
    }

    /// People inside ÷ what is safe, the lesser of both in each second.
    pub(crate) fn use_of_safe(&self) -> f64 {
        let used: f64 = self.seconds.iter().map(|second| f64::from(second.inside).min(second.safe)).sum();
        used / self.seconds.iter().map(|second| second.safe).sum::<f64>()
    }

    /// Share of the time in which replies take more than 1.5 times the target, in percent.
    pub(crate) fn slow_percent(&self) -> f64 {
        let slow_ms = self.model.settings.target_latency.as_secs_f64() * 1_500.0;
        let slow = self.seconds.iter().filter(|second| second.latency_ms > slow_ms).count();
        slow as f64 * 100.0 / self.seconds.len() as f64
    }

    /// What the rooms may have together now.
    pub(crate) fn capacity(&self) -> u32 {
        self.origin.advice().capacity
    }
}

/// At so many times its safe load the server does all that it can.
const AT_ITS_LIMIT: f64 = 1.25;
const BACKLOG_MAX_S: f64 = 30.0;
/// Half of the replies that take longer do not come.
const TIME_OUT_MS: f64 = 10_000.0;
/// A server is well again when it was for so long.
const CALM_S: u32 = 60;
