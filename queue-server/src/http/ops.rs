//! Health and metrics, for those who run the server.

use super::{
    call::{Call, refuse},
    error::Refusal,
    guard::named,
};
use crate::{app::App, leader::Peers};
use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use shared::{http::reason::Reason, room::STALE_AFTER, time::Timestamp};
use std::sync::Arc;

/// `GET /metrics`
pub(super) async fn metrics(State(app): State<Arc<App>>, call: Call) -> Response {
    app.metrics.note_limit_home(&app.limits.home);
    app.metrics.note_leading(app.peers.as_ref().map_or(0, Peers::held_term));
    let text = app.metrics.text().map_err(|error| Refusal::internal(&error));
    let content_type = [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")];
    named("metrics", call.answer(text.map(|text| (content_type, text).into_response())))
}

/// `GET /healthz`: the process answers.
pub(super) async fn healthz() -> Response {
    named("healthz", (StatusCode::OK, "ok\n").into_response())
}

/// `GET /readyz`: every room has a fresh snapshot, so its store confirms and its clock runs.
pub(super) async fn readyz(State(app): State<Arc<App>>) -> Response {
    let now = app.clock.now();
    let is_fresh = |made_at_ms| now.since(Timestamp::from_millis(made_at_ms)) <= STALE_AFTER;
    let stale: Vec<&str> = app
        .rooms
        .values()
        .filter(|room| !room.published().is_some_and(|published| is_fresh(published.snapshot.server_time_ms)))
        .map(|room| room.event.as_str())
        .collect();
    let response = if stale.is_empty() {
        (StatusCode::OK, "ready\n".to_owned())
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, format!("no fresh snapshot: {}\n", stale.join(", ")))
    };
    named("readyz", response.into_response())
}

/// `GET /leadz`: the term that this server has the rooms of, 0: none. Other servers ask before they take the lead.
pub(super) async fn leadz(State(app): State<Arc<App>>) -> Response {
    let term = app.peers.as_ref().map_or(0, Peers::held_term);
    named("leadz", (StatusCode::OK, format!("{term}\n")).into_response())
}

/// `GET /openapi.json`: every call of this server, for tools.
pub(super) async fn openapi() -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-cache")];
    named("openapi", (headers, include_str!("openapi.json")).into_response())
}

/// A route of this server under another method.
pub(super) async fn method_not_allowed(headers: HeaderMap) -> Response {
    refuse(&headers, Reason::MethodNotAllowed)
}
