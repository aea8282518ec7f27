//! `GET events/{event}/ticket`: what the owner of a ticket is told, from the snapshot and the ticket alone.

use crate::incoming::Incoming;
use crate::refusal::Refusal;
use crate::reply::{PERSONAL, Reply};
use crate::reporting::note_poll;
use crate::rooms;
use shared::config::ShopConfig;
use shared::gate::{Buyer, judge, poll_limit};
use shared::http::ratelimit::retry_after_s;
use shared::http::reason::Reason;
use shared::ids::EventId;
use shared::room::status;
use shared::token::Ticket;
use shared::wire::TicketState;
use std::time::Duration;
use worker::web_sys::Response;

pub(super) async fn answer(
    incoming: &Incoming,
    shop: &ShopConfig,
    event: &EventId,
) -> Result<Response, Refusal> {
    let buyer = incoming.buyer()?;
    let ticket = spend_poll(incoming, shop, &buyer, event)?;
    let snapshot = rooms::snapshot(incoming, event).await?.ok_or(Reason::SnapshotUnavailable)?;
    let server_time = incoming.room(event)?.slot.borrow().server_time(incoming.now);
    let status =
        status(&snapshot, ticket.place, server_time, incoming.language()).ok_or(Reason::TicketVoid)?;
    if status.state == TicketState::Waiting {
        note_poll(incoming, event, ticket.place, status.next_poll_ms);
    }
    let json = serde_json::to_string(&status).map_err(worker::Error::from)?;
    let retry_after_s = retry_after_s(Duration::from_millis(status.next_poll_ms));
    let (name, value) = PERSONAL;
    let headers = [
        ("content-type", "application/json".to_owned()),
        (name, value.to_owned()),
        ("retry-after", retry_after_s.to_string()),
    ];
    Ok(Reply::new(200, json).with(headers).response()?)
}

/// The buyer's ticket, after its device has spent one of its polls. The count is this isolate's own, so that a poll costs
/// nothing elsewhere.
pub(super) fn spend_poll(
    incoming: &Incoming,
    shop: &ShopConfig,
    buyer: &Buyer<'_>,
    event: &EventId,
) -> Result<Ticket, Refusal> {
    let isolate = &incoming.isolate;
    let ticket = buyer.ticket(&isolate.config, &isolate.keys, event)?.ticket;
    let limit = poll_limit(&isolate.config.poll, &shop.id, &ticket);
    let Some((limit, check)) = limit else { return Ok(ticket) };
    let reply = isolate.memory.polls.borrow_mut().check(&check, incoming.now);
    let decisions: Vec<_> = reply.decisions.into_iter().map(Some).collect();
    match judge(isolate.config.site.limit_fields, &[limit], &decisions).refusal {
        Some(bound) => Err(bound.into()),
        None => Ok(ticket),
    }
}
