//! A session's renewal.

use super::{body, call::Call, error::Refusal, presented, reply};
use crate::{app::App, rooms::ActiveRoom};
use axum::{http::StatusCode, response::Response};

/// `POST events/{event}/session/renew`: needs the ticket and a pass of the same place, so that a stolen ticket alone renews
/// nothing.
pub(super) async fn renew(app: &App, call: &Call, room: &ActiveRoom) -> Result<Response, Refusal> {
    let body = body::read(call)?;
    let presented = presented::ticket(app, call, &room.event)?;
    let place = presented.ticket.place;
    presented::pass(app, call, room, place)?;
    let session = room.store.renew(place).await??;
    let told = reply::PlaceTold {
        place,
        ticket: presented.text,
        session: Some(session),
        cookies: Vec::new(),
        status_code: StatusCode::OK,
        body: &body,
    };
    reply::place(app, call, room, told)
}
