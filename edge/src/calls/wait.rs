//! `GET wait/{event}?return=/path`: the waiting page.

use crate::incoming::Incoming;
use crate::page::Waiting;
use crate::refusal::Refusal;
use crate::rooms;
use shared::http::form;
use shared::http::navigation::return_path;
use shared::http::reason::Reason;
use shared::ids::EventId;
use worker::web_sys::Response;

pub(super) async fn answer(incoming: &Incoming, event: &EventId) -> Result<Response, Refusal> {
    let query = |name| form::first(incoming.query().unwrap_or_default(), name);
    let asked = query("return");
    let snapshot = rooms::snapshot(incoming, event).await?;
    let waiting = Waiting {
        event,
        return_path: asked.as_deref().and_then(return_path).unwrap_or("/"),
        snapshot: snapshot.as_deref(),
        refusal: query("reason").and_then(|code| Reason::from_code(&code)),
        joined: query("joined").is_some(),
        cookies: Vec::new(),
        status: 200,
    };
    waiting.response(incoming, &incoming.buyer()?)
}
