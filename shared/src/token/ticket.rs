//! The signed place in a lane.
//!
//! 63 bytes, as 84 characters of base64url: version 1, key id 1, event 8, epoch 2, lane 1, flags 1, number 5, issued at 4,
//! device 8, nonce 8, edge tag 8, server tag 16; integers are big-endian. The edge tag covers the 39 bytes before it, the server
//! tag the 47 bytes before it.

use super::keyring::KeyId;
use super::keys::{EdgeKeys, ServerKeys};
use super::mac::leading;
use crate::ids::{DeviceHash, Epoch, EventId, LaneId, Place, TicketNumber};
use crate::time::Timestamp;
use base64ct::{Base64UrlUnpadded, Encoding as _};
use core::fmt;
use sha2::{Digest, Sha256};

/// What a ticket says. Its event is the one it was sealed for and is opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Epoch, lane and number; before the draw the number is a lobby index.
    pub place: Place,
    /// The number is a lobby index, which the draw turns into a ticket number.
    pub lobby: bool,
    /// The join came without a device proof: a stricter ceiling may hold for it.
    pub flagged: bool,
    /// When the place was given, in whole seconds since 1970 (see [`issued_at_s`]).
    pub issued_at_s: u32,
    /// The device that joined.
    pub device: DeviceHash,
    /// 8 random bytes of the host: two tickets for one place differ.
    pub nonce: [u8; 8],
}

/// The 84 characters that the buyer keeps. Printing it for debugging shows none of them.
#[derive(Clone, PartialEq, Eq)]
pub struct TicketText(String);

/// Why a ticket was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// Not 84 characters of base64url.
    #[error("ticket is not 84 characters of base64url")]
    Malformed,
    /// A version or a flag that this build does not know.
    #[error("ticket has an unknown version or flag")]
    Unsupported,
    /// Sealed for another event.
    #[error("ticket belongs to another event")]
    OtherEvent,
    /// Sealed under a key that was retired, or never existed.
    #[error("ticket was sealed under an unknown key")]
    UnknownKey,
    /// A tag does not match.
    #[error("ticket tag does not match")]
    Forged,
}

/// A number above [`TicketNumber::MAX`] does not fit a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ticket number does not fit 5 bytes")]
pub struct NumberTooLarge;

impl TicketText {
    /// The 84 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The 84 characters as an owned text.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Debug for TicketText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TicketText(..)")
    }
}

impl Ticket {
    /// When the place was given.
    pub fn issued_at(&self) -> Timestamp {
        Timestamp::from_millis(u64::from(self.issued_at_s).saturating_mul(1000))
    }
}

/// Seconds since 1970 as a ticket carries them, rounded down, at most `u32::MAX` (the year 2106).
pub fn issued_at_s(now: Timestamp) -> u32 {
    u32::try_from(now.as_secs()).unwrap_or(u32::MAX)
}

impl ServerKeys {
    /// Signs a ticket with both tags of the current key.
    ///
    /// # Errors
    /// [`NumberTooLarge`]: a number cut to 5 bytes would be somebody else's place.
    pub fn seal_ticket(&self, event: &EventId, ticket: &Ticket) -> Result<TicketText, NumberTooLarge> {
        if ticket.place.number > TicketNumber::MAX {
            return Err(NumberTooLarge);
        }
        let (id, edge_key) = self.edge().current();
        let mut bytes = body(id, event, ticket);
        let edge_tag: [u8; EDGE_TAG_BYTES] = edge_key.ticket(event).tag(&[&bytes]);
        bytes.extend(edge_tag);
        let server_tag: [u8; SERVER_TAG_BYTES] = self.current().ticket(event).tag(&[&bytes]);
        bytes.extend(server_tag);
        Ok(TicketText(Base64UrlUnpadded::encode_string(&bytes)))
    }

    /// Opens a ticket if both tags match: what joining again and redeeming need.
    ///
    /// # Errors
    /// See [`TicketError`].
    pub fn open_ticket(&self, text: &str, event: &EventId) -> Result<Ticket, TicketError> {
        let bytes = decode(text)?;
        let ticket = open_edge_part(self.edge(), &bytes, event)?;
        let (signed, server_tag) = bytes.split_at(BODY_BYTES + EDGE_TAG_BYTES);
        let [_, id, ..] = bytes;
        let master = self.get(KeyId(id)).ok_or(TicketError::UnknownKey)?;
        if master.ticket(event).verifies(&[signed], server_tag) {
            Ok(ticket)
        } else {
            Err(TicketError::Forged)
        }
    }
}

impl EdgeKeys {
    /// Opens a ticket if the edge's tag matches: enough to show a place, not to enter by it.
    ///
    /// # Errors
    /// See [`TicketError`].
    pub fn open_ticket(&self, text: &str, event: &EventId) -> Result<Ticket, TicketError> {
        open_edge_part(self, &decode(text)?, event)
    }
}

fn body(id: KeyId, event: &EventId, ticket: &Ticket) -> Vec<u8> {
    let [_, _, _, number @ ..] = ticket.place.number.0.to_be_bytes();
    let flags = if ticket.lobby { LOBBY } else { 0 } | if ticket.flagged { FLAGGED } else { 0 };
    let mut bytes = Vec::with_capacity(TICKET_BYTES);
    bytes.extend([VERSION, id.0]);
    bytes.extend(event_hash(event));
    bytes.extend(ticket.place.epoch.0.to_be_bytes());
    bytes.extend([ticket.place.lane.0, flags]);
    bytes.extend(number);
    bytes.extend(ticket.issued_at_s.to_be_bytes());
    bytes.extend(ticket.device.0);
    bytes.extend(ticket.nonce);
    bytes
}

fn decode(text: &str) -> Result<[u8; TICKET_BYTES], TicketError> {
    let mut bytes = [0; TICKET_BYTES];
    if text.len() != TICKET_CHARS {
        return Err(TicketError::Malformed);
    }
    Base64UrlUnpadded::decode(text, &mut bytes).map_err(|_| TicketError::Malformed)?;
    Ok(bytes)
}

/// Checks version, event, key and the edge's tag, in this order: what is cheap and tells the most first.
fn open_edge_part(
    keys: &EdgeKeys,
    bytes: &[u8; TICKET_BYTES],
    event: &EventId,
) -> Result<Ticket, TicketError> {
    let (body, tags) = bytes.split_at(BODY_BYTES);
    let (edge_tag, _) = tags.split_at(EDGE_TAG_BYTES);
    let [version, id, rest @ ..] = body else { return Err(TicketError::Malformed) };
    if *version != VERSION {
        return Err(TicketError::Unsupported);
    }
    if !rest.starts_with(&event_hash(event)) {
        return Err(TicketError::OtherEvent);
    }
    let key = keys.get(KeyId(*id)).ok_or(TicketError::UnknownKey)?;
    if !key.ticket(event).verifies(&[body], edge_tag) {
        return Err(TicketError::Forged);
    }
    read(rest).ok_or(TicketError::Unsupported)
}

/// Reads what comes after version and key id; `None` if a flag is unknown.
fn read(mut rest: &[u8]) -> Option<Ticket> {
    let _event_hash: [u8; 8] = take(&mut rest)?;
    let epoch = Epoch(u16::from_be_bytes(take(&mut rest)?));
    let [lane, flags, number_high] = take(&mut rest)?;
    let number_low = u32::from_be_bytes(take(&mut rest)?);
    let number = TicketNumber(u64::from(number_high) << 32 | u64::from(number_low));
    let ticket = Ticket {
        place: Place { epoch, lane: LaneId(lane), number },
        lobby: flags & LOBBY != 0,
        flagged: flags & FLAGGED != 0,
        issued_at_s: u32::from_be_bytes(take(&mut rest)?),
        device: DeviceHash(take(&mut rest)?),
        nonce: take(&mut rest)?,
    };
    (flags & !(LOBBY | FLAGGED) == 0).then_some(ticket)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*first)
}

fn event_hash(event: &EventId) -> [u8; 8] {
    leading(Sha256::digest(event.as_str()).into())
}

/// Characters of a ticket.
pub const TICKET_CHARS: usize = 84;

const VERSION: u8 = 1;
const LOBBY: u8 = 1;
const FLAGGED: u8 = 2;
const BODY_BYTES: usize = 39;
const EDGE_TAG_BYTES: usize = 8;
const SERVER_TAG_BYTES: usize = 16;
const TICKET_BYTES: usize = BODY_BYTES + EDGE_TAG_BYTES + SERVER_TAG_BYTES;
