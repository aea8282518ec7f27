//! One request, its facts read once, with what answering it needs.

use crate::clock;
use crate::isolate::Isolate;
use crate::memory::RoomMemory;
use crate::refusal::Refusal;
use futures_util::TryStreamExt;
use futures_util::future::{Either, select};
use shared::config::{ClientIpSource, Credentials, canonical_host};
use shared::gate::{Buyer, return_path_of};
use shared::http::body::{BODY_BYTES_MAX, BODY_TIME_MAX};
use shared::http::client::ClientAddress;
use shared::http::language::Language;
use shared::http::navigation::is_navigation;
use shared::http::reason::Reason;
use shared::ids::EventId;
use shared::time::Timestamp;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use uuid::Uuid;
use worker::wasm_bindgen::JsValue;
use worker::web_sys::{Headers, Request, Response};
use worker::{Context, Delay, Env, Result};

/// A request on its way to an answer.
pub(crate) struct Incoming {
    pub(crate) isolate: Rc<Isolate>,
    pub(crate) env: Env,
    pub(crate) request: Request,
    pub(crate) headers: Headers,
    /// When it came. Decisions about it are made at this time, however long they take.
    pub(crate) now: Timestamp,
    pub(crate) request_id: String,
    pub(crate) method: String,
    /// Host and port in the spelling that is compared: a shop must not read another host in them than the gate did.
    pub(crate) host: String,
    /// Path and query as the client wrote them.
    pub(crate) path_and_query: String,
    pub(crate) path: String,
    pub(crate) address: ClientAddress,
    pub(crate) origin: Option<String>,
    cookies: Option<String>,
    authorization: Option<String>,
    api_key: Option<String>,
    bypass_token: Option<String>,
    context: Context,
}

impl Incoming {
    pub(crate) fn read(request: Request, isolate: Rc<Isolate>, env: Env, context: Context) -> Result<Self> {
        let headers = request.headers();
        let url = request.url();
        let (_, rest) = url.split_once("://").unwrap_or(("", &url));
        let (host, target) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (target, _) = target.split_once('#').unwrap_or((target, ""));
        let (path, _) = target.split_once('?').unwrap_or((target, ""));
        let peer = match &isolate.config.edge.client_ip {
            ClientIpSource::Peer => isolate.platform.peer(headers.get("cf-connecting-ip")?.as_deref()),
            ClientIpSource::Header(name) => {
                let told = headers.get(name)?.and_then(|address| address.trim().parse().ok());
                told.unwrap_or_else(|| isolate.platform.peer(None))
            }
        };
        Ok(Self {
            address: isolate.client_address(peer, headers.get("x-forwarded-for")?.as_deref()),
            now: clock::now(),
            request_id: Uuid::new_v4().to_string(),
            method: request.method(),
            host: canonical_host(host).unwrap_or_else(|| host.to_owned()),
            path: if path.is_empty() { "/" } else { path }.to_owned(),
            path_and_query: if path.is_empty() { format!("/{target}") } else { target.to_owned() },
            origin: headers.get("origin")?,
            cookies: headers.get("cookie")?,
            authorization: headers.get("authorization")?,
            api_key: headers.get("x-api-key")?,
            bypass_token: headers.get("fairgate-bypass")?,
            isolate,
            env,
            request,
            headers,
            context,
        })
    }

    /// Who asks.
    pub(crate) fn buyer(&self) -> std::result::Result<Buyer<'_>, Refusal> {
        let Isolate { config, keys, .. } = &*self.isolate;
        let credentials = Credentials {
            authorization: self.authorization.as_deref(),
            api_key: self.api_key.as_deref(),
            bypass_token: self.bypass_token.as_deref(),
        };
        Ok(Buyer::read(config, keys, self.address, self.cookies.as_deref(), &credentials)?)
    }

    /// A field as text; several of one name are joined by commas.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name).ok().flatten()
    }

    pub(crate) fn query(&self) -> Option<&str> {
        self.path_and_query.split_once('?').map(|(_, query)| query)
    }

    pub(crate) fn language(&self) -> Language {
        Language::from_accept_language(self.header("accept-language").as_deref())
    }

    pub(crate) fn is_navigation(&self) -> bool {
        is_navigation(self.header("sec-fetch-mode").as_deref(), self.header("accept").as_deref())
    }

    /// The reply to a refused request: a page where a limit or a silent shop stopped a navigation of a shop's visitor.
    pub(crate) fn refused(&self, refusal: Refusal) -> std::result::Result<Response, JsValue> {
        if refusal.is_for_visitors() && self.is_navigation() {
            refusal.page(self.language(), &self.page_before(), &self.request_id)
        } else {
            refusal.response(self.language(), &self.request_id)
        }
    }

    /// The page of this shop from which the request came; `/` where it does not say.
    pub(crate) fn page_before(&self) -> String {
        let referer = self.header("referer");
        return_path_of(referer.as_deref(), &self.host).unwrap_or("/").to_owned()
    }

    /// The memory of an event's room. Routing and configuration name only events that exist.
    pub(crate) fn room(&self, event: &EventId) -> std::result::Result<&RoomMemory, Refusal> {
        self.isolate.rooms.get(event).map(Rc::as_ref).ok_or_else(|| Reason::EventUnknown.into())
    }

    /// The body, which may have at most [`BODY_BYTES_MAX`] bytes and take [`BODY_TIME_MAX`]. What comes beyond is not read.
    pub(crate) async fn body(&self) -> std::result::Result<Vec<u8>, Refusal> {
        let told = self.header("content-length").and_then(|length| length.parse::<usize>().ok());
        if told.is_some_and(|bytes| bytes > BODY_BYTES_MAX) {
            return Err(Reason::BodyTooLarge.into());
        }
        if self.request.body().is_none() {
            return Ok(Vec::new());
        }
        match select(pin!(self.read_body()), Delay::from(BODY_TIME_MAX)).await {
            Either::Left((body, _)) => body,
            Either::Right(_) => Err(Reason::BodyTimeout.into()),
        }
    }

    async fn read_body(&self) -> std::result::Result<Vec<u8>, Refusal> {
        let mut request = worker::Request::from(Clone::clone(&self.request));
        let mut chunks = request.stream()?;
        let mut body = Vec::new();
        // A client that breaks off has sent no body.
        while let Some(chunk) = chunks.try_next().await.map_err(|_| Reason::BodyInvalid)? {
            body.extend(chunk);
            if body.len() > BODY_BYTES_MAX {
                return Err(Reason::BodyTooLarge.into());
            }
        }
        Ok(body)
    }

    /// Lets `work` go on beside the answer and after it.
    pub(crate) fn beside(&self, work: impl Future<Output = ()> + 'static) {
        self.context.wait_until(work);
    }
}
