//! Replies of the buyer side: JSON or redirect, with the cookies that carry place and pass.

use super::{body::BuyerBody, call::Call, error::Refusal};
use crate::{
    app::App,
    keys::Pass,
    rooms::{ActiveRoom, Published},
};
use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use shared::{
    http::{
        cookie::{Cookie, TICKET_LIFE},
        page::joined_path,
        reason::Reason,
    },
    ids::{Place, TicketNumber},
    room::{Session, status, status_at_join},
    wire::{PassReply, Status, TicketReply, TicketState},
};
use std::sync::Arc;

/// A buyer's place as it is told to them.
pub(super) struct PlaceTold<'a> {
    pub(super) place: Place,
    pub(super) ticket: String,
    /// The highest number that is known to be called in the lane, 0: what the snapshot says.
    pub(super) serving_number: TicketNumber,
    /// Why an assertion of membership did not count.
    pub(super) guest_reason: Option<&'static str>,
    pub(super) session: Option<Session>,
    /// Cookies to set besides those of place and pass.
    pub(super) cookies: Vec<String>,
    pub(super) status_code: StatusCode,
    pub(super) body: &'a BuyerBody,
}

/// What only the reply to a join tells besides.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JoinReply {
    #[serde(flatten)]
    reply: TicketReply,
    #[serde(skip_serializing_if = "Option::is_none")]
    guest_reason: Option<&'static str>,
}

/// The answer to a join, a redemption and a renewal.
pub(super) fn place(
    app: &App,
    call: &Call,
    room: &ActiveRoom,
    told: PlaceTold<'_>,
) -> Result<Response, Refusal> {
    let event = &room.event;
    let mut cookies = told.cookies;
    cookies.push(app.cookies().set(Cookie::Ticket(event), &told.ticket, TICKET_LIFE));
    for crowded_out in app.cookies().crowded_out(call.cookies(), event) {
        cookies.push(app.cookies().clear(Cookie::Ticket(&crowded_out)));
    }
    let pass = match told.session {
        Some(session) => Some(sign_pass(app, call, room, told.place, session, &mut cookies)?),
        None => None,
    };
    let mut response = match told.body {
        BuyerBody::Form { return_to } if pass.is_some() => redirect(return_to),
        BuyerBody::Form { return_to } => redirect(&joined_path(&app.config.site.prefix, event, return_to)),
        BuyerBody::Json => {
            let now_called =
                snapshot(room)?.snapshot.clone().after_calls(told.place.lane, told.serving_number);
            let behind = room.oldest_in_use();
            let behind = behind.as_ref().map(|behind| &behind.snapshot);
            // A session outlives the epoch of its ticket.
            let epoch = if pass.is_some() { now_called.epoch } else { told.place.epoch };
            let place = Place { epoch, ..told.place };
            let status = status_at_join(&now_called, behind, place, call.now, call.language());
            let mut status = status.ok_or_else(|| Refusal::new(Reason::TicketVoid))?;
            if pass.is_some() {
                // The snapshot is older than the session and may not know that this number was called.
                status = Status { state: TicketState::Called, position: None, eta: None, ..status };
            }
            let reply = TicketReply {
                ticket: told.ticket,
                event: event.clone(),
                lane: room.lane_name(told.place.lane).to_owned(),
                ticket_number: told.place.number,
                status,
                pass,
            };
            json(told.status_code, &JoinReply { reply, guest_reason: told.guest_reason })?
        }
    };
    set_cookies(&mut response, &cookies);
    Ok(response)
}

/// What the owner of `place` is told.
pub(super) fn personal_status(call: &Call, published: &Published, place: Place) -> Result<Status, Refusal> {
    status(&published.snapshot, place, call.now, call.language())
        .ok_or_else(|| Refusal::new(Reason::TicketVoid))
}

pub(super) fn snapshot(room: &ActiveRoom) -> Result<Arc<Published>, Refusal> {
    room.published().ok_or_else(|| Refusal::new(Reason::SnapshotUnavailable))
}

/// A personal reply.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Result<Response, Refusal> {
    let bytes = serde_json::to_vec(value).map_err(|error| Refusal::internal(&error))?;
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    set(&mut response, header::CONTENT_TYPE, "application/json");
    set(&mut response, header::CACHE_CONTROL, PERSONAL);
    Ok(response)
}

/// A personal reply without content.
pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    set(&mut response, header::CACHE_CONTROL, PERSONAL);
    response
}

/// Sets a field; a value that no field can hold is left out.
pub(super) fn set(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

pub(super) fn set_cookies(response: &mut Response, cookies: &[String]) {
    for cookie in cookies {
        if let Ok(value) = HeaderValue::from_str(cookie) {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
    }
}

pub(super) const PERSONAL: &str = "private, no-store";

fn sign_pass(
    app: &App,
    call: &Call,
    room: &ActiveRoom,
    place: Place,
    session: Session,
    cookies: &mut Vec<String>,
) -> Result<PassReply, Refusal> {
    let pass = Pass { event: &room.event, place, session, life: room.settings.pass_life };
    let token = app.passes.sign(&room.shop_id, &pass)?;
    let rest = session.expires_at.since(call.now);
    cookies.push(app.cookies().set(Cookie::Pass(&room.event), &app.keys.edge().tag_pass(&token), rest));
    Ok(PassReply { token, expires_in_s: rest.as_secs(), renew_in_s: rest.as_secs() / 2 })
}

fn redirect(location: &str) -> Response {
    let mut response = empty(StatusCode::SEE_OTHER);
    set(&mut response, header::LOCATION, location);
    response
}
