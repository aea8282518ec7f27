//! What a room does, case by case; `room_promises.rs` holds what it does in any history.

#![expect(clippy::expect_used, reason = "a step that fails fails the test")]

mod driven;

use driven::{Driven, device, request, settings};
use shared::{
    ids::{LaneId, Place},
    room::{CallBound, CallOrder, EnterRefusal, Heard, JoinRequest, Pace, RecordKey, RoomSettings},
};
use std::time::Duration;

fn call(count: u32) -> CallOrder {
    CallOrder { calls: vec![(LaneId(0), count)], expected: count, ..CallOrder::default() }
}

/// Ten enter, the next ten have walked away, the first ten finish: the present 21st to 30th come in.
#[test]
fn people_who_left_do_not_hold_up_those_behind_them() {
    let mut driven = Driven::new(settings(10));
    let places: Vec<Place> = (0..30).map(|id| driven.join(id)).collect();
    driven.tick();
    for place in &places[..10] {
        driven.redeem(*place).expect("the first ten are called");
    }
    for place in &places[..10] {
        driven.room.finish(driven.now, *place).expect("they were inside");
    }
    let mut entered = 0;
    for _ in 0..120 {
        driven.tick();
        entered += places[20..].iter().filter(|&&place| driven.redeem(place) == Ok(true)).count();
        if entered == 10 {
            return;
        }
    }
    panic!("only {entered} of the ten present buyers came in within two minutes");
}

/// Sizes fall back to nothing when everybody is gone, by whatever way.
#[test]
fn nobody_is_counted_after_they_are_gone() {
    let mut driven = Driven::new(settings(4));
    let places: Vec<Place> = (0..6).map(|id| driven.join(id)).collect();
    driven.tick();
    for place in &places[..4] {
        driven.redeem(*place).expect("four fit");
    }
    driven.room.finish(driven.now, places[0]).expect("inside");
    driven.room.abandon(driven.now, places[1], device(1)).expect("inside");
    driven.now = driven.now.saturating_add(Duration::from_secs(120));
    assert_eq!(driven.sessions(), 0, "the other two idled out");
}

#[test]
fn an_empty_line_is_entered_in_one_transition_and_a_full_shop_is_not() {
    let mut driven = Driven::new(settings(2));
    driven.tick();
    let entered: Vec<bool> = (0..4).map(|id| driven.joins(id, true).1).collect();
    assert_eq!(entered, [true, true, false, false]);
    assert_eq!(driven.sessions(), 2);
}

#[test]
fn one_device_has_one_place_until_it_is_spent() {
    let mut driven = Driven::new(settings(2));
    let first = driven.join(7);
    assert_eq!(driven.join(7), first);
    driven.tick();
    driven.redeem(first).expect("called");
    assert_eq!(driven.join(7), first, "inside, the same place");
    driven.room.finish(driven.now, first).expect("inside");
    assert!(driven.join(7).number > first.number, "a spent ticket's owner joins anew");
}

#[test]
fn the_door_checks_in_its_order() {
    let mut driven = Driven::new(settings(1));
    let (first, second, third) = (driven.join(1), driven.join(2), driven.join(3));
    assert_eq!(driven.redeem(first), Err(EnterRefusal::NotYourTurn));
    driven.room.call(driven.now, &call(2));
    assert_eq!(driven.redeem(first), Ok(true));
    assert_eq!(driven.redeem(first), Ok(false), "the same pass again");
    assert!(matches!(driven.redeem(second), Err(EnterRefusal::Full { .. })));
    assert_eq!(driven.redeem(third), Err(EnterRefusal::NotYourTurn));
    driven.room.finish(driven.now, first).expect("inside");
    assert_eq!(driven.redeem(first), Err(EnterRefusal::Spent));
    assert_eq!(driven.redeem(second), Ok(true));
}

#[test]
fn the_admission_rate_holds_with_a_burst_of_one_second() {
    let mut driven = Driven::new(RoomSettings { admission_rate_per_s: 5, ..settings(100) });
    let places: Vec<Place> = (0..20).map(|id| driven.join(id)).collect();
    driven.room.call(driven.now, &call(20));
    let enter =
        |driven: &mut Driven| places.iter().filter(|&&place| driven.redeem(place) == Ok(true)).count();
    assert_eq!(enter(&mut driven), 5);
    driven.now = driven.now.saturating_add(Duration::from_millis(199));
    assert_eq!(enter(&mut driven), 0);
    driven.now = driven.now.saturating_add(Duration::from_millis(1));
    assert_eq!(enter(&mut driven), 1);
}

#[test]
fn a_turn_does_not_run_out_while_the_door_is_full() {
    let mut driven = Driven::new(RoomSettings { session_max: Duration::from_secs(100_000), ..settings(1) });
    let (inside, waits) = (driven.join(1), driven.join(2));
    driven.room.call(driven.now, &call(2));
    driven.redeem(inside).expect("called");
    for second in 0..4_000 {
        driven.tick();
        if second % 60 == 0 {
            driven.room.renew(driven.now, inside).expect("inside");
        }
    }
    driven.room.finish(driven.now, inside).expect("inside");
    assert_eq!(driven.redeem(waits), Ok(true), "its turn waited with it");
}

#[test]
fn a_session_lives_by_renewal_but_not_beyond_its_maximum() {
    let mut driven = Driven::new(settings(1));
    let place = driven.join(1);
    driven.tick();
    driven.redeem(place).expect("called");
    for _ in 0..14 {
        driven.now = driven.now.saturating_add(Duration::from_secs(60));
        driven.room.renew(driven.now, place).expect("renewed in time");
    }
    driven.now = driven.now.saturating_add(Duration::from_secs(60));
    assert_eq!(driven.sessions(), 0, "15 minutes are over");
    assert!(driven.room.renew(driven.now, place).is_err());
}

#[test]
fn a_late_buyer_enters_where_nobody_in_time_wants_the_session_and_expires_at_ten_times_the_grace() {
    let mut driven = Driven::new(settings(5));
    let (late, expired) = (driven.join(1), driven.join(2));
    for _ in 0..302 {
        driven.tick();
    }
    assert_eq!(driven.redeem(late), Ok(true));
    for _ in 0..3_000 {
        driven.tick();
    }
    assert_eq!(driven.redeem(expired), Err(EnterRefusal::TurnExpired));
}

#[test]
fn late_buyers_take_at_most_a_twentieth_of_a_contended_door() {
    let mut driven = Driven::new(settings(1_000));
    let late: Vec<Place> = (0..200).map(|id| driven.join(id)).collect();
    driven.room.call(driven.now, &call(200));
    for _ in 0..310 {
        driven.tick();
    }
    let fresh: Vec<Place> = (1_000..1_200).map(|id| driven.join(id)).collect();
    driven.room.call(driven.now, &CallOrder { expected: 1_000, ..call(100) });
    let (mut late_in, mut fresh_in) = (0, 0);
    for (late, fresh) in late.iter().zip(&fresh).take(100) {
        late_in += u32::from(driven.redeem(*late).is_ok());
        fresh_in += u32::from(driven.redeem(*fresh).is_ok());
        driven.now = driven.now.saturating_add(Duration::from_millis(50));
    }
    assert_eq!(fresh_in, 100);
    assert!((3..=5).contains(&late_in), "{late_in} late buyers came in beside {fresh_in}");
}

#[test]
fn calling_stops_when_nobody_comes_and_resumes_when_somebody_does() {
    let mut driven = Driven::new(settings(100));
    let places: Vec<Place> = (0..2_000).map(|id| driven.join(id)).collect();
    let stopped_at = (0..60).find(|_| driven.tick().standstill.is_some());
    assert!(stopped_at.is_some_and(|second| second <= 25), "stopped at {stopped_at:?}");
    driven.now = driven.now.saturating_add(Duration::from_secs(1));
    let entered = places.iter().filter(|&&place| driven.redeem(place).is_ok()).count();
    assert!(entered >= 50, "{entered} of those called still had their turn");
    assert!((0..3).any(|_| driven.tick().standstill.is_none()));
}

/// The crowd of the first rush: 40 % leave, everybody else comes within five seconds and stays for three.
#[test]
fn the_shop_is_kept_full_and_everyone_who_stays_gets_in() {
    let mut driven = Driven::new(settings(100));
    let places: Vec<Place> = (0..1_500).map(|id| driven.join(id)).collect();
    let mut to_come: Vec<Place> = places.iter().copied().filter(|place| place.number.0 % 5 < 3).collect();
    let mut inside: Vec<(u64, Place)> = Vec::new();
    let (mut used, mut seconds) = (0, 0_u64);
    while !to_come.is_empty() && seconds < 300 {
        driven.tick();
        seconds += 1;
        let (gone, stay): (Vec<_>, Vec<_>) = inside.drain(..).partition(|(until, _)| *until <= seconds);
        inside = stay;
        for (_, place) in gone {
            driven.room.finish(driven.now, place).expect("inside");
        }
        let asks_now = |place: &Place| (place.number.0 / 5) % 5 == seconds % 5;
        let mut came: Vec<Place> = to_come.iter().copied().filter(asks_now).collect();
        came.retain(|&place| driven.redeem(place) == Ok(true));
        to_come.retain(|place| !came.contains(place));
        let heard = to_come.iter().copied().filter(asks_now);
        let heard: Vec<Heard> = heard.map(|place| Heard { place, again: Duration::from_secs(5) }).collect();
        driven.room.hear(driven.now, &heard);
        inside.extend(came.into_iter().map(|place| (seconds + 3, place)));
        assert!(inside.len() <= 100);
        used += inside.len();
    }
    assert!(to_come.is_empty(), "{} never got in", to_come.len());
    assert!(seconds <= 45, "took {seconds} s at a mean use of {used} session seconds");
}

/// Once, those next in a line had left, all behind them were there, and ten times as many were called as could come in: they stood at the
/// door for a minute and a half.
#[test]
fn a_call_brings_no_more_than_it_is_bound_to_whoever_stands_behind_those_who_are_next() {
    let called = |most_micro| {
        let mut driven = Driven::new(settings(1_000));
        let places: Vec<Place> = (0..200).map(|id| driven.join(id)).collect();
        let stay = places[30..].iter().map(|&place| Heard { place, again: Duration::from_secs(5) });
        driven.room.hear(driven.now, &stay.collect::<Vec<_>>());
        let bounds = vec![CallBound { comes_ppm: [100_000, 1_000_000], most_micro }];
        let facts = driven.room.call(driven.now, &CallOrder { bounds, ..call(100) });
        facts.lanes[0].serving_number.0
    };
    assert_eq!(called(2_900_000), 29);
    assert_eq!(called(3_000_000), 30, "30 of whom 3 come");
    assert_eq!([3_999_999, 4_000_000, 12_000_000].map(called), [30, 31, 39], "and those who are there");
    assert_eq!(called(0), 1, "one at least, or a lane would stand still");
    assert_eq!(called(u64::MAX), 100, "as many as are asked for");
}

/// A crash burns numbers that nobody owns: the line runs over them at once and expects nobody.
#[test]
fn burned_numbers_cost_no_time() {
    let mut driven = Driven::new(settings(10));
    driven.join(1);
    driven.room.recover().expect("its own records fit");
    let behind = driven.join(2);
    assert_eq!(behind.number.0, 65, "the block of 64 was burned");
    let order = driven.tick();
    assert_eq!(order.expected, 2);
    assert_eq!(driven.redeem(behind), Ok(true));
}

/// In a small shop, buyers who entered an empty line once counted as still on their way, and a freed session stayed empty for 8 s.
#[test]
fn a_freed_session_is_called_for_at_the_next_tick() {
    let mut driven = Driven::new(settings(2));
    driven.tick();
    let (first, _) = driven.joins(1, true);
    driven.joins(2, true);
    let (waits, inside) = driven.joins(3, true);
    assert!(!inside);
    driven.tick();
    driven.room.finish(driven.now, first).expect("inside");
    driven.tick();
    assert_eq!(driven.redeem(waits), Ok(true));
}

/// Before anything is measured the range reaches from the admission rate to sessions of two passes' lives.
#[test]
fn a_guessed_pace_spans_all_that_may_come() {
    let guess = |capacity, admission_rate_per_s, pass_life_s| {
        let pass_life = Duration::from_secs(pass_life_s);
        let settings = RoomSettings { admission_rate_per_s, pass_life, ..settings(capacity) };
        Pace::unmeasured(&settings)
    };
    // From 0.416/s to 50/s: the middle is 4.56/s, and 10.97 times that is 50/s.
    assert_eq!(guess(100, 50, 120), Pace { speed_milli_per_s: 4_560, error_pct: 997 });
    assert_eq!(guess(100_000, 50, 120), Pace { speed_milli_per_s: 50_000, error_pct: 300 });
    assert_eq!(guess(1, 1, 3_600), Pace { speed_milli_per_s: 31, error_pct: 3_000 });
}

/// A shop fills within seconds, and whoever is inside stays as long as all the others: until they leave, the mean says nothing. Once it was
/// told all the same, ten times too slow, and buyers slept while the line moved.
#[test]
fn until_a_generation_is_seen_the_pace_spans_the_end_of_all_at_once() {
    let mut driven = Driven::new(settings(100));
    let places: Vec<Place> = (0..300).map(|id| driven.join(id)).collect();
    let mut pace = Pace::unmeasured(driven.room.settings());
    let mut came = 0;
    for second in 1..=240_u32 {
        pace = driven.tick().paces[0];
        came += places.iter().filter(|&&place| driven.redeem(place) == Ok(true)).count();
        let factor_pct = u64::from(pace.error_pct) + 100;
        let slowest = pace.speed_milli_per_s * 100 / factor_pct;
        let fastest = pace.speed_milli_per_s * factor_pct / 100;
        if second == 100 {
            assert_eq!(came, 100, "nobody has left");
            // A hundred within another hundred seconds, or the longest stays that the room allows.
            assert!(fastest >= 980 && slowest <= 111, "{slowest} to {fastest} in a thousand seconds");
        }
    }
    assert!(came >= 200, "all left after 120 s");
    assert!(pace.error_pct <= 100, "a generation has been seen: {pace:?}");
}

/// A device is known for as long as its place may lead inside, also by what a store kept; without that memory only the ticket holds a place.
#[test]
fn a_device_without_its_ticket_is_told_its_place_where_the_room_remembers_devices() {
    let mut driven = Driven::new(settings(1));
    let places: Vec<Place> = (0..100).map(|id| driven.join(id)).collect();
    assert!((0..100).zip(&places).all(|(id, &place)| driven.join(id) == place));
    driven.room.recover().expect("its own records");
    assert!((0..100).zip(&places).all(|(id, &place)| driven.join(id) == place));

    let mut driven = Driven::new(RoomSettings { remembers_devices: false, ..settings(1) });
    let first = driven.join(7);
    assert_ne!(driven.join(7), first);
    let presented = JoinRequest { presented: Some(first), ..request(7, false) };
    assert_eq!(driven.room.join(driven.now, presented).map(|joined| joined.place), Ok(first));
    let is_of_device = |key: &RecordKey| matches!(key, RecordKey::Device(_) | RecordKey::Joined(..));
    assert!(!driven.room.records().iter().any(|(key, _)| is_of_device(key)));
}
