//! The waiting page and its files.

use super::{call::Call, error::Refusal, reply};
use crate::{app::App, rooms::ActiveRoom};
use axum::{body::Body, http::header, response::Response};
use shared::http::reason::Reason;

/// `GET wait/{event}`
pub(super) fn page(_app: &App, _call: &Call, room: &ActiveRoom) -> Result<Response, Refusal> {
    let html = format!("<!doctype html><title>{}</title>", room.event);
    let mut response = Response::new(Body::from(html));
    reply::set(&mut response, header::CONTENT_TYPE, "text/html; charset=utf-8");
    reply::set(&mut response, header::CACHE_CONTROL, reply::PERSONAL);
    Ok(response)
}

/// `GET assets/{name}`
pub(super) fn asset(_name: &str) -> Result<Response, Refusal> {
    Err(Refusal::new(Reason::RouteUnknown))
}
