//! A session's renewal and extension: both need the ticket and a pass of the same place, so that a stolen ticket alone does
//! neither.

use super::{body, body::BuyerBody, call::Call, error::Refusal, presented, reply};
use crate::{app::App, rooms::ActiveRoom};
use axum::{http::StatusCode, response::Response};
use shared::room::{Extender, Session};

/// `POST events/{event}/session/renew`
pub(super) async fn renew(app: &App, call: &Call, room: &ActiveRoom) -> Result<Response, Refusal> {
    let live = LiveSession::presented(app, call, room)?;
    let session = room.store.renew(live.ticket.ticket.place).await??;
    live.reply(app, call, room, session)
}

/// `POST events/{event}/session/extend`: more time for whoever needs it.
pub(super) async fn extend(app: &App, call: &Call, room: &ActiveRoom) -> Result<Response, Refusal> {
    let live = LiveSession::presented(app, call, room)?;
    let session = room.store.extend(live.ticket.ticket.place, Extender::Buyer).await??;
    live.reply(app, call, room, session)
}

struct LiveSession {
    body: BuyerBody,
    ticket: presented::PresentedTicket,
}

impl LiveSession {
    fn presented(app: &App, call: &Call, room: &ActiveRoom) -> Result<Self, Refusal> {
        let body = body::read(call)?;
        let ticket = presented::ticket(app, call, &room.event)?;
        presented::pass(app, call, room, ticket.ticket.place)?;
        Ok(Self { body, ticket })
    }

    fn reply(self, app: &App, call: &Call, room: &ActiveRoom, session: Session) -> Result<Response, Refusal> {
        let told = reply::PlaceTold {
            place: self.ticket.ticket.place,
            serving_number: self.ticket.ticket.place.number,
            guest_reason: None,
            ticket: self.ticket.text,
            session: Some(session),
            cookies: Vec::new(),
            status_code: StatusCode::OK,
            body: &self.body,
        };
        reply::place(app, call, room, told)
    }
}
