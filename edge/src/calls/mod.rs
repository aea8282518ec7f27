//! Fairgate's own calls, under its prefix.

pub(crate) mod forward;
mod jwks;
mod key_state;
mod snapshot;
mod status;
mod wait;

use crate::incoming::Incoming;
use crate::page;
use crate::refusal::Refusal;
use crate::reply::{PERSONAL, Reply};
use shared::config::ShopConfig;
use shared::http::cors::Caller;
use shared::http::reason::Reason;
use shared::http::route::FairgateRoute;
use worker::web_sys::Response;

pub(crate) async fn answer(
    incoming: &Incoming,
    shop: &ShopConfig,
    call: &FairgateRoute,
    caller: Caller<'_>,
) -> Result<Response, Refusal> {
    if *call == FairgateRoute::Preflight {
        let (name, value) = PERSONAL;
        let headers = caller.preflight_headers().into_iter().chain([(name, value.to_owned())]);
        return Ok(Reply::empty(204).with(headers).response()?);
    }
    let answer = match route(incoming, shop, call, caller).await {
        Err(refusal) if incoming.is_navigation() => match call.changed_event() {
            Some(event) => page::back(incoming, event, refusal.reason()),
            None => Err(refusal),
        },
        answer => answer,
    };
    let response = answer.map_err(|refusal| refusal.readable_by(caller))?;
    for (name, value) in caller.headers() {
        response.headers().append(name, &value)?;
    }
    Ok(response)
}

async fn route(
    incoming: &Incoming,
    shop: &ShopConfig,
    call: &FairgateRoute,
    caller: Caller<'_>,
) -> Result<Response, Refusal> {
    if call.changed_event().is_some() && caller == Caller::Foreign {
        return Err(Reason::OriginNotAllowed.into());
    }
    match call {
        FairgateRoute::Snapshot(event) => snapshot::answer(incoming, event).await,
        FairgateRoute::Status(event) => status::answer(incoming, shop, event).await,
        FairgateRoute::Join(event) => forward::join(incoming, shop, event).await,
        FairgateRoute::Redeem(event) => {
            forward::by_ticket(incoming, shop, event, "POST", "ticket/redeem").await
        }
        FairgateRoute::Move(event) => forward::by_ticket(incoming, shop, event, "POST", "ticket/move").await,
        FairgateRoute::Abandon(event) => forward::by_ticket(incoming, shop, event, "DELETE", "ticket").await,
        FairgateRoute::Renew(event) => {
            forward::by_ticket(incoming, shop, event, "POST", "session/renew").await
        }
        FairgateRoute::Extend(event) => {
            forward::by_ticket(incoming, shop, event, "POST", "session/extend").await
        }
        FairgateRoute::WaitPage(event) => wait::answer(incoming, event).await,
        FairgateRoute::KeyState => key_state::answer(incoming, shop).await,
        FairgateRoute::Jwks => jwks::answer(incoming).await,
        FairgateRoute::Preflight => Err(Reason::RouteUnknown.into()),
    }
}
