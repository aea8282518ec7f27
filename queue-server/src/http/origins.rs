//! How the watched servers of shops stand, and the operator's word on them.

use super::{
    call::Call,
    error::Refusal,
    guard::named,
    limits::{authorized, json_body},
    reply::json,
};
use crate::{access::Role, app::App, origins::Origin};
use axum::{Router, extract::State, http::StatusCode, response::Response, routing::get};
use serde::{Deserialize, Serialize};
use shared::{http::reason::Reason, room::Standstill};
use std::sync::Arc;
use tracing::info;

/// The calls under `/v1/origins`.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/v1/origins", get(origins).put(fix))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OriginView<'a> {
    origin: &'a str,
    shops: &'a [String],
    target_latency_ms: u128,
    capacity_min: u32,
    capacity_max: u32,
    /// Most sessions of all its rooms together now.
    capacity: u32,
    sessions: u32,
    /// Why it is less than allowed, or why nobody is called.
    reason: Option<&'static str>,
    /// The operator's word.
    fixed: Option<u32>,
}

#[derive(Serialize)]
struct OriginList<'a> {
    origins: Vec<OriginView<'a>>,
}

/// `null` lets the capacity follow the server again.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    origin: String,
    capacity: Option<u32>,
}

/// `GET /v1/origins`
async fn origins(State(app): State<Arc<App>>, call: Call) -> Response {
    let answer = || {
        let in_force = app.limits.live.now();
        let key = authorized(&in_force, &call, Role::Read)?;
        let mine = app
            .origins
            .all()
            .iter()
            .filter(|origin| origin.shops().iter().any(|shop| key.shops.covers(shop)));
        json(StatusCode::OK, &OriginList { origins: mine.map(|origin| OriginView::of(origin)).collect() })
    };
    named("origins", call.answer(answer()))
}

/// `PUT /v1/origins`: who orders must stand for every shop of the server.
async fn fix(State(app): State<Arc<App>>, call: Call) -> Response {
    let answer = || {
        let in_force = app.limits.live.now();
        let key = authorized(&in_force, &call, Role::Operate)?;
        let Word { origin, capacity } = json_body(&call)?;
        let unknown =
            || Refusal::new(Reason::BodyInvalid).detail("no [[origin]] of the configuration has this URL");
        let origin = app.origins.get(&origin).ok_or_else(unknown)?;
        origin.shops().iter().try_for_each(|shop| key.must_cover(shop))?;
        origin.fix(capacity);
        info!(
            origin = origin.url(),
            by = key.id,
            ?capacity,
            "an operator's word on a shop's server is carried out"
        );
        json(StatusCode::OK, &OriginView::of(origin))
    };
    named("origin_capacity", call.answer(answer()))
}

impl<'a> OriginView<'a> {
    fn of(origin: &'a Origin) -> Self {
        let (settings, standing) = (origin.settings(), origin.standing());
        Self {
            origin: origin.url(),
            shops: origin.shops(),
            target_latency_ms: settings.target_latency.as_millis(),
            capacity_min: settings.capacity_min,
            capacity_max: settings.capacity_max,
            capacity: standing.fixed.unwrap_or(standing.advice.capacity),
            sessions: standing.sessions,
            reason: standing.advice.reason.map(Standstill::code),
            fixed: standing.fixed,
        }
    }
}
