//! What a buyer presents: ticket, device and pass. Of several, the first that verifies counts.

use super::{call::Call, error::Refusal};
use crate::{app::App, rooms::ActiveRoom};
use axum::http::{HeaderName, header};
use shared::{
    http::{
        cookie::{Cookie, presented_tickets, values},
        reason::Reason,
    },
    ids::{EventId, Place},
    token::{DeviceId, PassError, Ticket},
};
use uuid::Uuid;

/// A ticket whose two tags verify, and its text.
pub(super) struct PresentedTicket {
    pub(super) ticket: Ticket,
    pub(super) text: String,
}

/// The buyer's device.
pub(super) struct PresentedDevice {
    pub(super) id: DeviceId,
    /// It was minted for this reply, which must set its cookie.
    pub(super) is_new: bool,
}

/// The ticket of the request.
pub(super) fn ticket(app: &App, call: &Call, event: &EventId) -> Result<PresentedTicket, Refusal> {
    let name = app.cookies().name(Cookie::Ticket(event));
    let authorization = call.headers.get(header::AUTHORIZATION).map(axum::http::HeaderValue::as_bytes);
    let mut refusal = Refusal::new(Reason::NoTicket);
    for text in presented_tickets(authorization, call.cookies(), &name) {
        match app.keys.open_ticket(text, event) {
            Ok(ticket) => return Ok(PresentedTicket { ticket, text: text.to_owned() }),
            Err(error) => refusal = error.into(),
        }
    }
    Err(refusal)
}

/// The device of the cookie, or a new one.
pub(super) fn device(app: &App, call: &Call) -> PresentedDevice {
    let name = app.cookies().name(Cookie::Device);
    let known = values(call.cookies(), &name).find_map(|value| app.keys.edge().open_device(value).ok());
    match known {
        Some(id) => PresentedDevice { id, is_new: false },
        None => PresentedDevice { id: DeviceId(*Uuid::new_v4().as_bytes()), is_new: true },
    }
}

/// Whether the request carries a pass of this place, over or not: the room knows whether the session lives.
pub(super) fn pass(app: &App, call: &Call, room: &ActiveRoom, place: Place) -> Result<(), Refusal> {
    let event = &room.event;
    let name = app.cookies().name(Cookie::Pass(event));
    let by_tag = values(call.cookies(), &name).filter_map(|value| {
        match app.keys.edge().open_pass(value, event, call.now) {
            Ok(claims) => Some(claims),
            Err(PassError::Expired(claims)) => Some(*claims),
            Err(_) => None,
        }
    });
    // Clients without cookies send the JWT as the shop gets it.
    let by_signature = call.header(PASS).and_then(|jwt| app.passes.open(jwt));
    let is_of_place =
        by_tag.chain(by_signature).any(|pass| pass.jti.event == *event && pass.jti.place == place);
    if is_of_place { Ok(()) } else { Err(Refusal::new(Reason::PassInvalid)) }
}

const PASS: HeaderName = HeaderName::from_static("fairgate-pass");
