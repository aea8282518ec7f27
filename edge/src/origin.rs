//! Requests on their way to the shop, and its replies on their way back.

use crate::incoming::Incoming;
use crate::limits::Limits;
use crate::refusal::{OriginFault, Refusal};
use crate::{clock, origin_probe, reply, reporting};
use futures_util::future::{Either, select};
use shared::config::ShopConfig;
use shared::gate::{
    REPLY_TIME_MAX, hides_method, is_disguised, is_for_this_hop_only, is_ours, overrides_method,
    speaks_as_proxy,
};
use std::pin::pin;
use worker::js_sys::Uint8Array;
use worker::wasm_bindgen::JsValue;
use worker::web_sys::{Headers, Request, RequestInit, RequestRedirect, Response};
use worker::{AbortController, Delay, Fetch, console_warn};

/// What the shop gets besides the client's own fields.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ToShop<'a> {
    /// The body, where it was read to find the SKU; otherwise the client's streams through.
    pub(crate) body: Option<&'a [u8]>,
    /// The JWT of the buyer's session.
    pub(crate) pass: Option<&'a str>,
}

/// Sends a request that needs no pass to the shop and its reply to the client.
pub(crate) async fn pass_through(
    limits: &mut Limits<'_>,
    shop: &ShopConfig,
    to_shop: &ToShop<'_>,
) -> Result<Response, Refusal> {
    let response = send(limits, shop, to_shop).await?;
    reporting::note_session_word(limits.incoming(), shop, &response, None)?;
    Ok(reply::passed_on(&response, limits.fields())?)
}

/// Sends a request to the shop; the reply is as the shop made it. Quota goes back where the shop was certainly not called.
pub(crate) async fn send(
    limits: &mut Limits<'_>,
    shop: &ShopConfig,
    to_shop: &ToShop<'_>,
) -> Result<Response, Refusal> {
    if origin_probe::cannot_connect(limits, shop).await {
        limits.give_back();
        return Err(OriginFault::Unreachable.into());
    }
    let incoming = limits.incoming();
    let request = request(incoming, shop, to_shop)?;
    let abort = AbortController::default();
    let signal = abort.signal();
    let fetch = Fetch::Request(request.into());
    // The budget ends with the head of the reply: its body may stream for as long as the shop likes.
    let outcome = match select(pin!(fetch.send_with_signal(&signal)), Delay::from(REPLY_TIME_MAX)).await {
        Either::Left((reply, _)) => reply,
        Either::Right(_) => {
            // The shop may have been called, and is perhaps working still: permits end with their lives.
            abort.abort();
            limits.leave_permits();
            note_fault(incoming, shop, "took too long");
            return Err(OriginFault::TimedOut.into());
        }
    };
    let response = Response::from(outcome.map_err(|error| {
        note_fault(incoming, shop, &format!("did not answer: {error}"));
        origin_probe::note_silence(limits, shop);
        OriginFault::Unreachable
    })?);
    if origin_probe::is_refused_connection(limits, &response) {
        limits.give_back();
    }
    Ok(response)
}

fn note_fault(incoming: &Incoming, shop: &ShopConfig, told: &str) {
    if let Some(count) = incoming.isolate.memory.origin_faults.borrow_mut().note(clock::now()) {
        console_warn!("the shop {} {told} ({count} faults of shops without a quiet minute)", shop.id);
    }
}

fn request(incoming: &Incoming, shop: &ShopConfig, to_shop: &ToShop<'_>) -> Result<Request, JsValue> {
    let init = RequestInit::new();
    init.set_method(&incoming.method);
    let headers = headers(incoming, shop, to_shop)?;
    init.set_headers(&headers);
    init.set_redirect(RequestRedirect::Manual);
    match (to_shop.body, incoming.request.body()) {
        // `fetch` takes none, whatever the client sent.
        _ if is_bodiless(&incoming.method) => {}
        (Some(bytes), _) if !bytes.is_empty() => init.set_body(&Uint8Array::from(bytes)),
        (None, Some(stream)) => init.set_body(&stream),
        _ => {}
    }
    Request::new_with_str_and_init(&format!("{}{}", shop.origin, incoming.path_and_query), &init)
}

fn headers(incoming: &Incoming, shop: &ShopConfig, to_shop: &ToShop<'_>) -> Result<Headers, JsValue> {
    let hides_method = hides_method(shop, &incoming.path);
    let is_bodiless = is_bodiless(&incoming.method);
    let headers = Headers::new()?;
    for (name, value) in reply::entries(&incoming.headers)? {
        let stops_here = is_ours(&name)
            || speaks_as_proxy(&name)
            || is_disguised(&name)
            || is_bodiless && name == "content-length"
            || is_for_this_hop_only(&name) && !is_web_socket(&name, &value)
            || hides_method && overrides_method(&name);
        if !stops_here {
            headers.append(&name, &value)?;
        }
    }
    let scheme = if incoming.isolate.config.site.public_url.is_https() { "https" } else { "http" };
    headers.set("x-forwarded-for", &incoming.address.ip().to_string())?;
    headers.set("x-forwarded-host", &incoming.host)?;
    headers.set("x-forwarded-proto", scheme)?;
    headers.set("fairgate-request-id", &incoming.request_id)?;
    if let Some(pass) = to_shop.pass {
        headers.set("fairgate-pass", pass)?;
    }
    Ok(headers)
}

/// Whether a body under this method means nothing (RFC 9110 section 9.3.1), so that it stops here.
fn is_bodiless(method: &str) -> bool {
    matches!(method, "GET" | "HEAD")
}

/// The one upgrade that the runtime can carry.
fn is_web_socket(name: &str, value: &str) -> bool {
    name == "upgrade" && value.eq_ignore_ascii_case("websocket")
}
