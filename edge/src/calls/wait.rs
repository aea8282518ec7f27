//! `GET wait/{event}?return=/path`: the waiting page.

use crate::incoming::Incoming;
use crate::page::Waiting;
use crate::refusal::Refusal;
use crate::rooms;
use shared::http::form;
use shared::http::navigation::return_path;
use shared::http::page::reason_of_link;
use shared::ids::EventId;
use worker::web_sys::Response;

pub(super) async fn answer(incoming: &Incoming, event: &EventId) -> Result<Response, Refusal> {
    let query = |name| form::first(incoming.query().unwrap_or_default(), name);
    let asked = query("return");
    let snapshot = rooms::snapshot(incoming, event).await?;
    let phase = snapshot.as_ref().map(|snapshot| snapshot.phase);
    let waiting = Waiting {
        event,
        return_path: asked.as_deref().and_then(return_path).unwrap_or("/"),
        snapshot: snapshot.as_deref(),
        refusal: query("reason").and_then(|code| reason_of_link(&code, phase)),
        joined: query("joined").is_some(),
        cookies: Vec::new(),
        status: 200,
    };
    waiting.response(incoming, &incoming.buyer()?)
}
