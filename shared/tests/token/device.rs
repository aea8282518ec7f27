use crate::fixtures::{base64url, bytes_of, derive, event, hmac, rotated_master, server, stolen_edge_root};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use shared::token::device::{DEVICE_COOKIE_CHARS, DeviceCookieError};
use shared::token::{DeviceId, KeyId, ServerKeys};

proptest! {
    #[test]
    fn opens_to_what_was_sealed(id in any::<[u8; 16]>()) {
        let keys = server();
        let cookie = keys.edge().seal_device(&DeviceId(id));
        prop_assert_eq!(cookie.len(), DEVICE_COOKIE_CHARS);
        prop_assert_eq!(keys.edge().open_device(&cookie), Ok(DeviceId(id)));
    }

    #[test]
    fn arbitrary_text_is_refused(text in any::<String>(), shaped in "[A-Za-z0-9_-]{46}") {
        prop_assert_eq!(server().edge().open_device(&text), Err(DeviceCookieError::Malformed));
        prop_assert!(server().edge().open_device(&shaped).is_err());
    }
}

#[test]
fn lies_as_the_layout_says() {
    let keys = server();
    let key = derive(&stolen_edge_root(keys.edge()), "device-cookie/");
    let signed = [&[1, 1][..], &[3; 16]].concat();
    let expected = [&signed[..], &hmac(&key, &signed)[..16]].concat();
    assert_eq!(keys.edge().seal_device(&DeviceId([3; 16])), base64url(&expected));
}

#[test]
fn the_hash_is_the_beginning_of_sha_256() {
    assert_eq!(DeviceId([3; 16]).hash().0, Sha256::digest([3; 16])[..8]);
}

#[test]
fn any_flipped_bit_truncation_or_loose_bit_is_refused() {
    let keys = server();
    let cookie = keys.edge().seal_device(&DeviceId([3; 16]));
    let sealed = bytes_of(&cookie);
    for bit in 0..sealed.len() * 8 {
        let mut flipped = sealed.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(keys.edge().open_device(&base64url(&flipped)).is_err(), "flipped bit {bit}");
    }
    for length in 0..cookie.len() {
        assert_eq!(keys.edge().open_device(&cookie[..length]), Err(DeviceCookieError::Malformed));
    }
    // 272 bits leave four bits of the last character unused: only zeros are canonical.
    let accepted: Vec<char> = ('A'..='Z')
        .chain('a'..='z')
        .chain('0'..='9')
        .chain(['-', '_'])
        .filter(|last| keys.edge().open_device(&format!("{}{last}", &cookie[..45])).is_ok())
        .collect();
    assert_eq!(accepted, [cookie.chars().last().unwrap()]);
}

#[test]
fn survives_one_rotation_and_ends_with_its_key() {
    let before = server().edge().seal_device(&DeviceId([3; 16]));
    let during = ServerKeys::new(&rotated_master());
    assert_eq!(during.edge().open_device(&before), Ok(DeviceId([3; 16])));
    let after = ServerKeys::new(&rotated_master().without(KeyId(1)).unwrap());
    assert_eq!(after.edge().open_device(&before), Err(DeviceCookieError::UnknownKey));
    assert!(after.edge().open_device(&during.edge().seal_device(&DeviceId([3; 16]))).is_ok());
}

#[test]
fn is_no_ticket() {
    let keys = server();
    let cookie = keys.edge().seal_device(&DeviceId([3; 16]));
    assert!(keys.edge().open_ticket(&cookie, &event("drop")).is_err());
}
