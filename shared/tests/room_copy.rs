//! A room that goes on from a copy older than what its buyers were told.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod driven;

use driven::{Driven, device, request, settings};
use shared::{
    ids::{Place, TicketNumber},
    room::{BURNED_MAX, EnterRefusal, Room, SinceCopy},
};
use std::collections::BTreeSet;

/// Six have joined, a copy is made, and `since` more join before the copy takes the room's place.
fn copied(since: u16) -> (Driven, Vec<Place>, Vec<Place>) {
    let mut driven = Driven::new(settings(2));
    let before = (1..=6).map(|id| driven.joins(id, true).0).collect();
    driven.tick();
    let copy = driven.room.records();
    let after = (100..100 + since).map(|id| driven.join(id)).collect();
    driven.room = Room::restore(settings(2), copy).unwrap();
    (driven, before, after)
}

#[test]
fn numbers_that_were_given_since_are_given_to_nobody_else() {
    for (since, joined) in [(0, 0), (1, 1), (200, 200), (3_000, 3_000), (200, 5_000)] {
        let (mut driven, before, after) = copied(since);
        let facts =
            driven.room.resume_from_copy(driven.now, "test", SinceCopy::JoinedAtMost(joined)).unwrap();
        assert_eq!((facts.sessions, facts.lanes[0].waiting), (2, 4), "who is in the copy");
        driven.room.recover().unwrap();
        let known: BTreeSet<TicketNumber> = before.iter().chain(&after).map(|place| place.number).collect();
        for id in 9_000..9_200 {
            let place = driven.join(id);
            assert_eq!(place.epoch, before[0].epoch);
            assert!(!known.contains(&place.number), "{since} {joined}: {place:?}");
        }
        assert_eq!(driven.join(6), before[5], "a place of the copy");
        assert_eq!(driven.redeem(before[0]), Ok(false), "a session of the copy");
    }
}

#[test]
fn who_joined_since_keeps_the_place() {
    let (mut driven, before, after) = copied(50);
    driven.room.resume_from_copy(driven.now, "test", SinceCopy::JoinedAtMost(50)).unwrap();
    let last = driven.join(9_000);
    for id in 1..=2 {
        driven.room.abandon(driven.now, before[usize::from(id) - 1], device(id)).unwrap();
    }
    for place in &before[2..] {
        driven.tick();
        assert!(driven.redeem(*place).is_ok());
        driven.room.finish(driven.now, *place).unwrap();
    }
    driven.tick();
    assert_eq!(driven.redeem(after[0]), Ok(true), "behind those of the copy, without waiting for anybody");
    assert!(after.iter().all(|place| place.number < last.number));
}

#[test]
fn where_nothing_is_known_every_ticket_is_void_and_sessions_stay() {
    let (mut driven, before, after) = copied(50);
    let facts = driven.room.resume_from_copy(driven.now, "test", SinceCopy::Unknown).unwrap();
    assert_eq!((facts.sessions, facts.epoch.0), (2, before[0].epoch.0 + 1));
    assert_eq!(driven.redeem(after[0]), Err(EnterRefusal::Void));
    assert_eq!(driven.redeem(before[3]), Err(EnterRefusal::Void));
    assert_eq!(driven.join(4).number, TicketNumber(1));
}

#[test]
fn more_than_the_most_is_the_most() {
    let (mut driven, _, _) = copied(0);
    let next = |driven: &mut Driven| driven.room.expire(driven.now).lanes[0].next_number.0;
    let before = next(&mut driven);
    driven.room.resume_from_copy(driven.now, "test", SinceCopy::JoinedAtMost(u64::MAX)).unwrap();
    assert_eq!(next(&mut driven), before + BURNED_MAX);
    assert!(driven.room.join(driven.now, request(1, false)).is_ok());
}
