//! Calls to the queue server, signed as the edge's own.

use crate::clock;
use crate::isolate::Isolate;
use crate::refusal::ServerUnreachable;
use shared::http::reason::Reason;
use shared::token::edge_signature::EdgeRequest;
use worker::js_sys::Uint8Array;
use worker::wasm_bindgen::JsValue;
use worker::web_sys::{AbortSignal, Headers, Request, RequestInit, RequestRedirect, Response};
use worker::{Fetch, console_warn};

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct ServerCall {
    pub(crate) method: &'static str,
    pub(crate) path_and_query: String,
    /// On whose behalf; empty for the edge's own calls.
    pub(crate) client_address: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// Until the whole reply is there.
    pub(crate) budget_ms: u32,
}

impl ServerCall {
    /// A question of the edge itself.
    pub(crate) fn get(path_and_query: String, budget_ms: u32) -> Self {
        let (headers, body) = (Vec::new(), Vec::new());
        Self { method: "GET", path_and_query, client_address: String::new(), headers, body, budget_ms }
    }

    /// Sends the call. Any reply counts as an answer, refusals of the buyer too. That the server takes a call not to be this edge's
    /// does not: that is a matter of clocks and keys, of which no buyer shall hear more than that the queue cannot be reached.
    pub(crate) async fn send(self, isolate: &Isolate) -> Result<Response, ServerUnreachable> {
        let path = self.path_and_query.clone();
        let told = match self.fetch(isolate).await {
            Ok(response) => match reason_told(&response) {
                Some(code @ Reason::EdgeSignatureInvalid) => {
                    format!("refused {path} with {code}: are clocks and FAIRGATE_EDGE_KEYS right?")
                }
                _ => return Ok(response),
            },
            Err(error) => format!("did not answer {path}: {}", worker::Error::from(error)),
        };
        Err(note_fault(isolate, &told))
    }

    /// Sends the call and reads the reply's text, which must come with status 200.
    pub(crate) async fn text(self, isolate: &Isolate) -> Result<String, ServerUnreachable> {
        let path = self.path_and_query.clone();
        let response = self.send(isolate).await?;
        let (status, mut response) = (response.status(), worker::Response::from(response));
        let told = match response.text().await {
            Ok(text) if status == 200 => return Ok(text),
            Ok(text) => format!("answered {path} with {status}: {text}"),
            Err(error) => format!("broke off its answer to {path}: {error}"),
        };
        Err(note_fault(isolate, &told))
    }

    async fn fetch(self, isolate: &Isolate) -> Result<Response, JsValue> {
        let Self { method, path_and_query, client_address, headers, body, budget_ms } = self;
        let signed = EdgeRequest {
            method,
            path_and_query: &path_and_query,
            client_address: &client_address,
            body: &body,
        };
        // The server allows the clocks a minute, so a clock that stood still during this request does no harm.
        let signature = isolate.keys.sign_request(&signed, clock::now());
        let fields = Headers::new()?;
        for (name, value) in &headers {
            fields.append(name, value)?;
        }
        fields.set("fairgate-edge", &signature)?;
        fields.set("fairgate-client-ip", &client_address)?;
        let init = RequestInit::new();
        init.set_method(method);
        init.set_headers(&fields);
        init.set_redirect(RequestRedirect::Manual);
        init.set_signal(Some(&AbortSignal::timeout_with_u32(budget_ms)));
        if !body.is_empty() {
            init.set_body(&Uint8Array::from(body.as_slice()));
        }
        let url = format!("{}{path_and_query}", isolate.config.edge.queue_server);
        let request = Request::new_with_str_and_init(&url, &init)?;
        let response = Fetch::Request(request.into()).send().await?;
        Ok(response.into())
    }
}

/// Why this reply refuses; `None` where it does not, or for a reason that this edge does not know.
pub(crate) fn reason_told(response: &Response) -> Option<Reason> {
    let code = response.headers().get("fairgate-reason").ok()??;
    Reason::from_code(&code)
}

fn note_fault(isolate: &Isolate, told: &str) -> ServerUnreachable {
    if let Some(count) = isolate.memory.server_faults.borrow_mut().note(clock::now()) {
        console_warn!("the queue server {told} ({count} faults without a quiet minute)");
    }
    ServerUnreachable
}
