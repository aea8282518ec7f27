use crate::fixtures::{
    base64url, bytes_of, derive, event, events, hmac, rotated_master, server, stolen_edge_root, ticket,
    tickets,
};
use proptest::prelude::*;
use shared::ids::TicketNumber;
use shared::time::Timestamp;
use shared::token::ticket::{NumberTooLarge, issued_at_s};
use shared::token::{KeyId, MasterKeys, ServerKeys, TicketError};

const EDGE_SIGNED_BYTES: usize = 39;
const SERVER_SIGNED_BYTES: usize = 47;

proptest! {
    #[test]
    fn opens_to_what_was_sealed(ticket in tickets(), event in events()) {
        let keys = server();
        let text = keys.seal_ticket(&event, &ticket).unwrap();
        prop_assert_eq!(text.as_str().len(), 84);
        prop_assert_eq!(keys.open_ticket(text.as_str(), &event), Ok(ticket));
        prop_assert_eq!(keys.edge().open_ticket(text.as_str(), &event), Ok(ticket));
    }

    #[test]
    fn any_changed_character_is_refused(ticket in tickets(), at in 0_usize..84, other in "[A-Za-z0-9_-]") {
        let keys = server();
        let text = keys.seal_ticket(&event("drop"), &ticket).unwrap().into_string();
        let mut changed = text.clone();
        changed.replace_range(at..=at, &other);
        prop_assume!(changed != text);
        prop_assert!(keys.open_ticket(&changed, &event("drop")).is_err());
    }

    #[test]
    fn of_another_event_is_refused(ticket in tickets(), one in events(), other in events()) {
        prop_assume!(one != other);
        let keys = server();
        let text = keys.seal_ticket(&one, &ticket).unwrap();
        prop_assert_eq!(keys.open_ticket(text.as_str(), &other), Err(TicketError::OtherEvent));
        prop_assert_eq!(keys.edge().open_ticket(text.as_str(), &other), Err(TicketError::OtherEvent));
    }

    #[test]
    fn arbitrary_text_is_refused(text in any::<String>(), shaped in "[A-Za-z0-9_-]{84}", bytes in prop::collection::vec(any::<u8>(), 61)) {
        let keys = server();
        prop_assert_eq!(keys.open_ticket(&text, &event("drop")), Err(TicketError::Malformed));
        prop_assert!(keys.open_ticket(&shaped, &event("drop")).is_err());
        // Past version and key id, so that the tags are what refuses.
        let ours = base64url(&[&[1, 1][..], &bytes].concat());
        prop_assert!(keys.edge().open_ticket(&ours, &event("drop")).is_err());
    }
}

#[test]
fn keys_prepared_for_events_are_the_same_keys() {
    let (plain, prepared) = (server(), server().prepared_for(&[event("drop"), event("other")]));
    for id in ["drop", "other", "unprepared"] {
        let text = plain.seal_ticket(&event(id), &ticket()).unwrap();
        assert_eq!(prepared.seal_ticket(&event(id), &ticket()), Ok(text.clone()));
        assert_eq!(prepared.open_ticket(text.as_str(), &event(id)), Ok(ticket()));
        assert_eq!(prepared.edge().open_ticket(text.as_str(), &event(id)), Ok(ticket()));
    }
}

#[test]
fn any_flipped_bit_is_refused() {
    let keys = server();
    let sealed = bytes_of(keys.seal_ticket(&event("drop"), &ticket()).unwrap().as_str());
    for bit in 0..sealed.len() * 8 {
        let mut flipped = sealed.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let text = base64url(&flipped);
        assert!(keys.open_ticket(&text, &event("drop")).is_err(), "server accepts flipped bit {bit}");
        // The server's tag is the only part that the edge cannot judge.
        let edge_accepts = keys.edge().open_ticket(&text, &event("drop")).is_ok();
        assert_eq!(edge_accepts, bit / 8 >= SERVER_SIGNED_BYTES, "edge, flipped bit {bit}");
    }
}

#[test]
fn only_84_characters_of_canonical_base64url_are_read() {
    let keys = server();
    let text = keys.seal_ticket(&event("drop"), &ticket()).unwrap().into_string();
    let mut malformed: Vec<String> = (0..text.len()).map(|length| text[..length].to_owned()).collect();
    malformed.extend(["A", "=", "\n", ".", "==", "AAAA"].map(|tail| format!("{text}{tail}")));
    malformed.push(format!(" {}", &text[1..]));
    malformed.push(format!("{}=", &text[..83]));
    malformed.push(format!("{}+", &text[..83]));
    malformed.push(format!("{}é", &text[..82]));
    for bad in malformed {
        assert_eq!(keys.open_ticket(&bad, &event("drop")), Err(TicketError::Malformed), "{bad}");
    }
}

#[test]
fn a_stolen_edge_key_mints_no_place() {
    let keys = server();
    let root = stolen_edge_root(keys.edge());
    let sealed = bytes_of(keys.seal_ticket(&event("drop"), &ticket()).unwrap().as_str());
    let mut body = sealed[..EDGE_SIGNED_BYTES].to_vec();
    body[17] ^= 1; // another number
    let edge_tag = hmac(&derive(&root, "ticket-edge/drop"), &body);
    body.extend(&edge_tag[..8]);
    // Every purpose a thief can derive, with the server's own among them.
    for purpose in ["ticket-server/drop", "ticket-edge/drop", "edge-root/", "pass/"] {
        let server_tag = hmac(&derive(&root, purpose), &body);
        let text = base64url(&[&body, &server_tag[..16]].concat());
        assert!(keys.edge().open_ticket(&text, &event("drop")).is_ok(), "the edge cannot tell");
        assert_eq!(keys.open_ticket(&text, &event("drop")), Err(TicketError::Forged), "{purpose}");
    }
}

#[test]
fn a_server_tag_does_not_stand_in_for_the_edge_tag() {
    let keys = server();
    let mut sealed = bytes_of(keys.seal_ticket(&event("drop"), &ticket()).unwrap().as_str());
    let server_key = derive(&crate::fixtures::MASTER, "ticket-server/drop");
    sealed[EDGE_SIGNED_BYTES] ^= 1;
    let server_tag = hmac(&server_key, &sealed[..SERVER_SIGNED_BYTES]);
    sealed.splice(SERVER_SIGNED_BYTES.., server_tag[..16].iter().copied());
    assert_eq!(keys.open_ticket(&base64url(&sealed), &event("drop")), Err(TicketError::Forged));
}

#[test]
fn survives_one_rotation_and_ends_with_its_key() {
    let before = server().seal_ticket(&event("drop"), &ticket()).unwrap();
    let during = ServerKeys::new(&rotated_master());
    assert_eq!(during.open_ticket(before.as_str(), &event("drop")), Ok(ticket()));
    assert_eq!(during.edge().open_ticket(before.as_str(), &event("drop")), Ok(ticket()));

    let renewed = during.seal_ticket(&event("drop"), &ticket()).unwrap();
    assert_eq!(bytes_of(renewed.as_str())[1], 2, "the current key signs");
    let after = ServerKeys::new(&rotated_master().without(KeyId(1)).unwrap());
    assert_eq!(after.open_ticket(renewed.as_str(), &event("drop")), Ok(ticket()));
    assert_eq!(after.open_ticket(before.as_str(), &event("drop")), Err(TicketError::UnknownKey));
    assert_eq!(after.edge().open_ticket(before.as_str(), &event("drop")), Err(TicketError::UnknownKey));
}

#[test]
fn another_secret_under_the_same_id_is_another_key() {
    let text = server().seal_ticket(&event("drop"), &ticket()).unwrap();
    let stranger = ServerKeys::new(&MasterKeys::first([9; 32]));
    assert_eq!(stranger.edge().open_ticket(text.as_str(), &event("drop")), Err(TicketError::Forged));
}

#[test]
fn unknown_versions_and_flags_are_refused_though_well_signed() {
    let keys = server();
    let edge_key = derive(&stolen_edge_root(keys.edge()), "ticket-edge/drop");
    let sealed = bytes_of(keys.seal_ticket(&event("drop"), &ticket()).unwrap().as_str());
    let resigned = |at: usize, value: u8| {
        let mut body = sealed[..EDGE_SIGNED_BYTES].to_vec();
        body[at] = value;
        let tag = hmac(&edge_key, &body);
        base64url(&[&body, &tag[..8], &[0; 16]].concat())
    };
    let open = |text: String| keys.edge().open_ticket(&text, &event("drop"));
    for known in 0..4 {
        assert!(open(resigned(13, known)).is_ok(), "flags {known}");
    }
    for unknown in [4, 8, 0x80, 0xff] {
        assert_eq!(open(resigned(13, unknown)), Err(TicketError::Unsupported), "flags {unknown}");
    }
    for version in [0, 2, 0xff] {
        assert_eq!(open(resigned(0, version)), Err(TicketError::Unsupported), "version {version}");
    }
}

#[test]
fn the_largest_number_fits_and_the_next_is_refused() {
    let keys = server();
    let mut ticket = ticket();
    ticket.place.number = TicketNumber::MAX;
    let text = keys.seal_ticket(&event("drop"), &ticket).unwrap();
    assert_eq!(keys.open_ticket(text.as_str(), &event("drop")), Ok(ticket));
    ticket.place.number = TicketNumber(TicketNumber::MAX.0 + 1);
    assert_eq!(keys.seal_ticket(&event("drop"), &ticket), Err(NumberTooLarge));
}

#[test]
fn issue_time_is_whole_seconds_until_2106() {
    assert_eq!(issued_at_s(Timestamp::from_millis(1_999)), 1);
    assert_eq!(issued_at_s(Timestamp::from_millis(4_294_967_295_999)), u32::MAX);
    assert_eq!(issued_at_s(Timestamp::from_millis(4_294_967_296_000)), u32::MAX);
    assert_eq!(ticket().issued_at(), Timestamp::from_millis(1_764_480_000_000));
}

#[test]
fn debugging_shows_no_ticket() {
    let text = server().seal_ticket(&event("drop"), &ticket()).unwrap();
    assert_eq!(format!("{text:?}"), "TicketText(..)");
}
