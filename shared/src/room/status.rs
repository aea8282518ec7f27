//! What one ticket's owner is told, from the snapshot alone: the Worker and the queue server share this rule.

use super::{Pace, RoomSettings, pace::PACE_WINDOW};
use crate::{
    http::language::Language,
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
/// A pace with a wider error is a guess.
const MEASURED_ERROR_PCT_MAX: u32 = 100;

/// The personal status of `place`, with the operator's message in `language`; `None` where the ticket is of an earlier epoch or of no
/// lane, so that it is void. A ticket of a later epoch is newer than the snapshot: of its line nobody is called yet.
pub fn status(snapshot: &Snapshot, place: Place, now: Timestamp, language: Language) -> Option<Status> {
    let lane = snapshot.lanes.iter().find(|lane| lane.lane == place.lane)?;
    if place.epoch < snapshot.epoch || place.number == TicketNumber(0) {
        return None;
    }
    let begun_anew;
    let lane = if place.epoch == snapshot.epoch {
        lane
    } else {
        begun_anew = LaneSnapshot {
            next_number: place.number.next(),
            serving_number: TicketNumber(0),
            turn_end_number: TicketNumber(0),
            ahead: Vec::new(),
            ..lane.clone()
        };
        &begun_anew
    };
    let age = now.since(Timestamp::from_millis(snapshot.server_time_ms));
    let state = state_of(lane, place.number);
    let waiting = state == TicketState::Waiting;
    let position = live_ahead(lane, place.number);
    let pace = Pace { speed_milli_per_s: lane.speed_milli_per_s, error_pct: lane.speed_error_pct };
    let eta = eta(pace, position, stood_still_s(snapshot, lane));
    let polls = PollBounds {
        waiting: live_ahead(lane, lane.next_number),
        budget_per_s: snapshot.poll_budget_per_s,
        turn_grace_s: snapshot.turn_grace_s,
    };
    let seed = place.number.0 ^ snapshot.tick.rotate_left(32);
    Some(Status {
        event: snapshot.event.clone(),
        state,
        lane: lane.name.clone(),
        ticket_number: place.number,
        position: waiting.then_some(position),
        eta: waiting.then_some(eta),
        moved_at_ms: lane.moved_at_ms,
        next_poll_ms: if waiting { spread(polls.interval_ms(pace, eta), seed) } else { POLL_MIN_MS },
        phase: snapshot.phase,
        reason: snapshot.reason.clone(),
        message: snapshot.message.as_ref().map(|message| message.text(language).to_owned()),
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

/// The people with lower numbers than `number` who wait and are there, rounded down: each number counts by the share of its stretch,
/// which never rises.
fn live_ahead(lane: &LaneSnapshot, number: TicketNumber) -> u64 {
    let mut from = lane.serving_number.next();
    let (mut permille, mut sum_permille) = (1_000_u64, 0_u64);
    let end = (number, 0);
    for &(first, share) in lane.ahead.iter().take_while(|(first, _)| *first < number).chain([&end]) {
        let numbers = first.0.saturating_sub(from.0);
        sum_permille = sum_permille.saturating_add(numbers.saturating_mul(permille));
        (from, permille) = (from.max(first), share.into());
    }
    sum_permille.checked_div(1_000).unwrap_or(0)
}

/// How long nobody of the lane has been called, as far as the pace does not know it yet.
fn stood_still_s(snapshot: &Snapshot, lane: &LaneSnapshot) -> u64 {
    let moved_at = Timestamp::from_millis(lane.moved_at_ms);
    if moved_at == Timestamp::default() {
        return 0;
    }
    let still = Timestamp::from_millis(snapshot.server_time_ms).since(moved_at);
    still.min(PACE_WINDOW).as_secs()
}

/// `position / speed`, less and more by the pace's error; the upper end also carries the time between two polls. A line that has stood
/// still may do so as long again, whatever the pace was before.
fn eta(pace: Pace, position: u64, stood_still_s: u64) -> EtaRange {
    let spread = u64::from(pace.error_pct).saturating_add(100);
    let milli = position.saturating_add(1).saturating_mul(1_000);
    let at_speed =
        |milli: u64, speed: u64| if speed == 0 { ETA_MAX_S } else { milli.div_ceil(speed).min(ETA_MAX_S) };
    let low_s = at_speed(milli.saturating_mul(100).div_ceil(spread), pace.speed_milli_per_s);
    let high_s = at_speed(milli.saturating_mul(spread).div_ceil(100), pace.speed_milli_per_s);
    EtaRange { low_s, high_s: high_s.max(stood_still_s).saturating_add(POLL_SLACK_S) }
}

const ETA_MAX_S: u64 = 86_400;
const POLL_SLACK_S: u64 = 7;

/// What bounds the polls of a room.
struct PollBounds {
    waiting: u64,
    budget_per_s: u32,
    turn_grace_s: u64,
}

impl PollBounds {
    /// `max(5 s, a tenth of the wait, waiting / budget)`, but never more than half of the shortest wait, half of `turn_grace`, nor 300 s.
    /// So whoever asks when told to hears of a turn while more than a third of it is left, however wrong the estimate was.
    ///
    /// A pace that is not measured yet may be far too low: then only the budget counts, so that nobody sleeps through a turn.
    fn interval_ms(&self, pace: Pace, eta: EtaRange) -> u64 {
        let middle_s = eta.low_s.midpoint(eta.high_s);
        let by_budget = self.waiting.saturating_mul(1_000).div_ceil(u64::from(self.budget_per_s.max(1)));
        let wanted = match eta.low_s {
            _ if pace.error_pct > MEASURED_ERROR_PCT_MAX => by_budget,
            ..=NEAR_S => 0,
            _ => middle_s.saturating_mul(100).max(by_budget),
        };
        let half_low = eta.low_s.saturating_mul(500).max(POLL_MIN_MS);
        let half_grace = self.turn_grace_s.saturating_mul(500).max(POLL_MIN_MS);
        wanted.max(POLL_MIN_MS).min(half_low).min(half_grace).min(POLL_MAX_MS)
    }
}

/// When somebody who joins a lane behind `waiting` others is told to ask again, at the latest.
pub(super) fn newcomer_asks_after(settings: &RoomSettings, waiting: u64, pace: Pace) -> Duration {
    let polls = PollBounds {
        waiting,
        budget_per_s: settings.poll_budget_per_s,
        turn_grace_s: settings.turn_grace.as_secs(),
    };
    let interval_ms = polls.interval_ms(pace, eta(pace, waiting, PACE_WINDOW.as_secs()));
    Duration::from_millis(interval_ms.saturating_mul(6).div_ceil(5))
}

/// What a join is told by the `newest` snapshot, with no fewer people ahead than `behind` tells, which is one that some edge may
/// still answer polls from: nobody's position rises between a join and the polls after it, even where the queue server falls silent
/// in between. `None` as for [`status`].
pub fn status_at_join(
    newest: &Snapshot,
    behind: Option<&Snapshot>,
    place: Place,
    now: Timestamp,
    language: Language,
) -> Option<Status> {
    let told = status(newest, place, now, language)?;
    let later = behind
        .and_then(|behind| status(behind, place, now, language))
        .filter(|later| told.position.is_some() && later.position > told.position);
    Some(match later {
        Some(later) => Status { position: later.position, eta: later.eta, ..told },
        None => told,
    })
}

/// `delta` times 0.8 to 1.2, the same for the same seed: the crowd is spread without a random source.
fn spread(delta_ms: u64, seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let per_mille = 800_u64.saturating_add((mixed >> 33).checked_rem(401).unwrap_or(0));
    delta_ms.saturating_mul(per_mille).checked_div(1_000).unwrap_or(delta_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ids::{Epoch, EventId, LaneId},
        wire::Phase,
    };

    const NOW: Timestamp = Timestamp::from_millis(1_764_480_000_000);

    fn snapshot(serving: u64, speed_milli_per_s: u64, speed_error_pct: u32) -> Snapshot {
        let lane = LaneSnapshot {
            lane: LaneId(0),
            name: "guest".to_owned(),
            next_number: TicketNumber(10_001),
            serving_number: TicketNumber(serving),
            speed_milli_per_s,
            speed_error_pct,
            moved_at_ms: NOW.as_millis(),
            turn_end_number: TicketNumber(serving.saturating_sub(100)),
            ahead: Vec::new(),
        };
        Snapshot {
            v: 1,
            event: EventId::parse("drop").unwrap(),
            epoch: Epoch(1),
            tick: 7,
            phase: Phase::Open,
            server_time_ms: NOW.as_millis(),
            redeemable_time_s: 0,
            lanes: vec![lane],
            session_free: false,
            turn_grace_s: 300,
            poll_budget_per_s: 1_000,
            ended_seq: 0,
            reason: None,
            message: None,
            everyone_in: false,
        }
    }

    fn told(snapshot: &Snapshot, number: u64) -> Status {
        let place = Place { epoch: Epoch(1), lane: LaneId(0), number: TicketNumber(number) };
        status(snapshot, place, NOW, Language::En).unwrap()
    }

    #[test]
    fn a_join_is_told_no_fewer_people_ahead_than_a_poll_from_an_older_snapshot() {
        let place = Place { epoch: Epoch(1), lane: LaneId(0), number: TicketNumber(10_000) };
        let told = |newest: &Snapshot, behind: Option<&Snapshot>| {
            status_at_join(newest, behind, place, NOW, Language::En).unwrap()
        };
        let (newest, behind) = (snapshot(340, 33_200, 60), snapshot(300, 33_200, 60));
        let polled = status(&behind, place, NOW, Language::En).unwrap();
        let joined = told(&newest, Some(&behind));
        assert_eq!((joined.position, joined.eta), (Some(9_699), polled.eta));
        assert_eq!(told(&newest, None).position, Some(9_659));
        assert_eq!(
            told(&behind, Some(&newest)).position,
            Some(9_699),
            "the older one never lowers a position"
        );
        let called = told(&snapshot(10_000, 33_200, 60), Some(&behind));
        assert_eq!((called.state, called.position), (TicketState::Called, None), "a call is told at once");
    }

    #[test]
    fn a_ticket_waits_then_is_called_then_late() {
        let snapshot = snapshot(340, 33_200, 60);
        for (number, state, position) in [
            (10_000, TicketState::Waiting, Some(9_659)),
            (341, TicketState::Waiting, Some(0)),
            (340, TicketState::Called, None),
            (241, TicketState::Called, None),
            (240, TicketState::Late, None),
        ] {
            let status = told(&snapshot, number);
            assert_eq!((status.state, status.position), (state, position), "number {number}");
            assert_eq!(status.eta.is_some(), position.is_some());
        }
    }

    #[test]
    fn the_range_follows_the_pace_and_its_error() {
        assert_eq!(told(&snapshot(0, 10_000, 0), 1_000).eta, Some(EtaRange { low_s: 100, high_s: 107 }));
        assert_eq!(told(&snapshot(0, 10_000, 100), 1_000).eta, Some(EtaRange { low_s: 50, high_s: 207 }));
        assert_eq!(told(&snapshot(0, 0, 60), 1).eta, Some(EtaRange { low_s: 86_400, high_s: 86_407 }));
    }

    #[test]
    fn a_line_that_stands_still_promises_no_turn_within_the_minute() {
        let stood = |still: Duration| {
            let mut snapshot = snapshot(340, 10_000, 0);
            snapshot.lanes[0].moved_at_ms = NOW.saturating_sub(still).as_millis();
            told(&snapshot, 341).eta
        };
        assert_eq!(stood(Duration::from_secs(1)), Some(EtaRange { low_s: 1, high_s: 8 }));
        assert_eq!(stood(Duration::from_secs(120)), Some(EtaRange { low_s: 1, high_s: 127 }));
        assert_eq!(
            stood(Duration::from_secs(3_600)),
            Some(EtaRange { low_s: 1, high_s: 187 }),
            "as the pace knows it by then"
        );
    }

    #[test]
    fn polls_keep_the_budget_and_the_near_ask_often() {
        let within = |got: u64, want: u64| (want * 8 / 10..=want * 12 / 10).contains(&got);
        let near = told(&snapshot(0, 10_000, 0), 100).next_poll_ms;
        assert!(within(near, 5_000), "near the turn: {near}");
        let far = told(&snapshot(0, 10_000, 0), 10_000).next_poll_ms;
        assert!(within(far, 100_000), "a tenth of 1,000 s: {far}");
        let crowded = Snapshot { poll_budget_per_s: 40, turn_grace_s: 600, ..snapshot(0, 10_000, 0) };
        let budget = told(&crowded, 10_000).next_poll_ms;
        assert!(within(budget, 250_025), "10,001 people at 40 polls a second: {budget}");
        let guessed = told(&snapshot(0, 10_000, 300), 10_000).next_poll_ms;
        assert!(within(guessed, 10_001), "a guessed wait counts for nothing: {guessed}");
        let short_turns = Snapshot { turn_grace_s: 100, ..crowded };
        let heard = told(&short_turns, 10_000).next_poll_ms;
        assert!(within(heard, 50_000), "never beyond half of a turn: {heard}");
        let short = Snapshot { poll_budget_per_s: 1, ..snapshot(0, 10_000, 0) };
        let capped = told(&short, 2_000).next_poll_ms;
        assert!(within(capped, 100_000), "never beyond half of the shortest wait: {capped}");
    }

    #[test]
    fn a_snapshot_is_stale_after_ten_seconds() {
        let snapshot = snapshot(0, 10_000, 0);
        let place = Place { epoch: Epoch(1), lane: LaneId(0), number: TicketNumber(5) };
        let after = |span| status(&snapshot, place, NOW.saturating_add(span), Language::En).unwrap().stale;
        assert!(!after(STALE_AFTER));
        assert!(after(STALE_AFTER.saturating_add(Duration::from_millis(1))));
    }

    #[test]
    fn a_ticket_that_is_newer_than_the_snapshot_waits() {
        let snapshot = snapshot(340, 10_000, 0);
        let place = Place { epoch: Epoch(2), lane: LaneId(0), number: TicketNumber(5) };
        let status = status(&snapshot, place, NOW, Language::En).unwrap();
        assert_eq!((status.state, status.position), (TicketState::Waiting, Some(4)));
    }

    #[test]
    fn a_ticket_of_an_earlier_epoch_or_of_no_lane_or_without_number_is_void() {
        let snapshot = snapshot(0, 10_000, 0);
        let place = Place { epoch: Epoch(1), lane: LaneId(0), number: TicketNumber(5) };
        assert_eq!(status(&snapshot, Place { epoch: Epoch(0), ..place }, NOW, Language::En), None);
        assert_eq!(status(&snapshot, Place { lane: LaneId(1), ..place }, NOW, Language::En), None);
        assert_eq!(status(&snapshot, Place { number: TicketNumber(0), ..place }, NOW, Language::En), None);
    }
}
