use crate::fixtures::{MASTER, base64url, derive, rotated_master, server, stolen_edge_root};
use proptest::prelude::*;
use shared::token::keyring::{KeyringError, MAX_LIVE_KEYS};
use shared::token::{EdgeKeys, KeyId, MasterKeys, ServerKeys};

#[test]
fn texts_read_back() {
    let master = rotated_master();
    let expected = format!("master;current=2;1={};2={}", base64url(&MASTER), base64url(&[8; 32]));
    assert_eq!(master.to_text(), expected);
    assert_eq!(MasterKeys::parse(&format!(" {expected}\n")).unwrap().to_text(), expected);
    let edge = ServerKeys::new(&master).edge().to_text();
    assert!(edge.starts_with("edge;current=2;1="));
    assert_eq!(EdgeKeys::parse(&edge).unwrap().to_text(), edge);
}

#[test]
fn the_edge_root_comes_from_the_master_and_nothing_leads_back() {
    assert_eq!(stolen_edge_root(server().edge()), derive(&MASTER, "edge-root/"));
}

#[test]
fn each_kind_refuses_the_other() {
    let master = rotated_master();
    let edge = ServerKeys::new(&master).edge().to_text();
    assert_eq!(EdgeKeys::parse(&master.to_text()).unwrap_err(), KeyringError::OtherKind);
    assert_eq!(MasterKeys::parse(&edge).unwrap_err(), KeyringError::OtherKind);
}

#[test]
fn other_spellings_are_malformed() {
    let text = rotated_master().to_text();
    let one = format!("1={}", base64url(&MASTER));
    let two = format!("2={}", base64url(&[8; 32]));
    let spellings = [
        String::new(),
        "master".to_owned(),
        text.replace("master", "keys"),
        text.replace("current=2;", ""),
        text.replace("current=2", "current=02"),
        text.replace("current=2", "current=+2"),
        text.replace("current=2", "current=256"),
        text.replace(";1=", ";01="),
        text.replace(';', "; "),
        format!("{text};"),
        format!("{text};{two}"),
        format!("{text}="),
        text[..text.len() - 1].to_owned(),
        format!("master;current=2;{two};{one}"),
        format!("{}B", &text[..text.len() - 1]),
    ];
    for spelling in spellings {
        assert_eq!(MasterKeys::parse(&spelling).unwrap_err(), KeyringError::Malformed, "{spelling}");
    }
    assert_eq!(MasterKeys::parse("master;current=1").unwrap_err(), KeyringError::CurrentMissing);
    assert_eq!(
        MasterKeys::parse(&text.replace("current=2", "current=3")).unwrap_err(),
        KeyringError::CurrentMissing
    );
}

#[test]
fn four_keys_live_and_a_fifth_is_refused() {
    let full =
        (2..=4).fold(MasterKeys::first(MASTER), |keys, id| keys.with_key(KeyId(id), [id; 32]).unwrap());
    assert_eq!(full.to_text().matches(';').count() - 1, MAX_LIVE_KEYS);
    assert!(MasterKeys::parse(&full.to_text()).is_ok());
    let fifth = format!("{};5={}", full.to_text(), base64url(&[5; 32]));
    assert_eq!(MasterKeys::parse(&fifth).unwrap_err(), KeyringError::TooManyKeys);
    assert_eq!(full.with_key(KeyId(5), [5; 32]).unwrap_err(), KeyringError::TooManyKeys);
}

#[test]
fn a_rotation_cannot_lose_the_key_that_signs() {
    let keys = rotated_master();
    assert_eq!(keys.clone().with_key(KeyId(1), [9; 32]).unwrap_err(), KeyringError::IdTaken);
    assert_eq!(keys.clone().with_current(KeyId(3)).unwrap_err(), KeyringError::CurrentMissing);
    assert_eq!(keys.without(KeyId(2)).unwrap_err(), KeyringError::CurrentMissing);
}

#[test]
fn debugging_shows_no_secret() {
    let master = rotated_master();
    let server = ServerKeys::new(&master);
    assert_eq!(format!("{master:?}"), "MasterKeys { current: 2, ids: [1, 2], .. }");
    assert_eq!(format!("{server:?}"), "ServerKeys { current: 2, ids: [1, 2], .. }");
    assert_eq!(format!("{:?}", server.edge()), "EdgeKeys { current: 2, ids: [1, 2], .. }");
}

proptest! {
    #[test]
    fn arbitrary_text_is_refused(text in any::<String>(), shaped in "(edge|master);current=[0-9]{1,3}(;[0-9]{1,3}=[A-Za-z0-9_-]{42}){0,5}") {
        prop_assert!(EdgeKeys::parse(&text).is_err());
        prop_assert!(EdgeKeys::parse(&shaped).is_err());
        prop_assert!(MasterKeys::parse(&shaped).is_err());
    }
}
