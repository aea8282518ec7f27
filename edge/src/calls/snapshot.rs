//! `GET events/{event}`: the snapshot, as the queue server wrote it, from this isolate's memory.

use crate::incoming::Incoming;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rooms;
use shared::http::etag::is_known;
use shared::http::reason::Reason;
use shared::ids::EventId;
use worker::web_sys::Response;

pub(super) async fn answer(incoming: &Incoming, event: &EventId) -> Result<Response, Refusal> {
    let snapshot = rooms::snapshot(incoming, event).await?.ok_or(Reason::SnapshotUnavailable)?;
    let json = incoming.room(event)?.slot.borrow().json().ok_or(Reason::SnapshotUnavailable)?;
    let etag = format!("\"{}-{}\"", snapshot.epoch.0, snapshot.tick);
    let reply = if is_known(incoming.header("if-none-match").as_deref(), &etag) {
        Reply::empty(304)
    } else {
        Reply::new(200, json.to_string()).with([("content-type", "application/json".to_owned())])
    };
    let headers = [("etag", etag), ("cache-control", "no-cache".to_owned())];
    Ok(reply.with(headers).response()?)
}
