//! `GET limits/state?policy=device&key=<32 digits>&home=device-3f`, as the log of a refusal shows them, or with the parts of the key:
//! how a key stands that this edge counts, beside what the queue server says of it, which also knows who may ask.

use crate::incoming::Incoming;
use crate::limits::{Limits, look};
use crate::refusal::Refusal;
use crate::reply::{self, PERSONAL, Reply};
use crate::server::ServerCall;
use serde::Serialize;
use shared::config::ShopConfig;
use shared::gate::{Home, Stage, Subject, limit_of};
use shared::http::client::ClientAddress;
use shared::http::form;
use shared::http::reason::Reason;
use shared::http::sku::Sku;
use shared::limiter::check::Charge;
use shared::limiter::key::KeyHash;
use shared::time::micros;
use worker::web_sys::Response;

/// How a key stands at the edge.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AtEdge {
    key: String,
    home: String,
    at_us: u64,
    remaining: u64,
    locked: bool,
    reset_after_us: u64,
}

pub(super) async fn answer(incoming: &Incoming, shop: &ShopConfig) -> Result<Response, Refusal> {
    // Whoever asks too often gets no further than whoever joins too often.
    Limits::of_join(incoming, shop, &incoming.buyer()?).await.take(&Stage::ALL).await?;
    let at_server = ask_server(incoming, shop).await?;
    if at_server.status() != 200 {
        return Ok(reply::passed_on(&at_server, [])?);
    }
    let (home, charge) = named_key(incoming, shop)?;
    let (at, decision) = look(incoming, &home, charge).await.ok_or(Reason::LimiterUnavailable)?;
    let at_edge = AtEdge {
        key: format!("{:032x}", u128::from_be_bytes(charge.key.0)),
        home,
        at_us: at.as_micros(),
        remaining: decision.remaining(),
        locked: charge.policy.is_locked(&decision),
        reset_after_us: micros(decision.reset_after()),
    };
    let at_edge = serde_json::to_string(&at_edge).map_err(worker::Error::from)?;
    let at_server = worker::Response::from(at_server).text().await?;
    let body = format!("{{\"edge\":{at_edge},\"queueServer\":{at_server}}}");
    let (name, value) = PERSONAL;
    let headers = [("content-type", "application/json".to_owned()), (name, value.to_owned())];
    Ok(Reply::new(200, body).with(headers).response()?)
}

/// The same question to the queue server, with the caller's own access key.
async fn ask_server(incoming: &Incoming, shop: &ShopConfig) -> Result<Response, Refusal> {
    // Of two shops the first counts.
    let query = incoming.query().unwrap_or_default();
    let call = ServerCall {
        client_address: incoming.address.ip().to_string(),
        headers: incoming.header("authorization").map(|key| ("authorization", key)).into_iter().collect(),
        ..ServerCall::get(format!("/v1/limits/state?shop={}&{query}", shop.id), BUDGET_MS)
    };
    Ok(call.send(&incoming.isolate).await?)
}

/// The home of the query's key, and the key.
fn named_key(incoming: &Incoming, shop: &ShopConfig) -> Result<(String, Charge), Refusal> {
    let query = |name| form::first(incoming.query().unwrap_or_default(), name);
    let policy = query("policy").and_then(|name| shop.policy(&name)).ok_or(Reason::PolicyUnknown)?;
    if let Some(digits) = query("key") {
        let key = u128::from_str_radix(&digits, 16).map_err(|_| Reason::KeyPartInvalid)?;
        let home = query("home").ok_or(Reason::KeyPartMissing)?;
        let home = Home::named(&home, &shop.id).ok_or(Reason::KeyPartInvalid)?;
        return Ok((home.to_string(), Charge::new(policy.limiter, KeyHash(key.to_be_bytes()), 0)));
    }
    let address = query("ip").map(|ip| ip.parse().map_err(|_| Reason::KeyPartInvalid)).transpose()?;
    let ipv6_prefix = incoming.isolate.config.site.ipv6_prefix;
    let client = query("client");
    let route = query("route").and_then(|id| shop.route(&id));
    let subject = Subject {
        shop_id: &shop.id,
        network: address.map(|ip| ClientAddress::from_peer(ip).network(ipv6_prefix)),
        device: None,
        member: query("member"),
        client: client.as_deref(),
        route: route.map_or("", |route| &route.id),
        sku: query("sku").map(|sku| Sku::parse(&sku).map_err(|_| Reason::KeyPartInvalid)).transpose()?,
    };
    let limit = limit_of(policy, &subject).ok_or(Reason::KeyPartMissing)?;
    Ok((limit.home.to_string(), limit.charge))
}

const BUDGET_MS: u32 = 2_000;
