//! Hands what only the leader may answer on to the leader, as it came: the signature of an edge and the key of a service stay
//! what they are, and the leader checks them.

use super::{
    call::{body_bytes_max, refuse},
    guard::RouteName,
    traced,
};
use crate::{
    app::App,
    leader::{Leader, Peers},
};
use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header, request::Parts},
    middleware::Next,
    response::Response,
};
use shared::http::{reason::Reason, route::find_call};
use std::sync::Arc;

/// Answers here, or lets the leader answer.
pub(super) async fn forward(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let Some(peers) = &app.peers else { return next.run(request).await };
    if !needs_leader(&app, request.method(), request.uri().path()) {
        return next.run(request).await;
    }
    let leader = match peers.leader() {
        Leader::Me => return next.run(request).await,
        Leader::Other(address) if !request.headers().contains_key(FORWARDED) => address,
        // Two servers that each take the other for the leader would go on for ever.
        Leader::Other(_) | Leader::Nobody => return unconfirmed(request.headers()),
    };
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, body_bytes_max(&parts.uri)).await else {
        return refuse(&parts.headers, Reason::BodyTooLarge);
    };
    match send(peers, &leader, &parts, body.into()).await {
        Some(response) => response,
        None => unconfirmed(&parts.headers),
    }
}

/// Whatever a room must be asked for. What everybody may know each server knows itself.
fn needs_leader(app: &App, method: &Method, path: &str) -> bool {
    if let Some(service) = path.strip_prefix("/v1/") {
        let is_of_a_room = service.starts_with("edge/events/") || service.starts_with("events/");
        return is_of_a_room || ["edge/report", "events", "origins"].contains(&service);
    }
    let call = find_call(&app.config, method.as_str(), path).and_then(Result::ok);
    call.is_some_and(|call| call.changed_event().is_some())
}

async fn send(peers: &Peers, leader: &str, parts: &Parts, body: reqwest::Body) -> Option<Response> {
    let url = format!("{leader}{}", path_and_query(&parts.uri)).parse().ok()?;
    let mut request = reqwest::Request::new(parts.method.clone(), url);
    *request.headers_mut() = passed_on(&parts.headers);
    request.headers_mut().insert(FORWARDED, HeaderValue::from_static("1"));
    traced::pass_on(request.headers_mut());
    *request.body_mut() = Some(body);
    let answer = peers.forward(leader, request).await?;
    let (status, headers) = (answer.status(), passed_on(answer.headers()));
    let mut response = Response::new(Body::from(answer.bytes().await.ok()?));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response.extensions_mut().insert(RouteName("forwarded"));
    Some(response)
}

fn path_and_query(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |path| path.as_str())
}

/// All fields but those that speak of one connection.
fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in [
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ] {
        headers.remove(name);
    }
    headers
}

/// Nobody knows whether the leader made the change before it went: the same request may be sent again.
fn unconfirmed(headers: &HeaderMap) -> Response {
    let mut response = refuse(headers, Reason::Unconfirmed);
    response.extensions_mut().insert(RouteName("forwarded"));
    response
}

const FORWARDED: HeaderName = HeaderName::from_static("fairgate-forwarded");
