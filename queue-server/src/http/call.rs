//! A request, read once: bounded, its edge signature checked, before anything is decided.

use super::error::Refusal;
use crate::app::App;
use axum::{
    body::{Bytes, to_bytes},
    extract::{FromRequest, Request},
    http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header},
    response::Response,
};
use shared::{
    http::{body::BODY_BYTES_MAX, form, language::Language, reason::Reason},
    time::Timestamp,
    token::edge_signature::EdgeRequest,
};
use std::sync::Arc;
use tracing::warn;
use uuid::Uuid;

/// Most bytes of all header fields together, names and values.
pub const HEADER_BYTES_MAX: usize = 32 * 1024;

/// Longest body of a call of the service side: an edge reports several rooms at once, a service asks several checks.
pub const SERVICE_BYTES_MAX: usize = 64 * 1024;

/// One request.
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) now: Timestamp,
    /// The edge signed it: its word on the client's address and on the request id counts.
    pub(super) is_from_edge: bool,
    about: About,
}

/// What a reply needs to know of its request even if the request could not be read. Whoever sees a request first notes it in its
/// extensions.
#[derive(Clone)]
pub(super) struct About {
    language: Language,
    request_id: String,
}

impl Call {
    /// A field as text; `None` if it is missing or not ASCII.
    pub(super) fn header(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The values of all `Cookie` fields.
    pub(super) fn cookies(&self) -> impl Iterator<Item = &[u8]> {
        self.headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes)
    }

    /// The first value of a parameter of the query.
    pub(super) fn query(&self, name: &str) -> Option<String> {
        form::first(self.uri.query().unwrap_or_default(), name)
    }

    pub(super) fn request_id(&self) -> &str {
        &self.about.request_id
    }

    pub(super) fn language(&self) -> Language {
        self.about.language
    }

    /// The reply to this call, refusals as problem JSON, with the request's id.
    pub(super) fn answer(&self, answer: Result<Response, Refusal>) -> Response {
        self.about.answer(answer)
    }

    async fn read(app: &App, request: Request) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let mut about = parts.extensions.remove::<About>().unwrap_or_else(|| About::of(&parts.headers));
        let header_bytes =
            parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum::<usize>();
        if header_bytes > HEADER_BYTES_MAX {
            return Err(about.answer(Err(Refusal::new(Reason::HeadersTooLarge))));
        }
        let Ok(body) = to_bytes(body, body_bytes_max(&parts.uri)).await else {
            return Err(about.answer(Err(Refusal::new(Reason::BodyTooLarge))));
        };
        let now = app.clock.now();
        let is_from_edge = match signed_by_edge(app, &parts, &body, now) {
            Ok(signed) => signed,
            Err(refusal) => return Err(about.answer(Err(refusal))),
        };
        if let Some(id) = text(&parts.headers, REQUEST_ID).filter(|id| is_from_edge && is_request_id(id)) {
            id.clone_into(&mut about.request_id);
        }
        Ok(Self {
            method: parts.method,
            uri: parts.uri,
            headers: parts.headers,
            body,
            now,
            is_from_edge,
            about,
        })
    }
}

impl FromRequest<Arc<App>> for Call {
    type Rejection = Response;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Response> {
        Self::read(app, request).await
    }
}

impl About {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self {
            language: Language::from_accept_language(text(headers, header::ACCEPT_LANGUAGE)),
            request_id: Uuid::new_v4().simple().to_string(),
        }
    }

    /// A refusal outside any call.
    pub(super) fn refuse(&self, reason: Reason) -> Response {
        self.answer(Err(Refusal::new(reason)))
    }

    fn answer(&self, answer: Result<Response, Refusal>) -> Response {
        let mut response = match answer {
            Ok(response) => response,
            Err(refusal) => refusal.response(self.language, &self.request_id),
        };
        if let Ok(id) = HeaderValue::from_str(&self.request_id) {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        response
    }
}

/// A refusal outside any call.
pub(super) fn refuse(headers: &HeaderMap, reason: Reason) -> Response {
    About::of(headers).refuse(reason)
}

/// Longest body of a call, in bytes.
pub(super) fn body_bytes_max(uri: &Uri) -> usize {
    if uri.path().starts_with("/v1/") { SERVICE_BYTES_MAX } else { BODY_BYTES_MAX }
}

/// `false` without a signature: buyers may call the server directly. A wrong signature is refused, never ignored.
fn signed_by_edge(
    app: &App,
    parts: &axum::http::request::Parts,
    body: &[u8],
    now: Timestamp,
) -> Result<bool, Refusal> {
    let Some(signature) = parts.headers.get(EDGE_SIGNATURE) else { return Ok(false) };
    let refused = || Refusal::new(Reason::EdgeSignatureInvalid);
    let request = EdgeRequest {
        method: parts.method.as_str(),
        path_and_query: parts.uri.path_and_query().map_or("/", |path| path.as_str()),
        client_address: text(&parts.headers, CLIENT_IP).unwrap_or_default(),
        body,
    };
    let signature = signature.to_str().map_err(|_| refused())?;
    app.keys.edge().verify_request(signature, &request, now).map_err(|error| {
        if let Some(in_a_row) = app.metrics.note_edge_refusal(error, now) {
            warn!(%error, in_a_row, "a call in an edge's name is refused; are its clock and its keys those of this server?");
        }
        refused()
    })?;
    Ok(true)
}

fn text(headers: &HeaderMap, name: impl header::AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

fn is_request_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

const EDGE_SIGNATURE: HeaderName = HeaderName::from_static("fairgate-edge");
const CLIENT_IP: HeaderName = HeaderName::from_static("fairgate-client-ip");
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("fairgate-request-id");
