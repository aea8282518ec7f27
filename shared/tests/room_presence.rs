//! Who left without a word holds nobody up and misleads nobody.

#![expect(clippy::expect_used, reason = "a step that fails fails the test")]

mod driven;

use driven::{Driven, settings};
use shared::{
    http::language::Language,
    ids::{EventId, Place},
    room::{CallOrder, Heard, Planted, snapshot, status},
    wire::{Snapshot, Status},
};
use std::time::Duration;

const AGAIN: Duration = Duration::from_secs(5);

/// The public state after this second's calls.
fn published(driven: &mut Driven, order: &CallOrder) -> Snapshot {
    let facts = driven.room.expire(driven.now);
    let free = driven.room.session_free(driven.now);
    let event = EventId::parse("drop").expect("a valid name");
    snapshot(&event, driven.room.settings(), &facts, order, free, Planted::default())
}

fn told(driven: &mut Driven, order: &CallOrder, place: Place) -> Status {
    let public = published(driven, order);
    status(&public, place, driven.now, Language::En).expect("this epoch")
}

/// Seconds in which those of `present` ask again and again, without trying the door.
fn wait(driven: &mut Driven, seconds: u32, present: &[Place]) -> CallOrder {
    let mut order = CallOrder::default();
    for second in 0..seconds {
        if second % 5 == 0 {
            let heard: Vec<Heard> = present.iter().map(|&place| Heard { place, again: AGAIN }).collect();
            driven.room.hear(driven.now, &heard);
        }
        order = driven.tick();
    }
    order
}

/// Once, calling stopped before such a line, because nobody came, and an arrival waited an hour and a half behind a thousand people
/// who were gone.
#[test]
fn an_arrival_behind_a_line_of_people_who_left_enters_an_empty_shop_within_seconds() {
    let mut driven = Driven::new(settings(100));
    for id in 0..1_000 {
        driven.join(id);
    }
    wait(&mut driven, 300, &[]);
    let (arrival, inside) = driven.joins(2_000, true);
    assert!(!inside, "so far nobody can tell those who left from those who cannot get through");
    let called = (0..20).find(|_| {
        wait(&mut driven, 1, &[arrival]);
        driven.redeem(arrival) == Ok(true)
    });
    assert!(called.is_some(), "still waiting after 20 s");
    let (_, inside) = driven.joins(2_001, true);
    assert!(inside, "the next one finds no line");
}

#[test]
fn positions_count_those_who_are_there_and_estimates_follow() {
    let mut driven = Driven::new(settings(1));
    let places: Vec<Place> = (0..10).map(|id| driven.join(id)).collect();
    let order = driven.tick();
    driven.redeem(places[0]).expect("called");
    let last = places[9];
    assert_eq!(told(&mut driven, &order, last).position, Some(8));
    let order = wait(&mut driven, 90, &[places[5], last]);
    let public = published(&mut driven, &order);
    let mut of_all = public.clone();
    of_all.lanes[0].ahead.clear();
    let [there, all] =
        [public, of_all].map(|public| status(&public, last, driven.now, Language::En).expect("this epoch"));
    assert_eq!((there.position, all.position), (Some(1), Some(4)), "gone ones in front are called at once");
    let high_s = |told: &Status| told.eta.expect("waiting").high_s;
    assert!(high_s(&there) < high_s(&all) / 2, "{:?}, and of all {:?}", there.eta, all.eta);
}

#[test]
fn whoever_comes_back_still_has_their_turn_and_raises_nobody_s_position() {
    let mut driven = Driven::new(settings(1));
    let places: Vec<Place> = (0..4).map(|id| driven.join(id)).collect();
    driven.tick();
    driven.redeem(places[0]).expect("called");
    let order = wait(&mut driven, 90, &[places[3]]);
    assert_eq!(told(&mut driven, &order, places[3]).position, Some(0));
    let order = wait(&mut driven, 10, &places[1..]);
    assert_eq!(told(&mut driven, &order, places[3]).position, Some(0), "a position never rises");
    driven.room.finish(driven.now, places[0]).expect("inside");
    driven.tick();
    assert_eq!(driven.redeem(places[1]), Ok(true), "first come, first served, gone or not");
}

/// Once, the first reply counted those who had entered since the last snapshot, so the only one who waited was told "50 ahead".
#[test]
fn a_first_position_counts_nobody_who_is_inside() {
    let mut driven = Driven::new(settings(50));
    let order = driven.tick();
    let stale = published(&mut driven, &order);
    for id in 0..50 {
        assert!(driven.joins(id, true).1);
    }
    let request = driven::request(50, true);
    let joined = driven.room.join(driven.now, request).expect("an open room takes joins");
    assert_eq!(joined.session, None);
    let fresh = stale.after_calls(joined.place.lane, joined.serving_number);
    let told = status(&fresh, joined.place, driven.now, Language::En).expect("this epoch");
    assert_eq!(told.position, Some(0));
}

/// Restarts forget who was heard of, but not what positions were told.
#[test]
fn a_restart_raises_no_position() {
    let mut driven = Driven::new(settings(1));
    let places: Vec<Place> = (0..10).map(|id| driven.join(id)).collect();
    driven.tick();
    driven.redeem(places[0]).expect("called");
    let order = wait(&mut driven, 90, &[places[9]]);
    assert_eq!(told(&mut driven, &order, places[9]).position, Some(0));
    driven.room.recover().expect("its own records fit");
    let order = driven.tick();
    assert_eq!(told(&mut driven, &order, places[9]).position, Some(0));
}
