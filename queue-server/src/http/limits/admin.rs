//! What whoever looks after limits changes: a key's quota, a shop's settings.

use super::{authorized, json_body, named};
use crate::{
    access::Role,
    app::App,
    http::{
        call::Call,
        error::Refusal,
        reply::{empty, json},
    },
    limits::Asked,
};
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use shared::{
    http::reason::Reason,
    wire::limits::{KeyBody, OverrideBody},
};
use std::sync::Arc;
use tracing::info;

/// `POST /v1/limits/replenish`
pub(super) async fn replenish(State(app): State<Arc<App>>, call: Call) -> Response {
    named("limits_replenish", call.answer(replenish_key(&app, &call).await))
}

/// `POST /v1/limits/reset`
pub(super) async fn reset(State(app): State<Arc<App>>, call: Call) -> Response {
    named("limits_reset", call.answer(reset_key(&app, &call).await))
}

/// `PUT /v1/shops/{shop}/policies/{policy}`
pub(super) async fn put_override(
    State(app): State<Arc<App>>,
    Path((shop, policy)): Path<(String, String)>,
    call: Call,
) -> Response {
    named("override", call.answer(put(&app, &call, &shop, &policy).await))
}

/// `DELETE /v1/shops/{shop}/policies/{policy}`
pub(super) async fn delete_override(
    State(app): State<Arc<App>>,
    Path((shop, policy)): Path<(String, String)>,
    call: Call,
) -> Response {
    named("override", call.answer(delete(&app, &call, &shop, &policy).await))
}

async fn replenish_key(app: &App, call: &Call) -> Result<Response, Refusal> {
    let in_force = app.limits.live.now();
    let key = authorized(&in_force, call, Role::LimitsAdmin)?;
    let KeyBody { shop, policy, keys, cost } = json_body(call)?;
    key.must_cover(&shop)?;
    let Some(cost) = cost else {
        return Err(Refusal::new(Reason::BodyInvalid).detail("say in cost how much is given back"));
    };
    let asked = Asked::key(&in_force, &shop, &policy, &keys, cost)?;
    app.limits.replenish(&asked).await?;
    info!(by = key.id, shop, policy, cost, "a key is replenished");
    Ok(empty(StatusCode::NO_CONTENT))
}

async fn reset_key(app: &App, call: &Call) -> Result<Response, Refusal> {
    let in_force = app.limits.live.now();
    let key = authorized(&in_force, call, Role::LimitsAdmin)?;
    let KeyBody { shop, policy, keys, cost } = json_body(call)?;
    key.must_cover(&shop)?;
    if cost.is_some() {
        return Err(Refusal::new(Reason::BodyInvalid).detail("a reset gives everything back; remove cost"));
    }
    let asked = Asked::key(&in_force, &shop, &policy, &keys, 0)?;
    app.limits.reset(&asked).await?;
    info!(by = key.id, shop, policy, "a key is reset");
    Ok(empty(StatusCode::NO_CONTENT))
}

async fn put(app: &App, call: &Call, shop: &str, policy: &str) -> Result<Response, Refusal> {
    let in_force = app.limits.live.now();
    let key = authorized(&in_force, call, Role::LimitsAdmin)?;
    key.must_cover(shop)?;
    let body: OverrideBody = json_body(call)?;
    app.limits.live.put_override(shop, policy, body.clone()).await?;
    info!(by = key.id, shop, policy, "a shop has its own settings of a policy");
    json(StatusCode::OK, &body)
}

async fn delete(app: &App, call: &Call, shop: &str, policy: &str) -> Result<Response, Refusal> {
    let in_force = app.limits.live.now();
    let key = authorized(&in_force, call, Role::LimitsAdmin)?;
    key.must_cover(shop)?;
    if !app.limits.live.delete_override(shop, policy).await? {
        return Err(Refusal::new(Reason::PolicyUnknown).detail("the shop has no settings of its own here"));
    }
    info!(by = key.id, shop, policy, "a shop has the site's settings of a policy again");
    Ok(empty(StatusCode::NO_CONTENT))
}
