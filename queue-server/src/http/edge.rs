//! What only an edge may ask: its configuration, ended sessions, and its reports.

use super::{
    body::json_object,
    call::Call,
    error::Refusal,
    guard::RouteName,
    reply::{PERSONAL, empty, json, set},
};
use crate::app::App;
use axum::{
    body::Body,
    extract::{Path, State},
    http::{StatusCode, header},
    response::Response,
};
use shared::{
    http::{
        etag::is_known,
        reason::{Reason, ReasonUse},
    },
    ids::{Epoch, EventId, LaneId, Place, TicketNumber},
    room::{Extender, Heard},
    wire::{OutcomeCount, Report, SessionWord, Word},
};
use std::{sync::Arc, time::Duration};

/// `GET /v1/edge/events/{event}/ended?after=N`
pub(super) async fn ended(State(app): State<Arc<App>>, Path(event): Path<String>, call: Call) -> Response {
    let mut response = call.answer(ended_page(&app, &call, &event).await);
    response.extensions_mut().insert(RouteName("ended"));
    response
}

/// `GET /v1/edge/config`
pub(super) async fn config(State(app): State<Arc<App>>, call: Call) -> Response {
    let mut response = call.answer(config_document(&app, &call));
    response.extensions_mut().insert(RouteName("edge_config"));
    response
}

/// `POST /v1/edge/report`
pub(super) async fn report(State(app): State<Arc<App>>, call: Call) -> Response {
    let mut response = call.answer(take_report(&app, &call).await);
    response.extensions_mut().insert(RouteName("report"));
    response
}

fn config_document(app: &App, call: &Call) -> Result<Response, Refusal> {
    must_be_edge(call)?;
    let document = app.document.current(&app.limits.live.now(), app.clock.now());
    let mut response = if is_known(call.header(header::IF_NONE_MATCH), &document.etag) {
        empty(StatusCode::NOT_MODIFIED)
    } else {
        let mut response = Response::new(Body::from(document.text.clone()));
        set(&mut response, header::CONTENT_TYPE, "application/toml");
        set(&mut response, header::CACHE_CONTROL, PERSONAL);
        response
    };
    set(&mut response, header::ETAG, &document.etag);
    Ok(response)
}

async fn ended_page(app: &App, call: &Call, event: &str) -> Result<Response, Refusal> {
    must_be_edge(call)?;
    let unknown = || Refusal::new(Reason::EventUnknown);
    let event = EventId::parse(event).map_err(|_| unknown())?;
    let room = app.rooms.get(&event).ok_or_else(unknown)?;
    // Without a readable number the reader has nothing yet.
    let after = call.query("after").and_then(|after| after.parse().ok()).unwrap_or(0);
    json(StatusCode::OK, &room.store.ended_after(after).await?)
}

async fn take_report(app: &App, call: &Call) -> Result<Response, Refusal> {
    must_be_edge(call)?;
    let report: Report = json_object(&call.body)?;
    for SessionWord { event, epoch, lane, number, word } in report.sessions {
        if let Some(room) = app.rooms.get(&event) {
            let place = Place { epoch, lane, number };
            // A session that is over already is what the shop wanted, or cannot be extended any more.
            let _told = match word {
                Word::Finish => room.store.finish(place).await?,
                Word::Revoke => room.store.revoke(place).await?,
                Word::Extend => room.store.extend(place, Extender::Shop).await?.map(drop),
            };
        }
    }
    for (event, polls) in report.polls {
        if let Some(room) = app.rooms.get(&event) {
            let heard = |&(epoch, lane, number, again_s): &(Epoch, LaneId, TicketNumber, u64)| Heard {
                place: Place { epoch, lane, number },
                again: Duration::from_secs(again_s.min(POLL_S_MAX)),
            };
            room.store.hear(polls.iter().map(heard).collect()).await?;
        }
    }
    for OutcomeCount { event, code, count } in report.outcomes {
        let reason = Reason::from_code(&code).filter(|reason| reason.used_as() != ReasonUse::Standstill);
        if let (Some(reason), true) = (reason, app.rooms.contains_key(&event)) {
            app.metrics.note_edge_outcome(&event, reason, count);
        }
    }
    let config = &app.limits.live.now().config;
    let is_known = |name: &str| config.shops.iter().any(|shop| shop.policy(name).is_some());
    report
        .limits
        .iter()
        .filter(|limit| is_known(&limit.policy))
        .for_each(|limit| app.metrics.note_edge_limits(limit));
    let now = app.clock.now();
    report.origins.iter().for_each(|origin| app.origins.hear(origin, now));
    Ok(empty(StatusCode::NO_CONTENT))
}

fn must_be_edge(call: &Call) -> Result<(), Refusal> {
    if call.is_from_edge { Ok(()) } else { Err(Refusal::new(Reason::EdgeSignatureInvalid)) }
}

/// Nobody is told to ask again later than this.
const POLL_S_MAX: u64 = 360;
