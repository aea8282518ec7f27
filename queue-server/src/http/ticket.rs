//! A ticket's life: join, poll, redeem, abandon.

use super::{
    body,
    call::Call,
    error::Refusal,
    presented::{self, PresentedTicket},
    reply,
};
use crate::{app::App, codes, rooms::ActiveRoom};
use axum::{
    http::{HeaderName, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use shared::{
    http::{
        cookie::{Cookie, DEVICE_LIFE},
        ratelimit::retry_after_s,
        reason::Reason,
    },
    ids::CodeHash,
    room::{Heard, JoinRequest, Joined, MOVE_LIFE},
    token::{Ticket, assertion::Unproved, ticket::issued_at_s},
    wire::TicketState,
};
use std::time::Duration;

/// `POST events/{event}/ticket`
pub(super) async fn join(app: &App, call: &Call, room: &ActiveRoom) -> Result<Response, Refusal> {
    let body = body::read(call)?;
    let typed = body::typed(call)?;
    let device = presented::device(app, call);
    // A ticket that does not verify is no obstacle: its owner gets a place as if they had none.
    let presented = presented::ticket(app, call, &room.event).ok();
    let assertion = call.header(MEMBER);
    let member = assertion.map(|assertion| app.members.prove(&room.shop_id, assertion, call.now));
    let guest_reason = member.and_then(Result::err).map(Unproved::code);
    let member = member.and_then(Result::ok);
    let request = JoinRequest {
        lane: member.and_then(|member| room.lane_named(member.lane)).unwrap_or(room.guest_lane()),
        device: device.id.hash(),
        member: member.map(|member| member.hash),
        presented: presented.as_ref().map(|presented| presented.ticket.place),
        presented_by: presented.as_ref().map(|presented| presented.ticket.device),
        code: typed.code.map(|code| read_code(room, &code)).transpose()?,
        may_enter: true,
    };
    let is_move = typed.moves.is_some();
    let joined = if let Some(code) = typed.moves {
        room.store.take_move(read_code(room, &code)?, request.device).await??
    } else {
        let answer = room.store.join(request).await?;
        app.metrics.note_join(&room.event, join_outcome(&answer));
        answer?
    };
    // The ticket in hand is told again, unless its place has moved.
    let is_own = !is_move && (joined.session.is_some() || joined.device == request.device);
    let known = presented
        .filter(|PresentedTicket { ticket, .. }| ticket.place == joined.place)
        .filter(|PresentedTicket { ticket, .. }| is_own || ticket.device == joined.device);
    let ticket = match known {
        Some(presented) => presented.text,
        None => seal(app, call, room, joined)?,
    };
    let mut cookies = Vec::new();
    if device.is_new {
        let value = app.keys.edge().seal_device(&device.id);
        cookies.push(app.cookies().set(Cookie::Device, &value, DEVICE_LIFE));
    }
    let is_new_place = !joined.existed && joined.session.is_none();
    let told = reply::PlaceTold {
        place: joined.place,
        ticket,
        serving_number: joined.serving_number,
        guest_reason,
        session: joined.session,
        cookies,
        status_code: if is_new_place { StatusCode::CREATED } else { StatusCode::OK },
        body: &body,
    };
    reply::place(app, call, room, told)
}

/// `GET events/{event}/ticket`
pub(super) async fn status(app: &App, call: &Call, room: &ActiveRoom) -> Result<Response, Refusal> {
    let place = presented::ticket(app, call, &room.event)?.ticket.place;
    let status = reply::personal_status(call, &*reply::snapshot(room)?, place)?;
    if status.state == TicketState::Waiting {
        let heard = Heard { place, again: Duration::from_millis(status.next_poll_ms) };
        // A store that is away is no reason to keep from a buyer what the snapshot says.
        let _ = room.store.hear(vec![heard]).await;
    }
    let retry_after_s = retry_after_s(Duration::from_millis(status.next_poll_ms));
    let mut response = reply::json(StatusCode::OK, &status)?;
    reply::set(&mut response, header::RETRY_AFTER, &retry_after_s.to_string());
    Ok(response)
}

/// `POST events/{event}/ticket/redeem`
pub(super) async fn redeem(app: &App, call: &Call, room: &ActiveRoom) -> Result<Response, Refusal> {
    let body = body::read(call)?;
    let presented = presented::ticket(app, call, &room.event)?;
    let place = presented.ticket.place;
    let session = room.store.redeem(place, presented.ticket.device).await?.map_err(|refusal| {
        let refusal = Refusal::enter(refusal, next_poll(call, room, &presented.ticket));
        app.metrics.note_redemption(&room.event, refusal.reason.code());
        refusal
    })?;
    app.metrics.note_redemption(&room.event, "entered");
    let told = reply::PlaceTold {
        place,
        ticket: presented.text,
        serving_number: place.number,
        guest_reason: None,
        session: Some(session),
        cookies: Vec::new(),
        status_code: StatusCode::OK,
        body: &body,
    };
    reply::place(app, call, room, told)
}

/// `POST events/{event}/ticket/move`: a code with which another device takes the place.
pub(super) async fn offer_move(app: &App, call: &Call, room: &ActiveRoom) -> Result<Response, Refusal> {
    body::read(call)?;
    let Ticket { place, device, .. } = presented::ticket(app, call, &room.event)?.ticket;
    let code = codes::mint().map_err(|error| Refusal::internal(&error))?;
    room.store.offer_move(place, device, read_code(room, &code)?).await??;
    reply::json(StatusCode::OK, &MoveReply { code, expires_in_s: MOVE_LIFE.as_secs() })
}

/// `DELETE events/{event}/ticket`
pub(super) async fn abandon(app: &App, call: &Call, room: &ActiveRoom) -> Result<Response, Refusal> {
    let Ticket { place, device, .. } = presented::ticket(app, call, &room.event)?.ticket;
    let abandoned = room.store.abandon(place, device).await?;
    abandoned.map_err(|_| Refusal::new(Reason::TicketVoid))?;
    let mut response = reply::empty(StatusCode::NO_CONTENT);
    let cleared = [Cookie::Ticket(&room.event), Cookie::Pass(&room.event)];
    reply::set_cookies(&mut response, &cleared.map(|cookie| app.cookies().clear(cookie)));
    Ok(response)
}

fn read_code(room: &ActiveRoom, typed: &str) -> Result<CodeHash, Refusal> {
    codes::hash(&room.event, typed).ok_or_else(|| Refusal::new(Reason::CodeUnknown))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MoveReply {
    code: String,
    expires_in_s: u64,
}

fn seal(app: &App, call: &Call, room: &ActiveRoom, joined: Joined) -> Result<String, Refusal> {
    let ticket = Ticket {
        place: joined.place,
        lobby: false,
        flagged: false,
        issued_at_s: issued_at_s(call.now),
        device: joined.device,
        nonce: rand::random(),
    };
    let sealed = app.keys.seal_ticket(&room.event, &ticket);
    Ok(sealed.map_err(|error| Refusal::internal(&error))?.into_string())
}

/// When a ticket whose turn is to come should ask again.
fn next_poll(call: &Call, room: &ActiveRoom, ticket: &Ticket) -> Duration {
    let published = room.published();
    let status = published.and_then(|published| reply::personal_status(call, &published, ticket.place).ok());
    status.map_or(RETRY_AFTER, |status| Duration::from_millis(status.next_poll_ms))
}

fn join_outcome(answer: &Result<Joined, shared::room::JoinRefusal>) -> &'static str {
    match answer {
        Ok(Joined { existed: true, .. }) => "existed",
        Ok(Joined { session: Some(_), .. }) => "entered",
        Ok(_) => "joined",
        Err(refusal) => Refusal::from(*refusal).reason.code(),
    }
}

const RETRY_AFTER: Duration = Duration::from_secs(5);

/// The shop's assertion that the buyer is a member.
const MEMBER: HeaderName = HeaderName::from_static("fairgate-member");
