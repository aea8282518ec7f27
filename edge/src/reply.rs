//! Replies of Fairgate's own, and replies of others on their way to the client.

use shared::gate::{is_for_this_hop_only, is_ours};
use worker::js_sys::{Array, try_iter};
use worker::wasm_bindgen::JsValue;
use worker::web_sys::{Headers, Response, ResponseInit};

/// A reply that Fairgate writes itself.
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Option<String>,
}

impl Reply {
    pub(crate) fn new(status: u16, body: String) -> Self {
        Self { status, headers: Vec::new(), body: Some(body) }
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: None }
    }

    pub(crate) fn with(mut self, headers: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.headers.extend(headers);
        self
    }

    pub(crate) fn response(self) -> Result<Response, JsValue> {
        let headers = Headers::new()?;
        for (name, value) in &self.headers {
            headers.append(name, value)?;
        }
        let init = ResponseInit::new();
        init.set_status(self.status);
        init.set_headers(&headers);
        Response::new_with_opt_str_and_init(self.body.as_deref(), &init)
    }
}

/// A reply of the shop or of the queue server as the client gets it: without Fairgate's fields and those of the last hop,
/// with `added`. Its body streams through.
pub(crate) fn passed_on(
    response: &Response,
    added: impl IntoIterator<Item = (&'static str, String)>,
) -> Result<Response, JsValue> {
    // A change of protocol (a web socket) cannot be taken apart.
    if response.status() == SWITCHING_PROTOCOLS {
        return Ok(Clone::clone(response));
    }
    let headers = Headers::new()?;
    for (name, value) in entries(&response.headers())? {
        if !is_ours(&name) && !is_for_this_hop_only(&name) {
            headers.append(&name, &value)?;
        }
    }
    for (name, value) in added {
        headers.append(name, &value)?;
    }
    let init = ResponseInit::new();
    init.set_status(response.status());
    init.set_status_text(&response.status_text());
    init.set_headers(&headers);
    Response::new_with_opt_readable_stream_and_init(response.body().as_ref(), &init)
}

/// Names in lower case and values of all fields; each `Set-Cookie` by itself.
pub(crate) fn entries(headers: &Headers) -> Result<Vec<(String, String)>, JsValue> {
    let mut fields = Vec::new();
    for entry in try_iter(headers)?.into_iter().flatten() {
        let entry = Array::from(&entry?);
        if let (Some(name), Some(value)) = (entry.get(0).as_string(), entry.get(1).as_string()) {
            fields.push((name, value));
        }
    }
    Ok(fields)
}

/// The values of all `Set-Cookie` fields.
pub(crate) fn cookies_set(response: &Response) -> Result<Vec<String>, JsValue> {
    let fields = entries(&response.headers())?.into_iter();
    Ok(fields.filter(|(name, _)| name == SET_COOKIE).map(|(_, value)| value).collect())
}

/// The value that one of these `Set-Cookie` fields gives to the cookie `name`.
pub(crate) fn value_set<'c>(cookies: &'c [String], name: &str) -> Option<&'c str> {
    cookies.iter().find_map(|cookie| {
        let value = cookie.strip_prefix(name)?.strip_prefix('=')?;
        value.split(';').next().filter(|value| !value.is_empty())
    })
}

pub(crate) const SET_COOKIE: &str = "set-cookie";

/// No cache may keep a personal reply.
pub(crate) const PERSONAL: (&str, &str) = ("cache-control", "private, no-store");

const SWITCHING_PROTOCOLS: u16 = 101;
