//! A host that comes back with another clock.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod driven;

use driven::{Driven, device, settings};
use shared::{
    room::{Extender, RoomSettings},
    time::Timestamp,
};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);

/// The process ends, and the next one has a clock that says `now`.
fn come_back(driven: &mut Driven, now: Timestamp) {
    driven.room.recover().unwrap();
    driven.now = now;
}

fn full_room() -> (Driven, Vec<shared::ids::Place>) {
    let mut driven = Driven::new(settings(3));
    driven.now = Timestamp::from_millis(1_796_000_000_000);
    let inside = (1..=3).map(|id| driven.joins(id, true).0).collect();
    driven.tick();
    (driven, inside)
}

#[test]
fn a_clock_that_jumps_while_the_server_is_down_ends_no_session_and_opens_no_door() {
    for ahead in [true, false] {
        let (mut driven, inside) = full_room();
        let now = if ahead { driven.now.saturating_add(HOUR) } else { driven.now.saturating_sub(HOUR) };
        come_back(&mut driven, now);
        assert_eq!(driven.sessions(), 3);
        assert_eq!(driven.redeem(inside[0]), Ok(false));
        let waiting = driven.join(9);
        driven.tick();
        assert_ne!(driven.redeem(waiting), Ok(true));
        let session = driven.room.renew(driven.now, inside[0]).unwrap();
        assert_eq!(session.expires_at.since(driven.now), settings(3).pass_life, "told by the host's clock");
        let extended = driven.room.extend(driven.now, inside[1], Extender::Buyer).unwrap();
        assert_eq!(extended.expires_at.since(driven.now), settings(3).pass_life, "so is an extension");
        driven.room.abandon(driven.now, inside[2], device(3)).unwrap();
        assert_eq!(driven.sessions(), 2, "who gives the place up leaves, and nobody else");
        driven.room.finish(driven.now, inside[0]).unwrap();
        driven.tick();
        assert_eq!(
            driven.redeem(waiting),
            Ok(true),
            "the door does not stand still until the clock has caught up"
        );
    }
}

#[test]
fn sessions_still_end_by_the_time_that_passes() {
    let (mut driven, _) = full_room();
    let an_hour_before = driven.now.saturating_sub(HOUR);
    come_back(&mut driven, an_hour_before);
    driven.sessions();
    driven.now = driven.now.saturating_add(settings(3).pass_life);
    assert_eq!(driven.sessions(), 0);
}

/// Passes of a process whose clock was an hour ahead would outlive their sessions by an hour.
#[test]
fn a_session_that_ends_before_its_pass_is_in_the_feed() {
    let (mut driven, inside) = full_room();
    assert!(driven.room.ended_after(0).ended.is_empty());
    let an_hour_before = driven.now.saturating_sub(HOUR);
    come_back(&mut driven, an_hour_before);
    driven.sessions();
    driven.now = driven.now.saturating_add(settings(3).pass_life);
    driven.sessions();
    let told: Vec<_> = driven.room.ended_after(0).ended.iter().map(|(_, _, number)| *number).collect();
    assert_eq!(told.len(), 3);
    assert!(inside.iter().all(|place| told.contains(&place.number)));
    driven.now = driven.now.saturating_add(HOUR * 2);
    driven.sessions();
    assert!(driven.room.ended_after(0).ended.is_empty(), "until the passes are over too");
}

#[test]
fn without_a_jump_an_end_by_time_is_no_news() {
    let (mut driven, _) = full_room();
    driven.now = driven.now.saturating_add(settings(3).pass_life);
    assert_eq!(driven.sessions(), 0);
    assert!(driven.room.ended_after(0).ended.is_empty());
}

#[test]
fn the_schedule_follows_the_host() {
    let opens_at = Timestamp::from_millis(1_796_000_000_000);
    let mut driven = Driven::new(RoomSettings { opens_at: Some(opens_at), ..settings(3) });
    driven.now = opens_at.saturating_sub(HOUR * 2);
    driven.tick();
    come_back(&mut driven, opens_at.saturating_sub(Duration::from_secs(2)));
    driven.tick();
    assert!(!driven.room.expire(driven.now).phase.lets_in());
    driven.tick();
    assert!(driven.room.expire(driven.now).phase.lets_in());
}
