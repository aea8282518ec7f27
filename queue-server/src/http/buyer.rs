//! The buyer side: which call it is, who may make it, and which file answers it.

use super::{body, call::Call, error::Refusal, guard::RouteName, reply, session, ticket, wait_page};
use crate::{app::App, rooms::ActiveRoom};
use axum::{
    body::Body,
    extract::State,
    http::{HeaderName, StatusCode, header},
    response::Response,
};
use shared::{
    http::{
        cors::Caller,
        etag::is_known,
        reason::Reason,
        route::{FairgateRoute, find_call},
    },
    ids::EventId,
    token::JWKS_MAX_AGE,
};
use std::sync::Arc;

/// Answers every request that no other route takes.
pub(super) async fn answer(State(app): State<Arc<App>>, call: Call) -> Response {
    let route = match find_call(&app.config, call.method.as_str(), call.uri.path()) {
        Some(Ok(route)) => route,
        Some(Err(unroutable)) => return call.answer(Err(unroutable.into())),
        None => return call.answer(Err(Refusal::new(Reason::RouteUnknown))),
    };
    let answer = route_to(&app, &call, &route).await.or_else(|refusal| refused(&app, &call, &route, refusal));
    let mut response = call.answer(answer);
    response.extensions_mut().insert(RouteName(name(&route)));
    // The edge answers browsers itself, and says there who may read the reply.
    if !call.is_from_edge {
        for (name, value) in cors_headers(&app, &call, &route) {
            reply::set(&mut response, HeaderName::from_static(name), &value);
        }
    }
    response
}

async fn route_to(app: &App, call: &Call, route: &FairgateRoute) -> Result<Response, Refusal> {
    match route {
        FairgateRoute::Snapshot(event) => snapshot(call, room(app, event)?),
        FairgateRoute::Status(event) => ticket::status(app, call, room(app, event)?).await,
        FairgateRoute::WaitPage(event) => Ok(wait_page::page(app, call, room(app, event)?)),
        FairgateRoute::Join(event) => ticket::join(app, call, changed_room(app, call, event)?).await,
        FairgateRoute::Redeem(event) => ticket::redeem(app, call, changed_room(app, call, event)?).await,
        FairgateRoute::Move(event) => ticket::offer_move(app, call, changed_room(app, call, event)?).await,
        FairgateRoute::Abandon(event) => ticket::abandon(app, call, changed_room(app, call, event)?).await,
        FairgateRoute::Renew(event) => session::renew(app, call, changed_room(app, call, event)?).await,
        FairgateRoute::Extend(event) => session::extend(app, call, changed_room(app, call, event)?).await,
        // Of keys that an edge counts only the edge can tell.
        FairgateRoute::KeyState => Err(Refusal::new(Reason::RouteUnknown)),
        FairgateRoute::Jwks => Ok(jwks(app)),
        // The waiting page carries all it needs.
        FairgateRoute::Preflight => Ok(reply::empty(StatusCode::NO_CONTENT)),
    }
}

/// A page without script gets its refusal as a page.
fn refused(app: &App, call: &Call, route: &FairgateRoute, refusal: Refusal) -> Result<Response, Refusal> {
    let room = route.event().and_then(|event| app.rooms.get(event));
    match room {
        Some(room) if body::is_form(call) => Ok(wait_page::refused(app, call, room, &refusal)),
        _ => Err(refusal),
    }
}

fn snapshot(call: &Call, room: &ActiveRoom) -> Result<Response, Refusal> {
    let published = reply::snapshot(room)?;
    let mut response = if is_known(call.header(header::IF_NONE_MATCH), &published.etag) {
        reply::empty(StatusCode::NOT_MODIFIED)
    } else {
        let mut response = Response::new(Body::from(published.json.clone()));
        reply::set(&mut response, header::CONTENT_TYPE, "application/json");
        response
    };
    reply::set(&mut response, header::ETAG, &published.etag);
    reply::set(&mut response, header::CACHE_CONTROL, "no-cache");
    Ok(response)
}

fn jwks(app: &App) -> Response {
    let mut response = Response::new(Body::from(app.passes.jwks().to_owned()));
    reply::set(&mut response, header::CONTENT_TYPE, "application/jwk-set+json");
    reply::set(&mut response, header::CACHE_CONTROL, &format!("public, max-age={}", JWKS_MAX_AGE.as_secs()));
    response
}

fn room<'a>(app: &'a App, event: &EventId) -> Result<&'a ActiveRoom, Refusal> {
    let room = app.rooms.get(event).ok_or_else(|| Refusal::new(Reason::EventUnknown))?;
    Ok(room)
}

/// The room of a call that changes something: another site's page may not make it with the buyer's cookies.
fn changed_room<'a>(app: &'a App, call: &Call, event: &EventId) -> Result<&'a ActiveRoom, Refusal> {
    let room = room(app, event)?;
    match caller(app, call, &room.shop_id) {
        Some(Caller::Foreign) | None => Err(Refusal::new(Reason::OriginNotAllowed)),
        Some(Caller::Own | Caller::Allowed(_)) => Ok(room),
    }
}

fn caller<'c>(app: &App, call: &'c Call, shop_id: &str) -> Option<Caller<'c>> {
    Some(Caller::of(app.config.shop(shop_id)?, call.header(header::ORIGIN)))
}

fn cors_headers(app: &App, call: &Call, route: &FairgateRoute) -> Vec<(&'static str, String)> {
    let Some(event) = route.event() else {
        // A preflight names no event: who may call one of the shops may ask; the call itself is checked for its shop.
        let origin = call.header(header::ORIGIN);
        let callers = app.config.shops.iter().map(|shop| Caller::of(shop, origin));
        let allowed = callers.into_iter().find(|caller| matches!(caller, Caller::Allowed(_)));
        return allowed.unwrap_or(Caller::Foreign).preflight_headers();
    };
    let caller = app.rooms.get(event).and_then(|room| caller(app, call, &room.shop_id));
    caller.map(Caller::headers).unwrap_or_default()
}

fn name(route: &FairgateRoute) -> &'static str {
    match route {
        FairgateRoute::Snapshot(_) => "snapshot",
        FairgateRoute::Join(_) => "join",
        FairgateRoute::Status(_) => "status",
        FairgateRoute::Redeem(_) => "redeem",
        FairgateRoute::Move(_) => "move",
        FairgateRoute::Abandon(_) => "abandon",
        FairgateRoute::Renew(_) => "renew",
        FairgateRoute::Extend(_) => "extend",
        FairgateRoute::WaitPage(_) => "wait",
        FairgateRoute::KeyState => "key_state",
        FairgateRoute::Jwks => "jwks",
        FairgateRoute::Preflight => "preflight",
    }
}
