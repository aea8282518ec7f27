//! Phases, orders of the operator, and the limits of a session.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod driven;

use driven::{Driven, device, settings};
use shared::{
    ids::{Epoch, LaneId, TicketNumber},
    room::{
        Action, ActionRefusal, CAPACITY_MAX, Cause, EnterRefusal, Extender, JoinRefusal, JoinRequest,
        LOG_ENTRIES_MAX, RoomSettings, SessionRefusal,
    },
    time::Timestamp,
    wire::Phase,
};
use std::time::Duration;

const PHASES: [Phase; 6] =
    [Phase::Scheduled, Phase::Open, Phase::Paused, Phase::SoldOut, Phase::Closed, Phase::Passthrough];

fn order(driven: &mut Driven, action: Action) -> Phase {
    driven.room.operate(driven.now, "ada", action).unwrap().phase
}

/// A room of ten in this phase.
fn in_phase(phase: Phase) -> Driven {
    let opens_at = (phase == Phase::Scheduled).then(|| Timestamp::from_millis(9_000_000));
    let mut driven = Driven::new(RoomSettings { opens_at, ..settings(10) });
    let action = match phase {
        Phase::Paused => Action::Pause,
        Phase::SoldOut => Action::SellOut,
        Phase::Closed => Action::Close,
        Phase::Passthrough => Action::PassThrough,
        _ => return driven,
    };
    assert_eq!(order(&mut driven, action), phase);
    driven
}

fn refusal(driven: &mut Driven, id: u16) -> JoinRefusal {
    let request = JoinRequest { may_enter: true, ..JoinRequest::new(LaneId(0), device(id)) };
    driven.room.join(driven.now, request).unwrap_err()
}

#[test]
fn an_action_is_legal_or_changes_nothing() {
    use Phase::{Closed, Open, Passthrough, Paused, SoldOut};
    let table: [(Action, [Option<Phase>; 6]); 8] = [
        // from: scheduled, open, paused, sold_out, closed, passthrough
        (Action::Open, [Some(Open), Some(Open), Some(Open), None, None, Some(Open)]),
        (Action::Pause, [None, Some(Paused), Some(Paused), None, None, Some(Paused)]),
        (Action::LetNobodyIn, [None, Some(Paused), Some(Paused), None, None, Some(Paused)]),
        (Action::SellOut, [None, Some(SoldOut), Some(SoldOut), Some(SoldOut), None, Some(SoldOut)]),
        (Action::Restock, [None, Some(Open), None, Some(Open), None, None]),
        (Action::Close, [Some(Closed); 6]),
        (
            Action::PassThrough,
            [Some(Passthrough), Some(Passthrough), Some(Passthrough), None, None, Some(Passthrough)],
        ),
        (
            Action::LetEveryoneIn,
            [Some(Passthrough), Some(Passthrough), Some(Passthrough), None, None, Some(Passthrough)],
        ),
    ];
    for (action, expected) in table {
        for (from, expected) in PHASES.into_iter().zip(expected) {
            let mut driven = in_phase(from);
            driven.room.expire(driven.now);
            let before = driven.room.clone();
            match (driven.room.operate(driven.now, "ada", action.clone()), expected) {
                (Ok(facts), Some(phase)) => assert_eq!(facts.phase, phase, "{action:?} from {from:?}"),
                (Err(error), None) => {
                    assert_eq!(error, ActionRefusal::NotNow(from));
                    assert_eq!(driven.room, before, "{action:?} from {from:?}");
                }
                (answer, _) => panic!("{action:?} from {from:?}: {answer:?}"),
            }
        }
    }
}

#[test]
fn an_event_opens_and_closes_by_its_schedule() {
    use Phase::{Closed, Open, Scheduled};
    let moment = |s: u64| Some(Timestamp::from_millis(1_000_000 + s * 1_000));
    let mut driven = Driven::new(RoomSettings { opens_at: moment(3), closes_at: moment(6), ..settings(10) });
    let mut phases = Vec::new();
    for _ in 0..7 {
        driven.tick();
        let facts = driven.room.expire(driven.now);
        phases.push(facts.phase);
        if facts.phase == Scheduled {
            assert_eq!(refusal(&mut driven, 1), JoinRefusal::NotOpenYet);
        }
    }
    assert_eq!(phases, [Scheduled, Scheduled, Open, Open, Open, Closed, Closed]);
    assert_eq!(refusal(&mut driven, 1), JoinRefusal::Closed);
    let log: Vec<_> =
        driven.room.log_entries().map(|entry| (entry.cause.clone(), entry.action.clone())).collect();
    assert_eq!(log, [(Cause::Schedule, Action::Open), (Cause::Schedule, Action::Close)]);
}

#[test]
fn a_passthrough_becomes_a_line_at_nine_tenths_and_throws_nobody_out() {
    let mut driven = in_phase(Phase::Passthrough);
    for id in 1..=8 {
        assert!(driven.joins(id, true).1);
    }
    assert_eq!(driven.room.expire(driven.now).phase, Phase::Passthrough);
    assert!(driven.joins(9, true).1);
    let facts = driven.room.expire(driven.now);
    assert_eq!((facts.phase, facts.sessions), (Phase::Open, 9));
    assert_eq!(driven.room.log_entries().last().unwrap().cause, Cause::Load);
    assert!(driven.joins(10, true).1, "the tenth finds the line empty and a session free");
    assert!(!driven.joins(11, true).1);
}

#[test]
fn in_an_emergency_everybody_is_let_in_and_counted_and_afterwards_capacity_holds_again() {
    let mut driven = Driven::new(settings(10));
    let waiting: Vec<_> = (1..=30).map(|id| driven.join(id)).collect();
    order(&mut driven, Action::LetEveryoneIn);
    let called = driven.tick();
    assert_eq!(called.calls, [(LaneId(0), 30)]);
    for place in &waiting {
        assert_eq!(driven.redeem(*place), Ok(true));
    }
    assert!(driven.joins(31, true).1);
    let facts = driven.room.expire(driven.now);
    assert!(facts.everyone_in);
    assert_eq!((facts.sessions, facts.phase), (31, Phase::Passthrough));

    assert_eq!(order(&mut driven, Action::Open), Phase::Open);
    assert!(!driven.room.expire(driven.now).everyone_in);
    let late = driven.join(32);
    for (ended, place) in waiting.iter().enumerate() {
        driven.tick();
        let inside = 31 - u32::try_from(ended).unwrap();
        let entered = driven.redeem(late).is_ok();
        assert_eq!(driven.sessions(), inside, "nobody enters above the capacity");
        assert!(!entered);
        if inside == 11 {
            return;
        }
        driven.room.finish(driven.now, *place).unwrap();
    }
    panic!("the sessions never fell to the capacity");
}

#[test]
fn below_a_lowered_capacity_sessions_only_fall() {
    let mut driven = Driven::new(settings(10));
    let inside: Vec<_> = (1..=10).map(|id| driven.joins(id, true).0).collect();
    order(&mut driven, Action::Capacity(Some(4)));
    let next = driven.join(11);
    for place in &inside[..6] {
        driven.tick();
        assert_ne!(driven.redeem(next), Ok(true));
        driven.room.finish(driven.now, *place).unwrap();
    }
    assert_eq!(driven.sessions(), 4);
    driven.room.finish(driven.now, inside[6]).unwrap();
    driven.tick();
    assert_eq!(driven.redeem(next), Ok(true));
    order(&mut driven, Action::Capacity(None));
    assert_eq!(driven.room.expire(driven.now).capacity, 10);
}

#[test]
fn a_capacity_is_in_its_range() {
    let mut driven = Driven::new(settings(10));
    let mut set = |capacity| driven.room.operate(driven.now, "ada", Action::Capacity(Some(capacity)));
    assert_eq!(set(0), Err(ActionRefusal::CapacityOutOfRange));
    assert_eq!(set(CAPACITY_MAX + 1), Err(ActionRefusal::CapacityOutOfRange));
    assert_eq!(set(1).unwrap().capacity, 1);
    assert_eq!(set(CAPACITY_MAX).unwrap().capacity, CAPACITY_MAX);
}

#[test]
fn while_the_line_is_held_no_turn_runs_out() {
    let mut driven = Driven::new(RoomSettings { turn_grace: Duration::from_secs(10), ..settings(10) });
    let place = driven.join(1);
    driven.tick();
    order(&mut driven, Action::LetNobodyIn);
    for _ in 0..1_000 {
        assert_eq!(driven.tick().calls, []);
    }
    assert_eq!(driven.redeem(place), Err(EnterRefusal::Held(Phase::Paused)));
    let queued = driven.join(2);
    assert_eq!(queued.number, TicketNumber(2), "places are given while the line is held");
    order(&mut driven, Action::Open);
    assert_eq!(driven.redeem(place), Ok(true));
}

#[test]
fn a_new_epoch_voids_tickets_and_keeps_sessions() {
    let mut driven = Driven::new(RoomSettings { sessions_per_buyer: Some(1), ..settings(10) });
    let inside = driven.joins(1, true).0;
    let waiting = driven.join(2);
    order(&mut driven, Action::VoidTickets);
    driven.room.recover().unwrap();
    assert_eq!(driven.redeem(waiting), Err(EnterRefusal::Void));
    assert_eq!(driven.sessions(), 1);
    assert!(driven.room.renew(driven.now, inside).is_ok(), "sessions belong to the event");
    let again = driven.join(2);
    assert_eq!((again.epoch, again.number), (Epoch(2), TicketNumber(1)));
    assert_eq!(refusal(&mut driven, 1), JoinRefusal::BuyerLimit, "visits belong to the event too");
    driven.tick();
    assert_eq!(driven.redeem(again), Ok(true));
}

#[test]
fn the_log_tells_changes_only_and_is_bounded() {
    let mut driven = Driven::new(settings(10));
    order(&mut driven, Action::Pause);
    order(&mut driven, Action::Pause);
    assert!(driven.room.must_commit(), "an operator is answered when the order is durable");
    assert_eq!(driven.room.log_entries().count(), 1);
    for capacity in 0..u32::try_from(LOG_ENTRIES_MAX).unwrap() {
        order(&mut driven, Action::Capacity(Some(100 + capacity)));
    }
    assert_eq!(driven.room.log_entries().count(), LOG_ENTRIES_MAX);
    let first = driven.room.log_entries().next().unwrap().clone();
    assert_eq!(first.action, Action::Capacity(Some(100)), "the pause was the oldest");
    assert_eq!(first.cause, Cause::Operator("ada".to_owned()));
    let before: Vec<_> = driven.room.log_entries().cloned().collect();
    driven.room.recover().unwrap();
    assert_eq!(driven.room.log_entries().cloned().collect::<Vec<_>>(), before);
}

#[test]
fn a_buyer_extends_a_session_as_often_as_the_room_allows_and_the_shop_always() {
    let mut driven = Driven::new(RoomSettings { session_extensions_max: 2, ..settings(10) });
    let place = driven.joins(1, true).0;
    let ends_at = driven.room.renew(driven.now, place).unwrap().ends_at;
    let mut extend =
        |by| driven.room.extend(driven.now, place, by).map(|session| session.ends_at.since(ends_at));
    let session_max = settings(10).session_max;
    assert_eq!(extend(Extender::Buyer), Ok(session_max));
    assert_eq!(extend(Extender::Buyer), Ok(session_max * 2));
    assert_eq!(extend(Extender::Buyer), Err(SessionRefusal::NoExtensionLeft));
    assert_eq!(extend(Extender::Shop), Ok(session_max * 3));
    driven.room.finish(driven.now, place).unwrap();
    assert_eq!(driven.room.extend(driven.now, place, Extender::Shop), Err(SessionRefusal::Ended));
}

#[test]
fn a_buyer_has_as_many_sessions_as_the_room_allows_one_after_another() {
    let mut driven = Driven::new(RoomSettings { sessions_per_buyer: Some(2), ..settings(10) });
    for visit in 1..=2 {
        let (place, inside) = driven.joins(1, true);
        assert!(inside, "visit {visit}");
        let (same, _) = driven.joins(1, true);
        assert_eq!(same, place, "a live session answers a join");
        driven.room.finish(driven.now, place).unwrap();
    }
    assert_eq!(refusal(&mut driven, 1), JoinRefusal::BuyerLimit);
    driven.room.recover().unwrap();
    assert_eq!(refusal(&mut driven, 1), JoinRefusal::BuyerLimit);
    let other = driven.join(2);
    driven.room.abandon(driven.now, other, device(2)).unwrap();
    assert_ne!(driven.join(2), other, "a place given up is no visit");
}
