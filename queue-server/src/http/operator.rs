//! What operators and shops may do with a room: look, order, and end or extend a session.

use super::{
    call::Call,
    error::Refusal,
    guard::named,
    limits::{authorized, json_body},
    reply::json,
};
use crate::{access::Role, app::App, keys::Pass, rooms::ActiveRoom};
use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    response::Response,
    routing::{get, post},
};
use serde::{Deserialize, Serialize};
use shared::{
    http::{cookie::Cookie, reason::Reason},
    ids::{DeviceHash, Epoch, EventId, LaneId, Place, TicketNumber},
    room::{Action, Extender, Facts, LogEntry, Session},
    token::PassId,
    wire::{Message, Phase, Word},
};
use std::sync::Arc;
use tracing::info;

/// Every call under `/v1/events`.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/events", get(events))
        .route("/v1/events/{event}", get(event))
        .route("/v1/events/{event}/actions", get(log).post(act))
        .route("/v1/events/{event}/sessions/{jti}/{word}", post(session))
}

/// A room as its operator sees it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventView<'a> {
    event: &'a EventId,
    title: &'a str,
    shop: &'a str,
    phase: Phase,
    /// Capacity is no bound for now.
    everyone_in: bool,
    capacity: u32,
    sessions: u32,
    /// Called buyers in front of a full door.
    at_door: u32,
    epoch: Epoch,
    lanes: Vec<LaneView<'a>>,
    /// Why the line stands still.
    reason: Option<String>,
    message: Option<&'a Message>,
    opens_at_ms: Option<u64>,
    closes_at_ms: Option<u64>,
    /// After the action `staff_pass`.
    #[serde(skip_serializing_if = "Option::is_none")]
    staff_pass: Option<StaffPass>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LaneView<'a> {
    name: &'a str,
    waiting: u64,
    serving_number: TicketNumber,
    next_number: TicketNumber,
}

/// A pass that no session stands behind, for a browser that sets the cookie or a client that sends the token.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StaffPass {
    token: String,
    set_cookie: String,
    expires_in_s: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    action: Action,
}

#[derive(Serialize)]
struct EventList<'a> {
    events: Vec<EventView<'a>>,
}

#[derive(Serialize)]
struct Log {
    log: Vec<LogEntry>,
}

/// `GET /v1/events`
async fn events(State(app): State<Arc<App>>, call: Call) -> Response {
    let answer = || {
        let in_force = app.limits.live.now();
        let key = authorized(&in_force, &call, Role::Read)?;
        let mine = app.rooms.values().filter(|room| key.shops.covers(&room.shop_id));
        let views = mine.filter_map(|room| Some((room, room.published()?.facts.clone()?)));
        let views: Vec<_> = views.collect();
        let events = views.iter().map(|(room, facts)| EventView::of(room, facts)).collect();
        json(StatusCode::OK, &EventList { events })
    };
    named("events", call.answer(answer()))
}

/// `GET /v1/events/{event}`
async fn event(State(app): State<Arc<App>>, Path(event): Path<String>, call: Call) -> Response {
    let answer = || {
        let room = room(&app, &call, &event, Role::Read)?.0;
        let published = super::reply::snapshot(room)?;
        let facts = published.facts.as_ref().ok_or_else(|| Refusal::new(Reason::SnapshotUnavailable))?;
        json(StatusCode::OK, &EventView::of(room, facts))
    };
    named("event", call.answer(answer()))
}

/// `GET /v1/events/{event}/actions`: what operators and schedule have changed, oldest first.
async fn log(State(app): State<Arc<App>>, Path(event): Path<String>, call: Call) -> Response {
    let answer = async {
        let (room, _) = room(&app, &call, &event, Role::Read)?;
        json(StatusCode::OK, &Log { log: room.store.log().await? })
    };
    named("event_log", call.answer(answer.await))
}

/// `POST /v1/events/{event}/actions`
async fn act(State(app): State<Arc<App>>, Path(event): Path<String>, call: Call) -> Response {
    let answer = async {
        let (room, by) = room(&app, &call, &event, Role::Operate)?;
        let Order { action } = json_body(&call)?;
        let facts = room.store.operate(by.clone(), action.clone()).await??;
        room.note_facts(facts.clone());
        info!(event = %room.event, by, ?action, phase = ?facts.phase, "an operator's order is carried out");
        let mut view = EventView::of(room, &facts);
        if action == Action::StaffPass {
            view.staff_pass = Some(staff_pass(&app, room, &facts)?);
        }
        json(StatusCode::OK, &view)
    };
    named("event_action", call.answer(answer.await))
}

/// `POST /v1/events/{event}/sessions/{jti}/{finish|revoke|extend}`: the shop's word on a session, by the `jti` of its pass.
async fn session(
    State(app): State<Arc<App>>,
    Path((event, jti, word)): Path<(String, String, String)>,
    call: Call,
) -> Response {
    let answer = async {
        let (room, _) = room(&app, &call, &event, Role::Sessions)?;
        let pass = PassId::parse(&jti).map_err(|_| Refusal::new(Reason::PathInvalid))?;
        if pass.event != room.event {
            return Err(Refusal::new(Reason::SessionEnded));
        }
        let word = shared::gate::session_word(&word).ok_or_else(|| Refusal::new(Reason::RouteUnknown))?;
        match word {
            Word::Finish => room.store.finish(pass.place).await??,
            Word::Revoke => room.store.revoke(pass.place).await??,
            Word::Extend => drop(room.store.extend(pass.place, Extender::Shop).await??),
        }
        Ok(super::reply::empty(StatusCode::NO_CONTENT))
    };
    named("event_session", call.answer(answer.await))
}

/// The room of a call, and the name of whoever makes it.
pub(super) fn room<'a>(
    app: &'a App,
    call: &Call,
    event: &str,
    role: Role,
) -> Result<(&'a ActiveRoom, String), Refusal> {
    let in_force = app.limits.live.now();
    let key = authorized(&in_force, call, role)?;
    let unknown = || Refusal::new(Reason::EventUnknown);
    let event = EventId::parse(event).map_err(|_| unknown())?;
    let room = app.rooms.get(&event).ok_or_else(unknown)?;
    key.must_cover(&room.shop_id)?;
    let by = if key.note.is_empty() { key.id.clone() } else { key.note.clone() };
    Ok((room, by))
}

impl<'a> EventView<'a> {
    fn of(room: &'a ActiveRoom, facts: &'a Facts) -> Self {
        let lanes = room.settings.lanes.iter().zip(&facts.lanes).map(|(settings, lane)| LaneView {
            name: &settings.name,
            waiting: lane.waiting,
            serving_number: lane.serving_number,
            next_number: lane.next_number,
        });
        Self {
            event: &room.event,
            title: &room.title,
            shop: &room.shop_id,
            phase: facts.phase,
            everyone_in: facts.everyone_in,
            capacity: facts.capacity,
            sessions: facts.sessions,
            at_door: facts.at_door,
            epoch: facts.epoch,
            lanes: lanes.collect(),
            reason: room.published().and_then(|published| published.snapshot.reason.clone()),
            message: facts.message.as_ref(),
            opens_at_ms: room.settings.opens_at.map(shared::time::Timestamp::as_millis),
            closes_at_ms: room.settings.closes_at.map(shared::time::Timestamp::as_millis),
            staff_pass: None,
        }
    }
}

/// The last number is never given out: no session is counted, and nothing renews it.
fn staff_pass(app: &App, room: &ActiveRoom, facts: &Facts) -> Result<StaffPass, Refusal> {
    let (now, life) = (app.clock.now(), room.settings.pass_life);
    let expires_at = now.saturating_add(life);
    let place = Place { epoch: facts.epoch, lane: LaneId(0), number: TicketNumber::MAX };
    let session = Session {
        started_at: now,
        expires_at,
        ends_at: expires_at,
        device: DeviceHash([0; 8]),
        extensions: 0,
        told_until: expires_at,
    };
    let token = app.passes.sign(&room.shop_id, &Pass { event: &room.event, place, session, life })?;
    let tagged = app.keys.edge().tag_pass(&token);
    let set_cookie = app.cookies().set(Cookie::Pass(&room.event), &tagged, life);
    Ok(StaffPass { token, set_cookie, expires_in_s: life.as_secs() })
}
