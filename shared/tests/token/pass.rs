use crate::fixtures::{
    base64url, derive, event, events, hmac, rotated_master, server, stolen_edge_root, tickets,
};
use proptest::prelude::*;
use shared::time::Timestamp;
use shared::token::pass::{Confirmation, ISSUER, PASS_CHARS_MAX, jwt_of};
use shared::token::{KeyId, PassClaims, PassError, PassId, ServerKeys};

const EXP_S: u64 = 1_764_480_120;

fn claims() -> PassClaims {
    PassClaims {
        iss: ISSUER.to_owned(),
        aud: "alpha".to_owned(),
        event: event("drop"),
        jti: PassId::parse("drop:1:0:352").unwrap(),
        cnf: None,
        iat: 1_764_480_000,
        exp: EXP_S,
    }
}

/// A JWT whose signature nobody reads here; its header asks for no algorithm at all, which must not matter.
fn jwt(claims: &PassClaims) -> String {
    jwt_of_json(&serde_json::to_string(claims).unwrap())
}

fn jwt_of_json(json: &str) -> String {
    format!("{}.{}.c2ln", base64url(br#"{"alg":"none"}"#), base64url(json.as_bytes()))
}

fn before_exp() -> Timestamp {
    Timestamp::from_millis(EXP_S * 1000 - 1)
}

fn open(keys: &ServerKeys, cookie: &str) -> Result<PassClaims, PassError> {
    keys.edge().open_pass(cookie, &event("drop"), before_exp())
}

#[test]
fn opens_to_its_claims_and_the_jwt_of_the_shop() {
    let keys = server();
    let cookie = keys.edge().tag_pass(&jwt(&claims()));
    assert_eq!(open(&keys, &cookie), Ok(claims()));
    assert_eq!(jwt_of(&cookie), Some(jwt(&claims()).as_str()));
}

#[test]
fn claims_are_spelt_as_the_protocol_says() {
    let mut claims = claims();
    claims.cnf = Some(Confirmation { jkt: "thumb".to_owned() });
    let expected = r#"{"iss":"fairgate","aud":"alpha","event":"drop","jti":"drop:1:0:352","cnf":{"jkt":"thumb"},"iat":1764480000,"exp":1764480120}"#;
    assert_eq!(serde_json::to_string(&claims).unwrap(), expected);
}

#[test]
fn the_tag_is_16_bytes_over_the_jwt() {
    let keys = server();
    let key = derive(&stolen_edge_root(keys.edge()), "pass/");
    let tag = hmac(&key, jwt(&claims()).as_bytes());
    assert_eq!(
        keys.edge().tag_pass(&jwt(&claims())),
        format!("{}.{}", base64url(&tag[..16]), jwt(&claims()))
    );
}

#[test]
fn is_over_in_the_second_of_exp() {
    let keys = server();
    let cookie = keys.edge().tag_pass(&jwt(&claims()));
    assert!(keys.edge().open_pass(&cookie, &event("drop"), before_exp()).is_ok());
    let at_exp = keys.edge().open_pass(&cookie, &event("drop"), Timestamp::from_millis(EXP_S * 1000));
    assert_eq!(at_exp, Err(PassError::Expired(Box::new(claims()))));
}

#[test]
fn any_changed_character_is_refused() {
    let keys = server();
    let cookie = keys.edge().tag_pass(&jwt(&claims()));
    for at in 0..cookie.len() {
        for other in ["A", "B", ".", "_", "="] {
            let mut changed = cookie.clone();
            changed.replace_range(at..=at, other);
            let refused = matches!(open(&keys, &changed), Err(PassError::Forged | PassError::Malformed));
            assert!(refused || changed == cookie, "{other} at {at}");
        }
    }
    for length in 0..cookie.len() {
        assert!(open(&keys, &cookie[..length]).is_err(), "cut to {length}");
    }
}

#[test]
fn of_another_event_is_refused_even_under_the_name_of_this_one() {
    let keys = server();
    let other =
        PassClaims { event: event("other"), jti: PassId::parse("other:1:0:352").unwrap(), ..claims() };
    let torn = PassClaims { jti: PassId::parse("other:1:0:352").unwrap(), ..claims() };
    for claims in [other, torn] {
        assert_eq!(open(&keys, &keys.edge().tag_pass(&jwt(&claims))), Err(PassError::OtherEvent));
    }
}

#[test]
fn a_tagged_text_without_the_claims_of_a_pass_is_malformed() {
    let keys = server();
    let json = serde_json::to_string(&claims()).unwrap();
    let bodies = [
        String::new(),
        "a.b".to_owned(),
        format!("{}.c2ln", jwt(&claims())),
        jwt_of_json("{}"),
        jwt_of_json(&json.replace("fairgate", "someone")),
        jwt_of_json(&json.replace("1764480120", "-1")),
        jwt_of_json(&json.replace("drop:1:0:352", "drop:1:0:0")),
        jwt_of_json(&json.replace(r#""exp""#, r#""exp":1,"exp""#)),
        jwt_of_json(&format!("{json} {json}")),
    ];
    for body in bodies {
        assert_eq!(open(&keys, &keys.edge().tag_pass(&body)), Err(PassError::Malformed), "{body}");
    }
}

#[test]
fn the_longest_is_read_and_one_more_is_refused() {
    let keys = server();
    let cookie = |fill: usize| keys.edge().tag_pass(&format!("{}{}", jwt(&claims()), "A".repeat(fill)));
    let fill = PASS_CHARS_MAX - cookie(0).len();
    assert_eq!(open(&keys, &cookie(fill)), Ok(claims()));
    assert_eq!(open(&keys, &cookie(fill + 1)), Err(PassError::Malformed));
}

#[test]
fn survives_one_rotation_and_ends_with_its_key() {
    let before = server().edge().tag_pass(&jwt(&claims()));
    let during = ServerKeys::new(&rotated_master());
    assert_eq!(open(&during, &before), Ok(claims()));
    let after = ServerKeys::new(&rotated_master().without(KeyId(1)).unwrap());
    assert_eq!(open(&after, &before), Err(PassError::Forged));
    assert_eq!(open(&after, &during.edge().tag_pass(&jwt(&claims()))), Ok(claims()));
}

#[test]
fn a_pass_id_has_one_spelling() {
    let bad = [
        "",
        ":",
        "drop",
        "drop:1:0",
        "drop:1:0:1:",
        "drop:1:0:1:1",
        "drop:01:0:1",
        "drop:1:+0:1",
        "drop:1:0:0",
        "drop:1:0:-1",
        "drop:1:0:01",
        "drop:65536:0:1",
        "drop:1:256:1",
        "drop:1:0:1099511627776",
        "Drop:1:0:1",
        ":1:0:1",
        "drop:1:0: 1",
    ];
    for text in bad {
        assert!(PassId::parse(text).is_err(), "{text}");
    }
    assert!(PassId::parse("drop:65535:255:1099511627775").is_ok());
}

proptest! {
    #[test]
    fn a_pass_id_reads_back(ticket in tickets(), event in events()) {
        prop_assume!(ticket.place.number.0 > 0);
        let id = PassId { event, place: ticket.place };
        prop_assert_eq!(PassId::parse(&id.to_string()), Ok(id));
    }

    #[test]
    fn arbitrary_text_is_refused(text in any::<String>(), shaped in "[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_.-]{0,200}") {
        let keys = server();
        prop_assert!(open(&keys, &text).is_err());
        prop_assert!(open(&keys, &shaped).is_err());
        // Under a good tag, so that the text itself reaches the reader of claims.
        prop_assert_eq!(open(&keys, &keys.edge().tag_pass(&text)), Err(PassError::Malformed));
    }
}
