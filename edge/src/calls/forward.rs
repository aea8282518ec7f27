//! Calls that change something: the queue server answers them, and its reply goes to the buyer as it is.

use super::status::spend_poll;
use crate::device::NewDevice;
use crate::incoming::Incoming;
use crate::limits::Limits;
use crate::refusal::Refusal;
use crate::reply::{self, SET_COOKIE};
use crate::rooms;
use crate::server::ServerCall;
use shared::config::ShopConfig;
use shared::gate::{Stage, fairgate_cookies};
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
    /// Of a buyer who joins without a device.
    new_device: Option<&'a NewDevice>,
}

impl<'a> Buyers<'a> {
    /// A call that the buyer did not make in so many words; its answer shall be JSON.
    pub(crate) fn json(method: &'static str, path: &'a str, budget_ms: u32) -> Self {
        Self { method, path, fields: &IDENTITY, body: Vec::new(), budget_ms, new_device: None }
    }

    /// A join brings a device along.
    pub(crate) fn with(self, new_device: Option<&'a NewDevice>) -> Self {
        Self { new_device, ..self }
    }
}

/// `POST events/{event}/ticket`, under limits of its own.
pub(super) async fn join(
    incoming: &Incoming,
    shop: &ShopConfig,
    event: &EventId,
) -> Result<Response, Refusal> {
    let buyer = incoming.buyer()?;
    let mut limits = Limits::of_join(incoming, shop, &buyer).await;
    limits.take(&Stage::ALL).await?;
    let new_device = NewDevice::of(incoming, &buyer);
    forward(incoming, event, "POST", "ticket", new_device.as_ref()).await
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
    let response = forward(incoming, event, method, call, None).await?;
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
    new_device: Option<&NewDevice>,
) -> Result<Response, Refusal> {
    let path = format!("events/{event}/{call_name}");
    if is_encoded(incoming.header("content-encoding").as_deref()) {
        return Err(Reason::BodyCompressed.into());
    }
    let body = incoming.body().await?;
    let buyers = Buyers { method, path: &path, fields: &ALL, body, budget_ms: BUDGET_MS, new_device };
    let cookie = || new_device.map(|device| (SET_COOKIE, device.set_cookie.clone()));
    let sent = call(incoming, buyers).send(&incoming.isolate).await;
    let response = sent.map_err(|error| Refusal::from(error).with_headers(cookie()))?;
    Ok(reply::passed_on(&response, cookie())?)
}

/// The signed call. Of the buyer's cookies only Fairgate's travel.
pub(crate) fn call(incoming: &Incoming, buyers: Buyers<'_>) -> ServerCall {
    let site = &incoming.isolate.config.site;
    let fields = buyers.fields.iter();
    let mut headers: Vec<(&'static str, String)> =
        fields.filter_map(|name| Some((*name, incoming.header(name)?))).collect();
    let told = incoming.header("cookie").map(|cookies| fairgate_cookies(&cookies, &site.cookie_mode));
    let device = buyers.new_device.map(|device| device.pair.clone());
    let cookies: Vec<String> = device.into_iter().chain(told.filter(|cookies| !cookies.is_empty())).collect();
    if !cookies.is_empty() {
        headers.push(("cookie", cookies.join("; ")));
    }
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
const IDENTITY: [&str; 3] = ["authorization", "accept-language", "fairgate-member"];

const ALL: [&str; 7] = [
    "authorization",
    "accept-language",
    "content-type",
    "accept",
    "sec-fetch-mode",
    "fairgate-pass",
    "fairgate-member",
];

const BUDGET_MS: u32 = 5_000;
