#![doc = include_str!("../README.md")]

mod calls;
mod clock;
mod device;
mod durable;
mod gated;
mod incoming;
mod isolate;
mod limits;
mod memory;
mod origin;
mod origin_probe;
mod page;
#[cfg(feature = "plant")]
mod plant;
mod random;
mod refusal;
mod reload;
mod reply;
mod reporting;
mod rooms;
mod server;

use incoming::Incoming;
use limits::Limits;
use origin::ToShop;
use refusal::Refusal;
use shared::config::{RouteConfig, ShopConfig};
use shared::gate::{Plan, Stage};
use shared::http::cors::Caller;
use shared::http::reason::Reason;
use shared::http::route::{RequestLine, RouteMatch, RouteTarget, find};
use worker::web_sys::{Request, Response};
use worker::{Context, Env, Result, event};

/// Answers one request: first what it is, then the file that answers it. Every refusal is written here.
#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> Result<Response> {
    #[cfg(feature = "plant")]
    if let Some(response) = plant::answer(&request, &env).await {
        return response;
    }
    let Some(isolate) = reload::current(&env, &context).await else {
        return Ok(Refusal::from(Reason::Misconfigured).unread_response(&request)?);
    };
    let incoming = Incoming::read(request, isolate, env, context)?;
    Ok(match answer(&incoming).await {
        Ok(response) => response,
        Err(refusal) => incoming.refused(refusal)?,
    })
}

async fn answer(incoming: &Incoming) -> std::result::Result<Response, Refusal> {
    reporting::repeat(incoming);
    let Incoming { isolate, method, host, path, .. } = incoming;
    let RouteMatch { shop, target } = find(&isolate.config, &RequestLine { method, host, path })?;
    let caller = Caller::of(shop, incoming.origin.as_deref());
    match target {
        RouteTarget::Fairgate(call) => calls::answer(incoming, shop, &call, caller).await,
        RouteTarget::Gated { route, path } => {
            let answer = gated::answer(incoming, shop, route, &path, caller).await;
            answer.map_err(|refusal| refusal.readable_by(caller))
        }
        RouteTarget::Limited(route) | RouteTarget::Bypass(route) => {
            ungated(incoming, shop, Some(route), caller).await
        }
        RouteTarget::Open => ungated(incoming, shop, None, caller).await,
    }
}

/// A request to the shop that needs no pass.
async fn ungated(
    incoming: &Incoming,
    shop: &ShopConfig,
    route: Option<&RouteConfig>,
    caller: Caller<'_>,
) -> std::result::Result<Response, Refusal> {
    if !Plan::may_limit(&incoming.isolate.config, shop, route) {
        let mut unlimited = Limits::none(incoming);
        return origin::pass_through(&mut unlimited, shop, &ToShop::default()).await;
    }
    let buyer = incoming.buyer()?;
    let mut limits = Limits::of_request(incoming, shop, route, &buyer).await;
    let taken = limits.take(&Stage::ALL).await;
    taken.map_err(|refusal| refusal.readable_by(caller))?;
    origin::pass_through(&mut limits, shop, &ToShop::default()).await
}
