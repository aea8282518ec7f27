//! The waiting page, for a visit and for a form that was refused.

use super::{
    body::{self, BuyerBody},
    call::Call,
    error::Refusal,
    presented, reply,
};
use crate::{app::App, rooms::ActiveRoom};
use axum::{
    body::Body,
    http::{HeaderName, header},
    response::Response,
};
use shared::http::{
    page::{Standing, WaitingPage},
    reason::Reason,
};

/// `GET wait/{event}`
pub(super) fn page(app: &App, call: &Call, room: &ActiveRoom) -> Response {
    render(app, call, room, &body::return_to(call.query("return")), None)
}

/// The page in answer to a form, under the status of its refusal.
pub(super) fn refused(app: &App, call: &Call, room: &ActiveRoom, refusal: &Refusal) -> Response {
    let return_to = match body::read(call) {
        Ok(BuyerBody::Form { return_to }) => return_to,
        _ => body::return_to(None),
    };
    let mut response = render(app, call, room, &return_to, Some(refusal.reason));
    *response.status_mut() = refusal.status();
    if let Some(retry_after_s) = refusal.retry_after_s() {
        reply::set(&mut response, header::RETRY_AFTER, &retry_after_s.to_string());
    }
    response
}

fn render(app: &App, call: &Call, room: &ActiveRoom, return_path: &str, refused: Option<Reason>) -> Response {
    let ticket = presented::ticket(app, call, &room.event);
    let status = match (&ticket, room.published()) {
        (Ok(presented), Some(published)) => reply::personal_status(call, &published, presented.ticket.place),
        (Ok(_), None) => Err(Refusal::new(Reason::SnapshotUnavailable)),
        (Err(refusal), _) => Err(refusal.clone()),
    };
    let (standing, found) = match &status {
        Ok(status) => (Standing::Holding(Some(status)), None),
        Err(refusal) if refusal.reason == Reason::SnapshotUnavailable => (Standing::Holding(None), None),
        Err(refusal) if refusal.reason == Reason::NoTicket && call.query("joined").is_some() => {
            (Standing::CookieLost, None)
        }
        Err(refusal) => (Standing::Outside, Some(refusal.reason)),
    };
    let page = WaitingPage {
        event: &room.event,
        title: &room.title,
        prefix: &app.config.site.prefix,
        return_path,
        language: call.language(),
        standing,
        refusal: refused.or(found),
        turn_grace: room.settings.turn_grace,
        now: call.now,
        request_id: call.request_id(),
    };
    let mut response = Response::new(Body::from(page.render()));
    for (name, value) in page.headers() {
        reply::set(&mut response, HeaderName::from_static(name), &value);
    }
    response
}
