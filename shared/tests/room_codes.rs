//! Invitation codes, and places that move to another device.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod driven;

use driven::{Driven, device, request, settings};
use shared::{
    ids::{CodeHash, LaneId, Place},
    room::{
        Action, EnterRefusal, IssueRefusal, JoinRefusal, JoinRequest, Joined, LaneSettings, MOVE_LIFE,
        MoveRefusal, Room, RoomSettings,
    },
};
use std::time::Duration;

const INVITED: LaneId = LaneId(1);
const ONCE: CodeHash = CodeHash([1; 16]);
const TWICE: CodeHash = CodeHash([2; 16]);

/// A shop of five with a lane for those who have a code.
fn shop() -> RoomSettings {
    let invited = LaneSettings { codes_max: 3, ..LaneSettings::weighing("invited", 1) };
    RoomSettings { lanes: vec![LaneSettings::weighing("guest", 1), invited], ..settings(5) }
}

fn with_codes() -> Driven {
    let mut driven = Driven::new(shop());
    driven.room.issue_codes(driven.now, INVITED, 1, &[ONCE]).unwrap();
    driven.room.issue_codes(driven.now, INVITED, 2, &[TWICE]).unwrap();
    driven
}

fn ask(driven: &mut Driven, id: u16, code: CodeHash) -> Result<Joined, JoinRefusal> {
    driven.room.join(driven.now, JoinRequest { code: Some(code), ..request(id, false) })
}

fn enter(driven: &mut Driven, place: Place, id: u16) {
    while driven.room.redeem(driven.now, place, device(id)).is_err() {
        driven.tick();
    }
}

/// How often a single-use code may be used now: 0 or 1.
fn is_free(driven: &Driven) -> bool {
    let mut driven = Driven { room: driven.room.clone(), ..Driven::new(shop()) };
    ask(&mut driven, 99, ONCE).is_ok()
}

#[test]
fn codes_are_counted_before_they_are_issued() {
    let mut driven = with_codes();
    let refused = driven.room.issue_codes(driven.now, INVITED, 1, &[CodeHash([3; 16])]);
    assert_eq!(refused, Err(IssueRefusal::TooMany { left: 0 }));
    assert_eq!(
        driven.room.issue_codes(driven.now, LaneId(0), 1, &[ONCE]).unwrap().codes,
        0,
        "known: stays as it is"
    );
    let guests = driven.room.issue_codes(driven.now, LaneId(0), 1, &[CodeHash([4; 16])]);
    assert_eq!(guests, Err(IssueRefusal::TooMany { left: 0 }), "a lane without codes_max has none");
    assert_eq!(driven.room.issue_codes(driven.now, INVITED, 0, &[]), Err(IssueRefusal::NoUse));
    assert_eq!(driven.room.issue_codes(driven.now, LaneId(2), 1, &[]), Err(IssueRefusal::NoSuchLane));
    let count = driven.room.code_count(INVITED).unwrap();
    assert_eq!((count.codes, count.uses, count.held, count.spent, count.uses_max), (2, 3, 0, 0, 3));
}

#[test]
fn a_code_opens_its_lane_to_one_buyer_and_again_to_the_same() {
    let mut driven = with_codes();
    let first = ask(&mut driven, 1, ONCE).unwrap();
    assert_eq!((first.place.lane, first.existed), (INVITED, false));
    let again = ask(&mut driven, 1, ONCE).unwrap();
    assert_eq!((again.place, again.existed), (first.place, true), "a retry");
    assert_eq!(ask(&mut driven, 2, ONCE), Err(JoinRefusal::CodeUsed));
    assert_eq!(ask(&mut driven, 2, CodeHash([9; 16])), Err(JoinRefusal::CodeUnknown));
    // Refusals drew no number and spent nothing.
    assert_eq!(driven.join(2).number.0, 1);
    ask(&mut driven, 3, TWICE).unwrap();
    ask(&mut driven, 4, TWICE).unwrap();
    assert_eq!(ask(&mut driven, 5, TWICE), Err(JoinRefusal::CodeUsed));
    assert_eq!(driven.room.code_count(INVITED).unwrap().held, 3);
}

/// The waiting page joins by itself, so whoever types a code has a place already.
#[test]
fn a_code_exchanges_a_place_that_waits_and_a_wrong_one_leaves_it() {
    let mut driven = with_codes();
    let guest = driven.join(1);
    for wrong in [CodeHash([9; 16]), ONCE] {
        if wrong == ONCE {
            ask(&mut driven, 7, ONCE).unwrap();
        }
        assert!(ask(&mut driven, 1, wrong).is_err());
        assert_eq!(driven.join(1), guest, "the place stays");
    }
    let invited = ask(&mut driven, 1, TWICE).unwrap();
    assert_eq!((invited.place.lane, invited.existed), (INVITED, false));
    assert_eq!(ask(&mut driven, 1, TWICE).unwrap().place, invited.place, "a retry");
    assert_eq!(driven.join(1), invited.place, "whichever way they ask");
    assert_eq!(driven.room.redeem(driven.now, guest, device(1)), Err(EnterRefusal::Spent));
    // A retry holds no second use.
    assert_eq!(ask(&mut driven, 1, TWICE).unwrap().place, invited.place);
    assert_eq!(driven.room.code_count(INVITED).unwrap().held, 2);
}

#[test]
fn whose_turn_has_come_keeps_the_place_whatever_they_type() {
    let mut driven = with_codes();
    let guest = driven.join(1);
    driven.tick();
    for code in [TWICE, CodeHash([9; 16])] {
        assert_eq!(ask(&mut driven, 1, code).unwrap().place, guest, "called");
    }
    enter(&mut driven, guest, 1);
    assert_eq!(ask(&mut driven, 1, TWICE).unwrap().place, guest, "inside");
    assert_eq!(driven.room.code_count(INVITED).unwrap().held, 0);
}

/// The case of the stalled card step: whatever ends a visit but success gives the use back.
#[test]
fn a_code_is_spent_by_success_alone() {
    let mut driven = with_codes();
    let waiting = ask(&mut driven, 1, ONCE).unwrap().place;
    driven.room.abandon(driven.now, waiting, device(1)).unwrap();
    assert!(is_free(&driven), "given up in line");
    let inside = ask(&mut driven, 2, ONCE).unwrap().place;
    enter(&mut driven, inside, 2);
    assert!(!is_free(&driven));
    driven.now = driven.now.saturating_add(Duration::from_secs(121));
    assert_eq!(driven.sessions(), 0);
    assert!(is_free(&driven), "the session ran out");
    let revoked = ask(&mut driven, 2, ONCE).unwrap().place;
    enter(&mut driven, revoked, 2);
    driven.room.revoke(driven.now, revoked).unwrap();
    assert!(is_free(&driven), "revoked");
    let bought = ask(&mut driven, 2, ONCE).unwrap().place;
    enter(&mut driven, bought, 2);
    driven.room.finish(driven.now, bought).unwrap();
    assert!(driven.room.finish(driven.now, bought).is_err());
    assert!(!is_free(&driven), "spent");
    assert_eq!(ask(&mut driven, 2, ONCE), Err(JoinRefusal::CodeUsed), "by whomever");
    let count = driven.room.code_count(INVITED).unwrap();
    assert_eq!((count.held, count.spent), (0, 1));
}

#[test]
fn codes_live_through_restarts_and_new_epochs() {
    let mut driven = with_codes();
    let inside = ask(&mut driven, 1, TWICE).unwrap().place;
    enter(&mut driven, inside, 1);
    ask(&mut driven, 2, TWICE).unwrap();
    driven.room = Room::restore(shop(), driven.room.records()).unwrap();
    assert_eq!(ask(&mut driven, 3, TWICE), Err(JoinRefusal::CodeUsed));
    driven.room.operate(driven.now, "ada", Action::VoidTickets).unwrap();
    assert!(ask(&mut driven, 3, TWICE).is_ok(), "the place in line is void, the session is not");
    assert_eq!(ask(&mut driven, 4, TWICE), Err(JoinRefusal::CodeUsed));
    driven.room.finish(driven.now, inside).unwrap();
    assert_eq!(driven.room.code_count(INVITED).unwrap().spent, 1);
}

const MOVE: CodeHash = CodeHash([7; 16]);

fn presented(id: u16, by: u16, place: Place) -> JoinRequest {
    JoinRequest { presented: Some(place), presented_by: Some(device(by)), ..request(id, false) }
}

#[test]
fn a_place_moves_and_is_never_in_two_places() {
    let mut driven = Driven::new(settings(5));
    let (place, other) = (driven.join(1), driven.join(2));
    driven.room.offer_move(driven.now, place, device(1), MOVE).unwrap();
    let moved = driven.room.take_move(driven.now, MOVE, device(2)).unwrap();
    assert_eq!((moved.place, moved.device), (place, device(2)));
    assert_eq!(driven.room.take_move(driven.now, MOVE, device(3)), Err(MoveRefusal::CodeUnknown), "once");
    for _ in 0..10 {
        driven.tick();
    }
    driven.room = Room::restore(settings(5), driven.room.records()).unwrap();
    assert_eq!(driven.room.redeem(driven.now, place, device(1)), Err(EnterRefusal::Moved));
    assert_eq!(driven.room.abandon(driven.now, place, device(1)), Err(EnterRefusal::Moved));
    assert_eq!(driven.room.redeem(driven.now, other, device(2)), Err(EnterRefusal::Spent), "given up");
    // Neither the old ticket nor the old device has the place any more; the new one has it either way.
    let old = driven.room.join(driven.now, presented(1, 1, place)).unwrap();
    assert!(old.place != place && !old.existed);
    assert_eq!(driven.room.join(driven.now, presented(2, 2, place)).unwrap().place, place);
    assert_eq!(driven.room.join(driven.now, request(2, false)).unwrap().place, place);
    assert!(driven.room.redeem(driven.now, place, device(2)).is_ok());
}

#[test]
fn what_cannot_move_stays() {
    let mut driven = Driven::new(settings(5));
    let place = driven.join(1);
    assert_eq!(
        driven.room.offer_move(driven.now, place, device(9), MOVE),
        Ok(()),
        "a ticket names its device"
    );
    let newer = CodeHash([8; 16]);
    driven.room.offer_move(driven.now, place, device(1), newer).unwrap();
    assert_eq!(driven.room.take_move(driven.now, MOVE, device(2)), Err(MoveRefusal::CodeUnknown), "replaced");
    let after = driven.now.saturating_add(MOVE_LIFE);
    assert_eq!(driven.room.take_move(after, newer, device(2)), Err(MoveRefusal::CodeUnknown), "ran out");
    driven.now = after;
    let (inside, is_inside) = driven.joins(3, false);
    assert!(!is_inside);
    driven.room.offer_move(driven.now, inside, device(3), MOVE).unwrap();
    enter(&mut driven, inside, 3);
    assert_eq!(driven.room.take_move(driven.now, MOVE, device(4)), Err(MoveRefusal::Inside));
    let again = driven.room.offer_move(driven.now, inside, device(3), MOVE);
    assert_eq!(again, Err(MoveRefusal::Inside));
    driven.room.abandon(driven.now, place, device(1)).unwrap();
    assert_eq!(driven.room.offer_move(driven.now, place, device(1), MOVE), Err(MoveRefusal::NoPlace));
    assert_eq!(driven.redeem(place), Err(EnterRefusal::Spent));
}
