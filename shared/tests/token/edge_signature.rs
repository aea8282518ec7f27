use crate::fixtures::{base64url, derive, hmac, rotated_master, server, stolen_edge_root};
use proptest::prelude::*;
use shared::time::Timestamp;
use shared::token::edge_signature::{EdgeRequest, EdgeSignatureError, WINDOW_S};
use shared::token::{KeyId, ServerKeys};

const NOW_S: u64 = 1_764_480_000;

const REQUEST: EdgeRequest<'_> = EdgeRequest {
    method: "POST",
    path_and_query: "/.fairgate/events/drop/ticket?x=1",
    client_address: "203.0.113.7",
    body: b"{}",
};

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

#[test]
fn is_spelt_as_the_protocol_says() {
    let keys = server();
    let key = derive(&stolen_edge_root(keys.edge()), "edge-signature/");
    // The last line is SHA-256 of `{}`.
    let text = "v1\nPOST\n/.fairgate/events/drop/ticket?x=1\n1764480000\n203.0.113.7\n\
        44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    let expected = format!("v1;kid=1;t=1764480000;sig={}", base64url(&hmac(&key, text.as_bytes())));
    assert_eq!(keys.edge().sign_request(&REQUEST, at(NOW_S)), expected);
}

#[test]
fn holds_for_a_minute_either_way() {
    let keys = server();
    let header = keys.edge().sign_request(&REQUEST, at(NOW_S));
    let verify = |seconds| keys.edge().verify_request(&header, &REQUEST, at(seconds));
    assert_eq!(verify(NOW_S + WINDOW_S), Ok(()));
    assert_eq!(verify(NOW_S - WINDOW_S), Ok(()));
    assert_eq!(verify(NOW_S + WINDOW_S + 1), Err(EdgeSignatureError::OutsideWindow));
    assert_eq!(verify(NOW_S - WINDOW_S - 1), Err(EdgeSignatureError::OutsideWindow));
}

#[test]
fn covers_every_part_of_the_request() {
    let keys = server();
    let header = keys.edge().sign_request(&REQUEST, at(NOW_S));
    let changed = [
        EdgeRequest { method: "DELETE", ..REQUEST },
        EdgeRequest { path_and_query: "/.fairgate/events/drop/ticket", ..REQUEST },
        EdgeRequest { client_address: "203.0.113.8", ..REQUEST },
        EdgeRequest { client_address: "", ..REQUEST },
        EdgeRequest { body: b"{} ", ..REQUEST },
    ];
    for request in changed {
        let verdict = keys.edge().verify_request(&header, &request, at(NOW_S));
        assert_eq!(verdict, Err(EdgeSignatureError::Forged), "{request:?}");
    }
    let later = header.replace("t=1764480000", "t=1764480001");
    assert_eq!(keys.edge().verify_request(&later, &REQUEST, at(NOW_S)), Err(EdgeSignatureError::Forged));
}

#[test]
fn a_line_break_cannot_shift_one_field_into_the_next() {
    let keys = server();
    let split = EdgeRequest { method: "POST\n/a", path_and_query: "/b", ..REQUEST };
    let joined = EdgeRequest { method: "POST", path_and_query: "/a\n/b", ..REQUEST };
    let header = keys.edge().sign_request(&split, at(NOW_S));
    for request in [split, joined] {
        let verdict = keys.edge().verify_request(&header, &request, at(NOW_S));
        assert_eq!(verdict, Err(EdgeSignatureError::Malformed));
    }
}

#[test]
fn other_spellings_are_malformed() {
    let keys = server();
    let header = keys.edge().sign_request(&REQUEST, at(NOW_S));
    let spellings = [
        String::new(),
        header.replace("v1", "v2"),
        header.replace(';', "; "),
        header.replace("kid=1;", ""),
        header.replace("kid=1", "kid=+1"),
        header.replace("kid=1", "kid=256"),
        header.replace("t=", "t=-"),
        header.replace("t=1764480000", "t=9999999999999"),
        header.replace("t=1764480000", "t="),
        format!("{header};"),
        format!("{header}="),
        header[..header.len() - 1].to_owned(),
    ];
    for spelling in spellings {
        let verdict = keys.edge().verify_request(&spelling, &REQUEST, at(NOW_S));
        assert_eq!(verdict, Err(EdgeSignatureError::Malformed), "{spelling}");
    }
}

#[test]
fn survives_one_rotation_and_ends_with_its_key() {
    let before = server().edge().sign_request(&REQUEST, at(NOW_S));
    let during = ServerKeys::new(&rotated_master());
    assert_eq!(during.edge().verify_request(&before, &REQUEST, at(NOW_S)), Ok(()));
    let after = ServerKeys::new(&rotated_master().without(KeyId(1)).unwrap());
    let verdict = after.edge().verify_request(&before, &REQUEST, at(NOW_S));
    assert_eq!(verdict, Err(EdgeSignatureError::UnknownKey));
}

proptest! {
    #[test]
    fn arbitrary_headers_are_refused(text in any::<String>(), kid in any::<u8>(), t in any::<u64>(), sig in "[A-Za-z0-9_-]{43}") {
        let keys = server();
        prop_assert!(keys.edge().verify_request(&text, &REQUEST, at(NOW_S)).is_err());
        let shaped = format!("v1;kid={kid};t={t};sig={sig}");
        prop_assert!(keys.edge().verify_request(&shaped, &REQUEST, at(NOW_S)).is_err());
    }
}
