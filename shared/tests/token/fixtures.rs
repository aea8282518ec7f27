//! Keys, tickets and the primitives by which tests recompute what the crate does.

use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use proptest::prelude::*;
use sha2::Sha256;
use shared::ids::{DeviceHash, Epoch, EventId, LaneId, Place, TicketNumber};
use shared::token::{EdgeKeys, KeyId, MasterKeys, ServerKeys, Ticket};

pub(crate) const MASTER: [u8; 32] = [7; 32];

pub(crate) fn event(id: &str) -> EventId {
    EventId::parse(id).unwrap()
}

pub(crate) fn server() -> ServerKeys {
    ServerKeys::new(&MasterKeys::first(MASTER))
}

/// Keys in the middle of a rotation: key 2 signs, key 1 still verifies.
pub(crate) fn rotated_master() -> MasterKeys {
    MasterKeys::first(MASTER).with_key(KeyId(2), [8; 32]).unwrap().with_current(KeyId(2)).unwrap()
}

pub(crate) fn ticket() -> Ticket {
    Ticket {
        place: Place { epoch: Epoch(1), lane: LaneId(0), number: TicketNumber(352) },
        lobby: false,
        flagged: true,
        issued_at_s: 1_764_480_000,
        device: DeviceHash([0xd0; 8]),
        nonce: [0xa5; 8],
    }
}

pub(crate) fn tickets() -> impl Strategy<Value = Ticket> {
    let place = (any::<u16>(), any::<u8>(), 0..=TicketNumber::MAX.0);
    let rest = (any::<bool>(), any::<bool>(), any::<u32>(), any::<[u8; 8]>(), any::<[u8; 8]>());
    (place, rest).prop_map(|((epoch, lane, number), (lobby, flagged, issued_at_s, device, nonce))| Ticket {
        place: Place { epoch: Epoch(epoch), lane: LaneId(lane), number: TicketNumber(number) },
        lobby,
        flagged,
        issued_at_s,
        device: DeviceHash(device),
        nonce,
    })
}

pub(crate) fn events() -> impl Strategy<Value = EventId> {
    "[a-z0-9-]{1,32}".prop_map(|id| event(&id))
}

pub(crate) fn base64url(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

pub(crate) fn bytes_of(text: &str) -> Vec<u8> {
    BASE64URL_NOPAD.decode(text.as_bytes()).unwrap()
}

/// HMAC-SHA-256 (RFC 2104), straight from its crate.
pub(crate) fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    Hmac::<Sha256>::new_from_slice(key).unwrap().chain_update(message).finalize().into_bytes().into()
}

/// HKDF-SHA-256 (RFC 5869) of 32 bytes, written out: one block of output is one HMAC over info and a 1.
pub(crate) fn derive(secret: &[u8], info: &str) -> [u8; 32] {
    let pseudorandom_key = hmac(b"fairgate/v1", secret);
    hmac(&pseudorandom_key, &[info.as_bytes(), &[1]].concat())
}

/// The edge's root key as a thief reads it from the edge's own secret.
pub(crate) fn stolen_edge_root(keys: &EdgeKeys) -> Vec<u8> {
    let text = keys.to_text();
    bytes_of(text.split_once(";1=").unwrap().1)
}
