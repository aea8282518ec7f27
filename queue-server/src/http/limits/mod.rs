//! The service side of limits: who may call, what a body may look like, and which file answers.

mod admin;
mod batch;
mod check;
mod explain;

use super::{
    body::{JSON, media_type},
    call::Call,
    error::Refusal,
    guard::named,
};
use crate::{
    access::{AccessKey, Role},
    app::App,
    limits::InForce,
};
use axum::{
    Router,
    http::header,
    routing::{get, post, put},
};
use serde::de::DeserializeOwned;
use shared::http::reason::Reason;
use std::sync::Arc;

/// Every call under `/v1/` that is about limits.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/limits/check", post(check::check))
        .route("/v1/limits/peek", post(check::peek))
        .route("/v1/limits/refund", post(check::refund))
        .route("/v1/limits/give", post(check::give))
        .route("/v1/limits/replenish", post(admin::replenish))
        .route("/v1/limits/reset", post(admin::reset))
        .route("/v1/limits/state", get(explain::state))
        .route("/v1/policies", get(explain::policies))
        .route("/v1/policies/coverage", get(explain::coverage))
        .route("/v1/shops/{shop}/policies/{policy}", put(admin::put_override).delete(admin::delete_override))
}

/// The key of a call, if it may do this.
pub(super) fn authorized<'f>(
    in_force: &'f InForce,
    call: &Call,
    role: Role,
) -> Result<&'f AccessKey, Refusal> {
    let key = in_force.access.authenticate(call.header(header::AUTHORIZATION))?;
    key.must_have(role)?;
    Ok(key)
}

/// Reads a JSON body, and says what is wrong with it.
pub(super) fn json_body<T: DeserializeOwned>(call: &Call) -> Result<T, Refusal> {
    must_be_json(call)?;
    parse_json(&call.body)
}

fn must_be_json(call: &Call) -> Result<(), Refusal> {
    if call.headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Refusal::new(Reason::BodyCompressed));
    }
    if call.header(header::CONTENT_TYPE).and_then(media_type) != Some(JSON) {
        return Err(Refusal::new(Reason::ContentTypeUnsupported).detail("send application/json"));
    }
    Ok(())
}

fn parse_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    let text = std::str::from_utf8(body).map_err(|_| Refusal::new(Reason::BodyNotUtf8))?;
    if !text.trim_start().starts_with('{') {
        return Err(Refusal::new(Reason::BodyInvalid).detail("send a JSON object"));
    }
    serde_json::from_str(text).map_err(|error| {
        let detail: String = error.to_string().chars().take(DETAIL_CHARS_MAX).collect();
        Refusal::new(Reason::BodyInvalid).detail(detail)
    })
}

const DETAIL_CHARS_MAX: usize = 200;
