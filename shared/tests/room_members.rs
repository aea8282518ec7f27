//! Members: one person on several devices.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod driven;

use driven::{Driven, device, request, settings};
use shared::{
    ids::{MemberHash, Place},
    room::{Action, EnterRefusal, JoinRefusal, JoinRequest, Joined, Room, RoomSettings},
};

const ADA: MemberHash = MemberHash([1; 8]);
const BOB: MemberHash = MemberHash([2; 8]);

fn ask(driven: &mut Driven, device_id: u16, member: MemberHash) -> Result<Joined, JoinRefusal> {
    let request = JoinRequest { member: Some(member), ..request(device_id, false) };
    driven.room.join(driven.now, request)
}

fn prove(driven: &mut Driven, device_id: u16, member: MemberHash) -> Place {
    ask(driven, device_id, member).unwrap().place
}

/// Everybody in line is called.
fn call_all(driven: &mut Driven) {
    for _ in 0..10 {
        driven.tick();
    }
}

#[test]
fn a_member_has_one_place_and_keeps_it_through_a_restart() {
    let mut driven = Driven::new(settings(20));
    let place = prove(&mut driven, 1, ADA);
    assert_eq!(prove(&mut driven, 2, ADA), place);
    assert_ne!(prove(&mut driven, 3, BOB), place);
    let mut restored = Room::restore(settings(20), driven.room.records()).unwrap();
    let request = JoinRequest { member: Some(ADA), ..request(4, false) };
    assert_eq!(restored.join(driven.now, request).unwrap().place, place);
    restored.recover().unwrap();
    assert_eq!(restored.join(driven.now, request).unwrap().place, place);
}

#[test]
fn a_proof_neither_improves_a_place_nor_takes_one_away() {
    let mut driven = Driven::new(settings(20));
    let members = prove(&mut driven, 1, ADA);
    let later = driven.join(2);
    let presented = JoinRequest { member: Some(ADA), presented: Some(later), ..request(2, false) };
    assert_eq!(driven.room.join(driven.now, presented).unwrap().place, later, "the ticket in hand stands");
    assert_eq!(prove(&mut driven, 3, ADA), members, "and the first place is what other devices are told");
}

#[test]
fn a_member_of_many_places_enters_once() {
    let mut driven = Driven::new(settings(20));
    let places: Vec<Place> = (1..=9).map(|id| driven.join(id)).collect();
    for (id, &place) in (1..=9).zip(&places) {
        let presented = JoinRequest { member: Some(ADA), presented: Some(place), ..request(id, false) };
        assert_eq!(driven.room.join(driven.now, presented).unwrap().place, place);
    }
    let stranger = driven.join(20);
    call_all(&mut driven);
    driven.room.redeem(driven.now, places[4], device(5)).unwrap();
    for (id, &place) in (1..=8).zip(&places).filter(|(_, place)| **place != places[4]) {
        assert_eq!(driven.room.redeem(driven.now, place, device(id)), Err(EnterRefusal::Spent));
    }
    // More than eight places before the proof are not one person's any more.
    assert!(driven.room.redeem(driven.now, places[8], device(9)).is_ok());
    assert_eq!(driven.redeem(stranger), Ok(true));
    assert_eq!(driven.sessions(), 3);
}

#[test]
fn the_sessions_of_a_member_count_on_every_device_and_after_a_void() {
    let mut driven = Driven::new(RoomSettings { sessions_per_buyer: Some(1), ..settings(20) });
    let place = prove(&mut driven, 1, ADA);
    call_all(&mut driven);
    driven.room.redeem(driven.now, place, device(1)).unwrap();
    driven.room.finish(driven.now, place).unwrap();
    assert_eq!(ask(&mut driven, 2, ADA), Err(JoinRefusal::BuyerLimit));
    // Without a proof the device is still known to be the member's.
    let again = driven.room.join(driven.now, request(1, false));
    assert_eq!(again, Err(JoinRefusal::BuyerLimit));
    driven.room.operate(driven.now, "ada", Action::VoidTickets).unwrap();
    driven.room.recover().unwrap();
    assert_eq!(ask(&mut driven, 3, ADA), Err(JoinRefusal::BuyerLimit));
    assert!(ask(&mut driven, 3, BOB).is_ok());
}
