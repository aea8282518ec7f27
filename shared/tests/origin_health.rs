//! Capacity that follows the shop's server: what a controller does with what it hears, and how well it does over a long sale
//! beside a model of a server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the model of a server counts in fractions"
)]

use core::time::Duration;
use shared::origin::{Advice, OriginHealth, OriginSample, OriginSettings, OriginState, latency_bucket};
use shared::room::Standstill;
use shared::time::Timestamp;

const SETTINGS: OriginSettings =
    OriginSettings { target_latency: Duration::from_millis(400), capacity_min: 50, capacity_max: 1_000 };

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000_000 + seconds * 1_000)
}

/// What edges see in a second: so many replies that take `ms`, each of a session of its own, of which `failed` fail.
fn replies(count: u32, ms: u32, failed: u32) -> OriginSample {
    let mut sample = OriginSample {
        forwarded: count,
        failed,
        sessions: count,
        failed_sessions: failed,
        ..Default::default()
    };
    sample.latencies.add(latency_bucket(ms), count - failed);
    sample
}

/// A controller that hears `sample` each second with so many sessions inside; its advice at the end.
fn after(
    health: &mut OriginHealth,
    seconds: std::ops::Range<u64>,
    sample: &OriginSample,
    sessions: u32,
) -> Advice {
    let mut advice = None;
    for second in seconds {
        health.hear(sample, at(second));
        advice = Some(health.advise(OriginState { sessions, ended_total: second * 7 }, at(second)));
    }
    advice.unwrap()
}

#[test]
fn a_server_that_is_well_keeps_all_it_has() {
    let mut health = OriginHealth::new(SETTINGS, at(0));
    let advice = after(&mut health, 1..60, &replies(50, 100, 0), 1_000);
    assert_eq!(advice, Advice { capacity: 1_000, reason: None });
}

#[test]
fn errors_of_many_sessions_stop_calls_within_five_seconds_and_cut() {
    let mut health = OriginHealth::new(SETTINGS, at(0));
    after(&mut health, 1..11, &replies(50, 100, 0), 1_000);
    let advice = after(&mut health, 11..17, &replies(50, 100, 20), 1_000);
    assert_eq!(advice, Advice { capacity: 800, reason: Some(Standstill::OriginFailing) });
    // One cut is enough until the load has followed.
    let advice = after(&mut health, 17..30, &replies(50, 100, 20), 1_000);
    assert_eq!(advice, Advice { capacity: 800, reason: Some(Standstill::OriginFailing) });
    // It is well again: calls go on, and the capacity comes back once the server may be asked for more.
    let advice = after(&mut health, 30..45, &replies(50, 100, 0), 700);
    assert_eq!(advice, Advice { capacity: 800, reason: Some(Standstill::OriginSlow) });
    let advice = after(&mut health, 45..300, &replies(50, 100, 0), 1_000);
    assert_eq!(advice, Advice { capacity: 1_000, reason: None });
}

#[test]
fn one_session_that_fails_again_and_again_is_one_session() {
    let mut health = OriginHealth::new(SETTINGS, at(0));
    let sample = OriginSample { sessions: 50, failed_sessions: 1, ..replies(90, 100, 40) };
    let advice = after(&mut health, 1..30, &sample, 1_000);
    assert_eq!(advice.reason, None);
}

#[test]
fn slow_replies_cut_by_how_slow_they_are() {
    for (ms, capacity) in [(500, 1_000), (700, 957), (900, 900), (1_200, 850), (10_000, 850)] {
        let mut health = OriginHealth::new(SETTINGS, at(0));
        let advice = after(&mut health, 1..7, &replies(50, ms, 0), 1_000);
        assert!(advice.capacity.abs_diff(capacity) <= 30, "{ms} ms: {advice:?}, not {capacity}");
    }
}

#[test]
fn a_cut_goes_by_who_is_inside_and_never_under_half_nor_the_least() {
    let check = |sessions, expected| {
        let mut health = OriginHealth::new(SETTINGS, at(0));
        let advice = after(&mut health, 1..7, &replies(50, 100, 50), sessions);
        assert_eq!(advice.capacity, expected);
    };
    check(900, 720);
    check(100, 400);
    let mut health = OriginHealth::new(OriginSettings { capacity_min: 700, ..SETTINGS }, at(0));
    assert_eq!(after(&mut health, 1..7, &replies(50, 100, 50), 100).capacity, 700);
}

#[test]
fn few_replies_cut_nothing_but_are_added_up() {
    let mut health = OriginHealth::new(SETTINGS, at(0));
    let advice = after(&mut health, 1..20, &replies(5, 100, 5), 900);
    assert_eq!(advice.capacity, 1_000);
    let advice = after(&mut health, 20..27, &replies(5, 100, 5), 900);
    assert_eq!(advice.capacity, 720, "a hundred came together within a minute");
    let mut health = OriginHealth::new(SETTINGS, at(0));
    let advice = after(&mut health, 1..300, &replies(1, 100, 1), 900);
    assert_eq!(advice.capacity, 1_000, "a hundred never come together within a minute");
}

#[test]
fn silence_counts_only_when_requests_were_sent() {
    let sent = |count| OriginSample { forwarded: count, ..Default::default() };
    let mut health = OriginHealth::new(SETTINGS, at(0));
    assert_eq!(after(&mut health, 1..300, &sent(0), 1_000).capacity, 1_000);
    let mut health = OriginHealth::new(SETTINGS, at(0));
    assert_eq!(after(&mut health, 1..55, &sent(30), 400).capacity, 1_000);
    assert_eq!(after(&mut health, 55..70, &sent(30), 400).capacity, 500);
    assert_eq!(after(&mut health, 70..136, &sent(30), 100).capacity, 250, "and again a minute later");
}

#[test]
fn the_operator_may_fix_it_and_let_go() {
    let mut health = OriginHealth::new(SETTINGS, at(0));
    health.fix(Some(600));
    let advice = after(&mut health, 1..30, &replies(50, 100, 50), 600);
    assert_eq!(advice, Advice { capacity: 600, reason: None });
    health.fix(Some(5));
    assert_eq!(health.fixed(), Some(50), "inside the bounds");
    health.fix(None);
    assert!(after(&mut health, 30..31, &replies(50, 100, 50), 600).capacity < 1_000);
}

#[test]
fn a_clock_that_steps_back_holds_nothing_for_longer() {
    let mut health = OriginHealth::new(SETTINGS, at(100_000));
    after(&mut health, 100_001..100_010, &replies(50, 100, 50), 1_000);
    let advice = after(&mut health, 1..120, &replies(50, 100, 0), 1_000);
    assert_eq!(advice.reason, None);
    assert_eq!(advice.capacity, 1_000);
}

/// A server with a queue in front: replies take the target at its safe load, and ever longer where more comes than it does.
struct Server {
    backlog_s: f64,
}

impl Server {
    fn latency_ms(&mut self, sessions: f64, safe: f64) -> f64 {
        // Five fourths of the safe load are all that it can do.
        let load = sessions / (safe * 1.25);
        self.backlog_s = (self.backlog_s + (load - 1.0)).clamp(0.0, 30.0);
        400.0 * 0.2 / (1.0 - load.min(0.98)) + self.backlog_s * 1_000.0
    }
}

/// What came of a run of 6,000 s in which the server loses half at 2,000 s and has it back at 4,000 s.
struct Run {
    /// Share of the safe load that was inside.
    use_of_safe: f64,
    /// From the loss until replies take the target again and go on to, for a minute.
    restored_after_s: u64,
    /// Share of the time in which replies took more than 1.5 times the target.
    slow_share: f64,
}

fn run(session_s: f64, requests_per_session_s: f64) -> Run {
    let settings = OriginSettings { capacity_max: 2_000, ..SETTINGS };
    let (mut health, mut server) = (OriginHealth::new(settings, at(0)), Server { backlog_s: 0.0 });
    let (mut sessions, mut ended, mut used, mut safe_all) = (0.0_f64, 0.0_f64, 0.0, 0.0);
    let (mut capacity, mut may_call) = (1_000_u32, true);
    let (mut last_slow, mut slow_seconds) = (2_000, 0_u64);
    for second in 0..6_000_u64 {
        let safe = if (2_000..4_000).contains(&second) { 500.0 } else { 1_000.0 };
        let ending = sessions / session_s;
        sessions -= ending;
        ended += ending;
        if may_call {
            sessions += (f64::from(capacity) - sessions).clamp(0.0, 50.0);
        }
        let latency_ms = server.latency_ms(sessions, safe);
        let count = (sessions * requests_per_session_s).round();
        let failed = if latency_ms > 10_000.0 { count / 2.0 } else { 0.0 };
        health.hear(&replies(count as u32, latency_ms as u32, failed as u32), at(second));
        let state = OriginState { sessions: sessions.round() as u32, ended_total: ended as u64 };
        let advice = health.advise(state, at(second));
        (capacity, may_call) = (advice.capacity, advice.reason != Some(Standstill::OriginFailing));
        used += sessions.min(safe);
        safe_all += safe;
        slow_seconds += u64::from(latency_ms > 600.0);
        if (2_000..4_000).contains(&second) && latency_ms > 600.0 && second < last_slow + 60 {
            last_slow = second;
        }
    }
    Run {
        use_of_safe: used / safe_all,
        restored_after_s: last_slow - 2_000,
        slow_share: slow_seconds as f64 / 6_000.0,
    }
}

#[test]
fn the_capacity_follows_a_server_that_loses_half_and_has_it_back() {
    for (session_s, rate) in [(150.0, 0.1), (60.0, 0.2), (300.0, 0.05)] {
        let Run { use_of_safe, restored_after_s, slow_share } = run(session_s, rate);
        println!(
            "S = {session_s} s: use {use_of_safe:.3}, restored after {restored_after_s} s, slow {slow_share:.3}"
        );
        assert!(use_of_safe >= 0.95, "{use_of_safe}");
        assert!(restored_after_s as f64 <= 1.5 * session_s, "{restored_after_s} s");
        assert!(slow_share <= 0.06, "{slow_share}");
    }
}
