//! Tickets as they lie on the wire, and the same bytes from HMAC and SHA-256 alone: a layout that drifts is found twice.

use crate::fixtures::{base64url, derive, event, hmac};
use data_encoding::HEXLOWER;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use shared::ids::{DeviceHash, Epoch, LaneId, Place, TicketNumber};
use shared::token::{MasterKeys, ServerKeys, Ticket};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vectors {
    master: String,
    edge: String,
    tickets: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    event: String,
    epoch: u16,
    lane: u8,
    lobby: bool,
    flagged: bool,
    number: u64,
    issued_at_s: u32,
    device: String,
    nonce: String,
    ticket: String,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../vectors/ticket.json")).unwrap()
}

fn server(vectors: &Vectors) -> ServerKeys {
    ServerKeys::new(&MasterKeys::parse(&vectors.master).unwrap())
}

fn eight(hex: &str) -> [u8; 8] {
    HEXLOWER.decode(hex.as_bytes()).unwrap().try_into().unwrap()
}

#[test]
fn edge_keys_are_what_they_were() {
    let vectors = vectors();
    assert_eq!(server(&vectors).edge().to_text(), vectors.edge);
}

#[test]
fn tickets_are_what_they_were() {
    let vectors = vectors();
    assert_eq!(vectors.tickets.len(), 4);
    for case in &vectors.tickets {
        let ticket = Ticket {
            place: Place {
                epoch: Epoch(case.epoch),
                lane: LaneId(case.lane),
                number: TicketNumber(case.number),
            },
            lobby: case.lobby,
            flagged: case.flagged,
            issued_at_s: case.issued_at_s,
            device: DeviceHash(eight(&case.device)),
            nonce: eight(&case.nonce),
        };
        let sealed = server(&vectors).seal_ticket(&event(&case.event), &ticket).unwrap();
        assert_eq!(sealed.as_str(), case.ticket);
        assert_eq!(server(&vectors).open_ticket(&case.ticket, &event(&case.event)), Ok(ticket));
    }
}

#[test]
fn tickets_follow_from_the_primitives() {
    let vectors = vectors();
    let master = [7; 32];
    assert_eq!(vectors.master, format!("master;current=1;1={}", base64url(&master)));
    let edge_root = derive(&master, "edge-root/");
    for case in &vectors.tickets {
        let hex = format!(
            "0101{}{:04x}{:02x}{:02x}{:010x}{:08x}{}{}",
            &HEXLOWER.encode(&Sha256::digest(&case.event))[..16],
            case.epoch,
            case.lane,
            u8::from(case.lobby) + 2 * u8::from(case.flagged),
            case.number,
            case.issued_at_s,
            case.device,
            case.nonce
        );
        let mut bytes = HEXLOWER.decode(hex.as_bytes()).unwrap();
        assert_eq!(bytes.len(), 39);
        let edge_key = derive(&edge_root, &format!("ticket-edge/{}", case.event));
        bytes.extend(&hmac(&edge_key, &bytes)[..8]);
        let server_key = derive(&master, &format!("ticket-server/{}", case.event));
        bytes.extend(&hmac(&server_key, &bytes)[..16]);
        assert_eq!(base64url(&bytes), case.ticket);
    }
}
