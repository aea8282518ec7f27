//! Whether a gated request may go on to the shop.

use crate::fixtures::{View, now, pass, place, snapshot};
use shared::gate::{Admission, Asked, Entered, PASS_GRACE, admit, after_asking, find_pass};
use shared::http::cors::Caller;
use shared::http::reason::Reason;
use shared::wire::Phase;
use std::time::Duration;

fn open_line() -> View {
    View::new(Some(snapshot(Phase::Open, false)))
}

#[test]
fn the_first_pass_that_holds_goes_on() {
    let view = open_line();
    let (forged, good) = (
        pass(&view.keys, 1, "alpha", (-10, 110)).replace('A', "B"),
        pass(&view.keys, 2, "alpha", (-10, 110)),
    );
    let Admission::Pass(held) = admit(&view.get(), &["rubbish", &forged, &good], Caller::Own) else {
        panic!("no pass")
    };
    assert_eq!((held.place, held.renews), (place(2), false));
    assert_eq!(Some(held.jwt), good.split_once('.').map(|(_, jwt)| jwt));
}

#[test]
fn a_pass_that_is_over_ended_or_of_another_shop_waits() {
    let mut view = open_line();
    let check = |view: &View, cookie: &str| {
        assert_eq!(admit(&view.get(), &[cookie], Caller::Own), Admission::Wait(Reason::QueueRequired));
    };
    check(&view, &pass(&view.keys, 1, "alpha", (-120, 0)));
    check(&view, &pass(&view.keys, 1, "beta", (-10, 110)));
    let good = pass(&view.keys, 1, "alpha", (-10, 110));
    assert!(find_pass(&view.get(), &[&good]).is_some());
    view.ended.insert(place(1), now(), Duration::from_secs(120));
    check(&view, &good);
}

#[test]
fn a_pass_renews_once_less_than_half_of_its_life_is_left() {
    let view = open_line();
    let renews = |life_s| find_pass(&view.get(), &[&pass(&view.keys, 1, "alpha", life_s)]).unwrap().renews;
    assert!(!renews((-59, 61)));
    assert!(!renews((-60, 60)));
    assert!(renews((-61, 59)));
}

#[test]
fn while_the_server_is_away_a_pass_is_honoured_a_minute_longer_and_not_renewed() {
    let mut view = open_line();
    let over_for = |s: u64| i64::try_from(s).unwrap();
    let grace_s = PASS_GRACE.as_secs();
    let late = pass(&view.keys, 1, "alpha", (-200, 1 - over_for(grace_s)));
    let too_late = pass(&view.keys, 1, "alpha", (-200, -over_for(grace_s)));
    assert_eq!(find_pass(&view.get(), &[&late]), None);
    view.is_server_away = true;
    assert!(!find_pass(&view.get(), &[&late]).unwrap().renews);
    assert_eq!(find_pass(&view.get(), &[&too_late]), None);
    assert!(!find_pass(&view.get(), &[&pass(&view.keys, 1, "alpha", (-100, 1))]).unwrap().renews);
}

#[test]
fn a_pass_is_over_when_either_clock_says_so() {
    let mut view = open_line();
    let good = pass(&view.keys, 1, "alpha", (-10, 30));
    view.server_time = now().saturating_add(Duration::from_secs(29));
    assert!(find_pass(&view.get(), &[&good]).is_some());
    view.server_time = now().saturating_add(Duration::from_secs(30));
    assert_eq!(find_pass(&view.get(), &[&good]), None, "the server is ahead");
    view.server_time = now().saturating_sub(Duration::from_secs(3_600));
    assert_eq!(
        find_pass(&view.get(), &[&pass(&view.keys, 1, "alpha", (-60, 0))]),
        None,
        "the server is behind"
    );
}

#[test]
fn without_a_pass_the_room_decides() {
    let check = |phase, session_free, expected| {
        let view = View::new(Some(snapshot(phase, session_free)));
        assert_eq!(admit(&view.get(), &[], Caller::Own), expected, "{phase:?} {session_free}");
    };
    check(Phase::Open, true, Admission::Ask);
    check(Phase::Open, false, Admission::Wait(Reason::QueueRequired));
    check(Phase::Passthrough, false, Admission::Ask);
    check(Phase::Scheduled, true, Admission::Wait(Reason::NotOpenYet));
    check(Phase::Lobby, true, Admission::Wait(Reason::QueueRequired));
    check(Phase::Drawing, true, Admission::Wait(Reason::QueueRequired));
    check(Phase::Paused, true, Admission::Wait(Reason::EventPaused));
    check(Phase::SoldOut, true, Admission::Wait(Reason::OutOfStock));
    check(Phase::Closed, true, Admission::Wait(Reason::EventClosed));
    assert_eq!(admit(&View::new(None).get(), &[], Caller::Own), Admission::Wait(Reason::SnapshotUnavailable));
}

#[test]
fn a_page_of_another_site_takes_no_place_for_its_visitors() {
    for (phase, session_free) in [(Phase::Open, true), (Phase::Open, false), (Phase::Passthrough, true)] {
        let view = View::new(Some(snapshot(phase, session_free)));
        let sent =
            |passes: &[&str]| matches!(admit(&view.get(), passes, Caller::Foreign), Admission::Pass(_));
        assert_eq!(
            admit(&view.get(), &[], Caller::Foreign),
            Admission::Wait(Reason::QueueRequired),
            "{phase:?}"
        );
        assert!(sent(&[&pass(&view.keys, 1, "alpha", (-10, 110))]), "whoever is inside goes on");
    }
}

#[test]
fn a_pass_needs_no_snapshot() {
    let view = View::new(None);
    let good = pass(&view.keys, 1, "alpha", (-10, 110));
    assert!(matches!(admit(&view.get(), &[&good], Caller::Own), Admission::Pass(_)));
}

#[test]
fn every_wait_is_a_refusal_that_never_looks_like_success() {
    for phase in [Phase::Scheduled, Phase::Lobby, Phase::Open, Phase::Paused, Phase::SoldOut, Phase::Closed] {
        let view = View::new(Some(snapshot(phase, false)));
        let Admission::Wait(reason) = admit(&view.get(), &[], Caller::Own) else {
            panic!("{phase:?} went on")
        };
        assert!(reason.status() >= 400);
    }
}

#[test]
fn the_answer_of_the_server_decides_after_asking() {
    let view = View::new(Some(snapshot(Phase::Open, true)));
    let good = pass(&view.keys, 3, "alpha", (0, 120));
    let Entered::Pass(held) = after_asking(&view.get(), Asked::Entered(&good)) else { panic!("no pass") };
    assert_eq!(held.place, place(3));
    let waits = |asked| after_asking(&view.get(), asked);
    assert_eq!(waits(Asked::InLine), Entered::Wait(Reason::QueueRequired));
    assert_eq!(waits(Asked::Refused(Reason::BuyerLimit)), Entered::Wait(Reason::BuyerLimit));
    assert_eq!(waits(Asked::Entered("not.a.pass")), Entered::Wait(Reason::QueueRequired));
    assert_eq!(waits(Asked::Unreachable), Entered::Wait(Reason::QueueUnreachable));
}

#[test]
fn only_passthrough_lets_on_without_proof() {
    let passthrough = View::new(Some(snapshot(Phase::Passthrough, true)));
    assert_eq!(after_asking(&passthrough.get(), Asked::Unreachable), Entered::Unproved);
    let nothing = View::new(None);
    assert_eq!(after_asking(&nothing.get(), Asked::Unreachable), Entered::Wait(Reason::QueueUnreachable));
}
