//! What comes at the worst moment: orders in the middle of calls, people who are many in one, numbers at their ends.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod driven;

use driven::{Driven, device, request, settings};
use shared::{
    ids::{LaneId, MemberHash, Place},
    room::{
        Action, EnterRefusal, Heeded, JoinRequest, LaneSettings, Law, Pace, Room, RoomSettings,
        SessionRefusal,
    },
    wire::Phase,
};
use std::time::Duration;

fn order(driven: &mut Driven, action: Action) {
    driven.room.operate(driven.now, "ada", action).unwrap();
}

/// Ten in line, all of them called into a room of ten.
fn called_ten(settings: RoomSettings) -> (Driven, Vec<Place>) {
    let mut driven = Driven::new(settings);
    let places = (1..=10).map(|id| driven.join(id)).collect();
    driven.tick();
    (driven, places)
}

fn enters(driven: &mut Driven, place: Place) -> bool {
    driven.redeem(place) == Ok(true)
}

/// Forty inside, and two more who were called.
fn full_with_called() -> (Driven, Vec<Place>, Vec<Place>) {
    let mut driven = Driven::new(settings(42));
    let inside = (1..=40).map(|id| driven.joins(id, true).0).collect();
    let called: Vec<Place> = (41..=42).map(|id| driven.join(id)).collect();
    driven.tick();
    (driven, inside, called)
}

/// Once, whoever was called before a cut of the server waited until half of the sessions had ended.
#[test]
fn below_a_smaller_share_of_the_server_those_who_were_called_enter_one_for_two_who_leave() {
    let (mut driven, inside, called) = full_with_called();
    driven.law.heed(Heeded { share: Some(10), reason: None });
    driven.tick();
    let late = driven.join(99);
    let mut left = inside.iter();
    for (entered, place) in (1_u32..).zip(&called) {
        driven.room.finish(driven.now, *left.next().unwrap()).unwrap();
        assert!(matches!(driven.redeem(*place), Err(EnterRefusal::Full { .. })), "one has left");
        driven.room.finish(driven.now, *left.next().unwrap()).unwrap();
        assert_eq!(driven.redeem(*place), Ok(true), "two have");
        assert_eq!(driven.sessions(), 40 - entered);
        assert_eq!(driven.tick().calls, [], "nobody is called on the way down");
    }
    for (place, sessions) in left.zip((0..38).rev()) {
        driven.room.finish(driven.now, *place).unwrap();
        let calls = driven.tick().calls;
        assert!(calls.is_empty() || sessions < 20, "{sessions} inside: {calls:?}");
        if sessions == 9 {
            break;
        }
    }
    assert_eq!(driven.redeem(late), Ok(true));
}

#[test]
fn a_capacity_that_falls_to_one_and_rises_again_in_the_middle_of_the_calls_takes_no_turn() {
    let (mut driven, places) =
        called_ten(RoomSettings { turn_grace: Duration::from_secs(5), ..settings(10) });
    order(&mut driven, Action::Capacity(Some(1)));
    let entered = places.iter().filter(|&&place| enters(&mut driven, place)).count();
    assert_eq!(entered, 1);
    for _ in 0..60 {
        assert_eq!(driven.tick().calls, []);
        assert_ne!(driven.redeem(places[9]), Ok(true));
    }
    order(&mut driven, Action::Capacity(None));
    assert_eq!(
        places[1..].iter().filter(|&&place| enters(&mut driven, place)).count(),
        9,
        "no turn has run out"
    );
}

#[test]
fn the_tickets_of_a_void_epoch_are_awaited_by_nobody() {
    let (mut driven, called) = called_ten(settings(10));
    order(&mut driven, Action::VoidTickets);
    let anew: Vec<Place> = (1..=10).map(|id| driven.join(id)).collect();
    assert_eq!(driven.tick().calls, [(LaneId(0), 10)], "all ten sessions are free for the new numbers");
    assert_eq!(driven.redeem(called[0]), Err(EnterRefusal::Void));
    assert!(anew.iter().all(|&place| enters(&mut driven, place)));
}

#[test]
fn a_restock_in_the_instant_of_the_end_keeps_every_place_and_turn() {
    let (mut driven, called) = called_ten(settings(10));
    let waiting = driven.join(11);
    order(&mut driven, Action::SellOut);
    assert_eq!(driven.redeem(called[0]), Err(EnterRefusal::Held(Phase::SoldOut)));
    order(&mut driven, Action::Restock);
    assert!(called[..9].iter().all(|&place| enters(&mut driven, place)));
    assert_eq!(driven.join(11), waiting);
    assert!(enters(&mut driven, called[9]));
}

#[test]
fn a_clock_that_goes_back_an_hour_in_the_middle_of_a_turn_takes_nothing_of_it() {
    let (mut driven, called) =
        called_ten(RoomSettings { turn_grace: Duration::from_secs(10), ..settings(10) });
    (0..5).for_each(|_| drop(driven.tick()));
    driven.now = driven.now.saturating_sub(Duration::from_hours(1));
    (0..300).for_each(|_| drop(driven.tick()));
    assert!(enters(&mut driven, called[9]));
    assert_eq!(driven.sessions(), 1);
    driven.room.finish(driven.now, called[9]).unwrap();
    assert_eq!(driven.sessions(), 0, "who is inside still leaves");
}

#[test]
fn who_proves_to_be_a_member_when_called_elsewhere_too_enters_once() {
    let (mut driven, called) = called_ten(settings(10));
    let member = Some(MemberHash([7; 8]));
    for (id, &place) in [1, 2].into_iter().zip(&called) {
        let proves = JoinRequest { member, presented: Some(place), ..request(id, false) };
        driven.room.join(driven.now, proves).unwrap();
    }
    let mut entered = 0;
    for (id, &place) in [1, 2].into_iter().zip(&called) {
        entered += u32::from(driven.room.redeem(driven.now, place, device(id)).is_ok());
    }
    assert_eq!((entered, driven.sessions()), (1, 1));
}

#[test]
fn a_session_that_is_finished_twice_frees_one_place() {
    let (mut driven, called) = called_ten(settings(10));
    assert!(called.iter().all(|&place| enters(&mut driven, place)));
    assert_eq!(driven.room.finish(driven.now, called[0]), Ok(()));
    assert_eq!(driven.room.finish(driven.now, called[0]), Err(SessionRefusal::Ended));
    assert_eq!(driven.room.renew(driven.now, called[0]), Err(SessionRefusal::Ended));
    let next = [driven.join(11), driven.join(12)];
    driven.tick();
    assert_eq!(next.map(|place| enters(&mut driven, place)), [true, false]);
}

#[test]
fn a_lane_whose_only_buyer_sleeps_holds_up_no_other() {
    let lanes = ["guest", "member"].map(|name| LaneSettings::weighing(name, 1)).to_vec();
    let mut driven = Driven::new(RoomSettings { lanes, ..settings(10) });
    let sleeps = driven.room.join(driven.now, JoinRequest::new(LaneId(1), device(99))).unwrap().place;
    let others: Vec<Place> = (1..=20).map(|id| driven.join(id)).collect();
    let mut inside = 0;
    for second in 0..30 {
        driven.tick();
        inside += others.iter().filter(|&&place| enters(&mut driven, place)).count();
        assert!(inside >= 9 || second < 15, "{inside} after {second} s");
    }
    assert!(driven.sessions() == 10 && !enters(&mut driven, sleeps), "the door is full");
    driven.room.finish(driven.now, others[0]).unwrap();
    assert!(enters(&mut driven, sleeps), "and the turn is still there");
}

/// Once, the first estimate of each lane was made as if the whole room were its own, and half of the buyers of a sale came in later than it said.
#[test]
fn the_first_estimate_of_a_lane_counts_its_share_of_the_room() {
    let lanes = [("guest", 1), ("member", 9)].map(|(name, weight)| LaneSettings::weighing(name, weight));
    let mut driven = Driven::new(RoomSettings { lanes: lanes.to_vec(), ..settings(2_400) });
    let mut slowest = || {
        let slower = |pace: &Pace| pace.speed_milli_per_s * 100 / u64::from(pace.error_pct + 100);
        driven.room.join(driven.now, JoinRequest::new(LaneId(1), device(7))).unwrap();
        let paces: Vec<u64> = driven.tick().paces.iter().map(slower).collect();
        paces
    };
    // All sessions last for twice their idle time-out: ten a second in the whole room.
    let alone = slowest();
    assert!((900..=1_000).contains(&alone[0]), "{alone:?}");
    assert!((5_000..=10_000).contains(&alone[1]), "nobody waits in the other: {alone:?}");
}

#[test]
fn a_weight_of_nothing_starves_nobody() {
    let lanes = [("guest", 0), ("member", 1)].map(|(name, weight)| LaneSettings::weighing(name, weight));
    let mut driven = Driven::new(RoomSettings { lanes: lanes.to_vec(), ..settings(10) });
    for id in 1..=20_u16 {
        let join = JoinRequest::new(LaneId(u8::from(id > 10)), device(id));
        driven.room.join(driven.now, join).unwrap();
    }
    assert_eq!(driven.tick().calls, [(LaneId(0), 5), (LaneId(1), 5)], "as if it were one");
}

#[test]
fn a_lane_that_is_added_in_mid_sale_changes_no_place_of_the_others() {
    let (mut driven, called) = called_ten(settings(10));
    let waiting = driven.join(11);
    let lanes = ["guest", "member"].map(|name| LaneSettings::weighing(name, 1)).to_vec();
    driven.room = Room::restore(RoomSettings { lanes, ..settings(10) }, driven.room.records()).unwrap();
    driven.law = Law::default();
    let member = driven.room.join(driven.now, JoinRequest::new(LaneId(1), device(50))).unwrap().place;
    assert_eq!(driven.join(11), waiting);
    assert!(called[..8].iter().all(|&place| enters(&mut driven, place)));
    for place in &called[8..] {
        driven.room.abandon(driven.now, *place, device(0)).unwrap();
    }
    (0..20).for_each(|_| drop(driven.tick()));
    assert_eq!([waiting, member].map(|place| enters(&mut driven, place)), [true, true]);
}

#[test]
fn three_buyers_in_a_room_of_a_hundred_thousand_wait_for_nothing() {
    let mut driven = Driven::new(settings(100_000));
    driven.tick();
    assert!((1..=3).all(|id| driven.joins(id, true).1));
    let late = driven.join(4);
    driven.tick();
    assert!(enters(&mut driven, late));
}

#[test]
fn a_rate_of_nothing_keeps_a_full_room_as_it_is_and_takes_no_turn() {
    let (mut driven, called) =
        called_ten(RoomSettings { turn_grace: Duration::from_secs(5), ..settings(10) });
    assert!(called[..9].iter().all(|&place| enters(&mut driven, place)));
    let stopped = RoomSettings { admission_rate_per_s: 0, ..driven.room.settings().clone() };
    driven.room = Room::restore(stopped, driven.room.records()).unwrap();
    driven.join(11);
    for _ in 0..4 {
        assert_eq!(driven.tick().calls, []);
        assert!(matches!(driven.redeem(called[9]), Err(EnterRefusal::Full { .. })));
        assert!(driven.room.renew(driven.now, called[0]).is_ok(), "who is inside stays");
    }
    driven.room = Room::restore(settings(10), driven.room.records()).unwrap();
    assert!(enters(&mut driven, called[9]));
}

#[test]
fn a_close_in_the_middle_of_the_calls_lets_nobody_in_and_throws_nobody_out() {
    let (mut driven, called) = called_ten(settings(10));
    assert!(enters(&mut driven, called[0]));
    order(&mut driven, Action::Close);
    assert_eq!(driven.tick().calls, []);
    assert_eq!(driven.redeem(called[1]), Err(EnterRefusal::Closed));
    assert!(driven.room.renew(driven.now, called[0]).is_ok());
}
