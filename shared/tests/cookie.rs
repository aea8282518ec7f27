//! Cookies by name, whatever else a request carries.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;
use shared::http::cookie::{
    CANDIDATES_MAX, CLEARED_MAX, Cookie, CookieDomain, CookieMode, DEVICE_LIFE, InvalidCookieDomain,
    presented_tickets, values,
};
use shared::ids::EventId;

const NAME: &str = "__Host-fg-ticket-drop";

fn event(id: &str) -> EventId {
    EventId::parse(id).unwrap()
}

fn domain() -> CookieMode {
    CookieMode::Domain(CookieDomain::parse("shop.example").unwrap())
}

fn read(headers: &[&[u8]]) -> Vec<String> {
    values(headers.iter().copied(), NAME).map(str::to_owned).collect()
}

#[test]
fn names_tell_the_browser_where_a_cookie_lives() {
    let drop = event("drop");
    let names = |mode: &CookieMode| {
        [Cookie::Device, Cookie::Ticket(&drop), Cookie::Pass(&drop)].map(|cookie| mode.name(cookie))
    };
    assert_eq!(names(&CookieMode::Development), ["fg-device", "fg-ticket-drop", "fg-pass-drop"]);
    assert_eq!(
        names(&CookieMode::Host),
        ["__Host-fg-device", "__Host-fg-ticket-drop", "__Host-fg-pass-drop"]
    );
    assert_eq!(names(&domain()), ["__Secure-fg-device", "__Secure-fg-ticket-drop", "__Secure-fg-pass-drop"]);
}

#[test]
fn set_cookie_carries_the_attributes_of_its_mode() {
    let set = |mode: &CookieMode| mode.set(Cookie::Device, "x", DEVICE_LIFE);
    let common = "device=x; Path=/; Max-Age=34560000; HttpOnly; SameSite=Lax";
    assert_eq!(set(&CookieMode::Development), format!("fg-{common}"));
    assert_eq!(set(&CookieMode::Host), format!("__Host-fg-{common}; Secure"));
    assert_eq!(set(&domain()), format!("__Secure-fg-{common}; Secure; Domain=shop.example"));
    assert_eq!(
        CookieMode::Host.clear(Cookie::Pass(&event("drop"))),
        "__Host-fg-pass-drop=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure"
    );
}

#[test]
fn a_domain_cannot_smuggle_attributes() {
    for bad in ["", "shop", ".shop.example", "shop.example.", "shop..example", "a.b; Path=/x", "Shop.example"]
    {
        assert_eq!(CookieDomain::parse(bad), Err(InvalidCookieDomain), "{bad}");
    }
    let longest = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "a".repeat(61));
    assert!(CookieDomain::parse(&longest).is_ok());
    assert!(CookieDomain::parse(&format!("{longest}a")).is_err());
}

#[test]
fn ours_is_found_among_foreign_and_broken_cookies() {
    let foreign = (0..20).map(|n| format!("foreign{n}=v{n}; ")).collect::<Vec<_>>().concat();
    let crowded =
        format!("{foreign}=; ;;{NAME}; {NAME} =ours ;x{NAME}=not; {NAME}x=not; __host-fg-ticket-drop=not");
    assert_eq!(read(&[crowded.as_bytes()]), ["ours"]);
    let huge = format!("a={}; {NAME}=ours", "v".repeat(64 * 1024));
    assert_eq!(read(&[huge.as_bytes()]), ["ours"]);
    let not_text =
        [b"a=\xff\xfe; ".as_slice(), NAME.as_bytes(), b"=\xff; ", NAME.as_bytes(), b"=ours"].concat();
    assert_eq!(read(&[&not_text]), ["ours"]);
}

#[test]
fn several_of_one_name_come_in_order_across_headers() {
    let first = format!("{NAME}=one; {NAME}=\"two\"; {NAME}=; {NAME}=a b; {NAME}=three=3");
    let second = format!("{NAME}=four");
    assert_eq!(read(&[first.as_bytes(), second.as_bytes()]), ["one", "two", "four"]);
    assert!(read(&[]).is_empty());
}

#[test]
fn the_last_candidate_is_tried_and_the_one_behind_it_is_not() {
    let header = (1..=CANDIDATES_MAX + 1).map(|n| format!("{NAME}=v{n};")).collect::<Vec<_>>().concat();
    let found = read(&[header.as_bytes()]);
    assert_eq!(found.len(), CANDIDATES_MAX);
    assert_eq!(*found.last().unwrap(), format!("v{CANDIDATES_MAX}"));
}

#[test]
fn a_ticket_in_the_authorization_field_comes_first() {
    let cookies = [format!("{NAME}=cookie")];
    let presented = |authorization: Option<&'static [u8]>| -> Vec<&str> {
        presented_tickets(authorization, cookies.iter().map(String::as_bytes), NAME).collect()
    };
    assert_eq!(presented(Some(b"Ticket header")), ["header", "cookie"]);
    assert_eq!(presented(Some(b"tiCKET   header ")), ["header", "cookie"]);
    assert_eq!(presented(Some(b"Ticket broken==")), ["broken==", "cookie"], "to be refused as a ticket");
    for other in
        [b"Bearer header".as_slice(), b"Ticket", b"Ticket ", b"Ticketheader", b"Ticket a b", b"Ticket \xff"]
    {
        assert_eq!(presented(Some(other)), ["cookie"]);
    }
    assert_eq!(presented(None), ["cookie"]);
}

#[test]
fn a_ninth_ticket_crowds_out_the_oldest() {
    let held = |count: usize| -> String {
        (1..=count).map(|n| format!("fg-ticket-e{n}=t; a=b; ")).collect::<Vec<_>>().concat()
    };
    let crowded_out = |header: &str, id: &str| -> Vec<String> {
        let out = CookieMode::Development.crowded_out([header.as_bytes()], &event(id));
        out.iter().map(EventId::to_string).collect()
    };
    assert!(crowded_out(&held(7), "new").is_empty());
    assert_eq!(crowded_out(&held(8), "new"), ["e1"]);
    assert_eq!(crowded_out(&held(9), "new"), ["e1", "e2"]);
    assert!(crowded_out(&held(8), "e1").is_empty(), "its own cookie is only replaced");
    assert!(crowded_out(&held(7).repeat(3), "new").is_empty(), "one name counts once");
    assert_eq!(crowded_out(&held(1000), "new").len(), CLEARED_MAX);
}

proptest! {
    #[test]
    fn arbitrary_bytes_yield_only_tokens(
        headers in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..4),
        name in "[a-z=; \\x00-\\xff]{0,4}",
    ) {
        let found: Vec<&str> = values(headers.iter().map(Vec::as_slice), &name).collect();
        prop_assert!(found.len() <= CANDIDATES_MAX);
        prop_assert!(found.iter().all(|value| !value.is_empty() && !value.contains([';', '=', ' ', '"'])));
        let first = headers.first().map(Vec::as_slice);
        prop_assert!(presented_tickets(first, headers.iter().map(Vec::as_slice), &name).count() <= CANDIDATES_MAX + 1);
    }

    #[test]
    fn ours_is_found_wherever_it_stands(
        before in prop::collection::vec("[^;]{0,20}", 0..20),
        after in prop::collection::vec("[^;]{0,20}", 0..20),
        value in "[A-Za-z0-9_.-]{1,84}",
    ) {
        let ours = [format!("{NAME}={value}")];
        let header = [before.as_slice(), &ours, &after].concat().join("; ");
        prop_assert_eq!(read(&[header.as_bytes()]), [value]);
    }
}
