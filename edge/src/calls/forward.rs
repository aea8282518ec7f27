//! Calls that change something: the queue server answers them, and its reply goes to the buyer as it is.

use super::status::spend_poll;
use crate::incoming::Incoming;
use crate::limits::Limits;
use crate::refusal::Refusal;
use crate::reply;
use crate::rooms;
use crate::server::ServerCall;
use shared::config::ShopConfig;
use shared::gate::{Plan, Stage, fairgate_cookies};
use shared::http::body::is_encoded;
use shared::http::reason::Reason;
use shared::ids::EventId;
use worker::web_sys::Response;

/// What the edge asks on behalf of a buyer.
pub(crate) struct Buyers<'a> {
    method: &'static str,
    /// Path under the prefix.
    path: &'a str,
    /// Fields of the buyer's request that travel along.
    fields: &'static [&'static str],
    body: Vec<u8>,
    budget_ms: u32,
}

impl<'a> Buyers<'a> {
    /// A call that the buyer did not make in so many words; its answer shall be JSON.
    pub(crate) fn json(method: &'static str, path: &'a str, budget_ms: u32) -> Self {
        Self { method, path, fields: &IDENTITY, body: Vec::new(), budget_ms }
    }
}

/// `POST events/{event}/ticket`, under limits of its own.
pub(super) async fn join(
    incoming: &Incoming,
    shop: &ShopConfig,
    event: &EventId,
) -> Result<Response, Refusal> {
    let buyer = incoming.buyer()?;
    let mut limits = Limits::new(incoming, Plan::of_join(&incoming.isolate.config, &buyer));
    limits.take(&Stage::ALL, &buyer.subject(shop, None)).await?;
    forward(incoming, event, "POST", "ticket").await
}

/// Calls of a ticket's owner. A ticket without the edge's tag stops here, and so does an owner who asks too often.
pub(super) async fn by_ticket(
    incoming: &Incoming,
    shop: &ShopConfig,
    event: &EventId,
    method: &'static str,
    call: &str,
) -> Result<Response, Refusal> {
    let ticket = spend_poll(incoming, shop, &incoming.buyer()?, event)?;
    let response = forward(incoming, event, method, call).await?;
    if method == "DELETE" && response.status() == 204 {
        rooms::note_ended(incoming, event, ticket.place)?;
    }
    Ok(response)
}

async fn forward(
    incoming: &Incoming,
    event: &EventId,
    method: &'static str,
    call_name: &str,
) -> Result<Response, Refusal> {
    let path = format!("events/{event}/{call_name}");
    if is_encoded(incoming.header("content-encoding").as_deref()) {
        return Err(Reason::BodyCompressed.into());
    }
    let body = incoming.body().await?;
    let buyers = Buyers { method, path: &path, fields: &ALL, body, budget_ms: BUDGET_MS };
    let response = call(incoming, buyers).send(&incoming.isolate).await?;
    Ok(reply::passed_on(&response, [])?)
}

/// The signed call. Of the buyer's cookies only Fairgate's travel.
pub(crate) fn call(incoming: &Incoming, buyers: Buyers<'_>) -> ServerCall {
    let site = &incoming.isolate.config.site;
    let fields = buyers.fields.iter();
    let mut headers: Vec<(&'static str, String)> =
        fields.filter_map(|name| Some((*name, incoming.header(name)?))).collect();
    let cookies = incoming.header("cookie").map(|cookies| fairgate_cookies(&cookies, &site.cookie_mode));
    headers.extend(cookies.filter(|cookies| !cookies.is_empty()).map(|cookies| ("cookie", cookies)));
    headers.push(("fairgate-request-id", incoming.request_id.clone()));
    ServerCall {
        method: buyers.method,
        path_and_query: format!("{}/{}", site.prefix, buyers.path),
        client_address: incoming.address.ip().to_string(),
        headers,
        body: buyers.body,
        budget_ms: buyers.budget_ms,
    }
}

/// What says who the buyer is, beside the cookies.
const IDENTITY: [&str; 2] = ["authorization", "accept-language"];

const ALL: [&str; 6] =
    ["authorization", "accept-language", "content-type", "accept", "sec-fetch-mode", "fairgate-pass"];

const BUDGET_MS: u32 = 5_000;
