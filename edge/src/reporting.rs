//! What the queue server is told beside the answers: how gated requests ended, and which sessions the shop ended.

use crate::clock;
use crate::incoming::Incoming;
use crate::isolate::Isolate;
use crate::refusal::{Refusal, ServerUnreachable};
use crate::rooms;
use crate::server::ServerCall;
use shared::config::ShopConfig;
use shared::gate::{
    EndedPlaces, Limit, OriginEnd, PassView, REPORT_EVERY, find_pass, outcome_of, session_word,
};
use shared::ids::{EventId, Place};
use shared::limiter::Decision;
use shared::time::Timestamp;
use shared::wire::{Report, Word};
use std::rc::Rc;
use worker::web_sys::Response;
use worker::{Delay, console_warn};

/// Counts how a gated request ended; the counts of a second travel together.
pub(crate) fn note_outcome(incoming: &Incoming, event: &EventId, status: u16) {
    let outcome = outcome_of(status);
    let begins_flush = incoming.isolate.memory.reports.borrow_mut().count(event, outcome, clock::now());
    flush_soon(incoming, begins_flush);
}

/// A gated request on its way to a server that is watched.
pub(crate) struct OriginWatch<'a> {
    incoming: &'a Incoming,
    event: &'a EventId,
    place: Place,
    began: Timestamp,
}

impl<'a> OriginWatch<'a> {
    /// `None` where the server of the shop is not watched.
    pub(crate) fn begin(
        incoming: &'a Incoming,
        shop: &ShopConfig,
        event: &'a EventId,
        place: Place,
    ) -> Option<Self> {
        incoming.isolate.config.origin_of(shop)?;
        let began = clock::now();
        let begins_flush = incoming.isolate.memory.reports.borrow_mut().origin_called(event, began);
        flush_soon(incoming, begins_flush);
        Some(Self { incoming, event, place, began })
    }

    /// The reply's status; `None` where there was no reply.
    pub(crate) fn end(self, status: Option<u16>) {
        let now = clock::now();
        let after_ms = u32::try_from(now.since(self.began).as_millis()).unwrap_or(u32::MAX);
        let end = match status {
            Some(..500) => OriginEnd::Replied { after_ms },
            _ => OriginEnd::Failed,
        };
        let mut reports = self.incoming.isolate.memory.reports.borrow_mut();
        let begins_flush = reports.origin_ended(self.event, self.place, end, now);
        drop(reports);
        flush_soon(self.incoming, begins_flush);
    }
}

/// Notes that a waiting buyer asked how things stand; the polls of a second travel together.
pub(crate) fn note_poll(incoming: &Incoming, event: &EventId, place: Place, again_ms: u64) {
    let begins_flush =
        incoming.isolate.memory.reports.borrow_mut().hear(event, place, again_ms, clock::now());
    flush_soon(incoming, begins_flush);
}

/// Counts what the limits of one stage were told; the counts of a second travel together.
pub(crate) fn note_limits(incoming: &Incoming, limits: &[Limit<'_>], decisions: &[Option<Decision>]) {
    let begins_flush = incoming.isolate.memory.reports.borrow_mut().limited(limits, decisions, clock::now());
    flush_soon(incoming, begins_flush);
}

fn flush_soon(incoming: &Incoming, begins_flush: bool) {
    if begins_flush {
        let isolate = Rc::clone(&incoming.isolate);
        incoming.beside(async move {
            Delay::from(REPORT_EVERY).await;
            flush(&isolate).await;
        });
    }
}

/// Passes on what the shop's reply says of the session of this gated request, or, on another route, of the buyer's sessions in
/// events of this shop.
pub(crate) fn note_session_word(
    incoming: &Incoming,
    shop: &ShopConfig,
    response: &Response,
    gated: Option<(&EventId, Place)>,
) -> Result<(), Refusal> {
    let field = response.headers().get("fairgate-session")?;
    let Some(word) = field.as_deref().and_then(session_word) else { return Ok(()) };
    let sessions = match gated {
        Some((event, place)) => vec![(event.clone(), place)],
        None => sessions_of(incoming, shop),
    };
    if sessions.is_empty() {
        return Ok(());
    }
    for (event, place) in &sessions {
        incoming.isolate.memory.reports.borrow_mut().tell(event, *place, word);
        if word != Word::Extend {
            rooms::note_ended(incoming, event, *place)?;
        }
    }
    let isolate = Rc::clone(&incoming.isolate);
    incoming.beside(async move { flush(&isolate).await });
    Ok(())
}

/// Tells again, beside any request, what the queue server has not confirmed: the seats of ended sessions stay taken until then.
pub(crate) fn repeat(incoming: &Incoming) {
    if incoming.isolate.memory.reports.borrow_mut().words_are_due(incoming.now) {
        let isolate = Rc::clone(&incoming.isolate);
        incoming.beside(async move { flush(&isolate).await });
    }
}

/// The living sessions of this buyer in events of this shop.
fn sessions_of(incoming: &Incoming, shop: &ShopConfig) -> Vec<(EventId, Place)> {
    let Isolate { config, keys, .. } = &*incoming.isolate;
    // Without cookies that can be read there is no session to end.
    let Ok(buyer) = incoming.buyer() else { return Vec::new() };
    let mut sessions = Vec::new();
    for event in config.events.iter().filter(|event| event.shop_id == shop.id) {
        let ended = EndedPlaces::default();
        let view = PassView {
            keys,
            event: &event.id,
            shop_id: &shop.id,
            ended: &ended,
            snapshot: None,
            now: incoming.now,
            server_time: incoming.now,
            is_server_away: false,
        };
        let held = find_pass(&view, &buyer.passes(config, &event.id));
        sessions.extend(held.map(|pass| (event.id.clone(), pass.place)));
    }
    sessions
}

async fn flush(isolate: &Isolate) {
    loop {
        let Some(batch) = isolate.memory.reports.borrow_mut().take(clock::now()) else { return };
        if send(isolate, &batch.report).await.is_err() {
            isolate.memory.reports.borrow_mut().put_back(batch);
            return;
        }
        if !isolate.memory.reports.borrow_mut().confirm(&batch) {
            return;
        }
    }
}

async fn send(isolate: &Isolate, report: &Report) -> Result<(), ServerUnreachable> {
    let body = serde_json::to_vec(report).map_err(|error| {
        console_warn!("a report cannot be written: {error}");
        ServerUnreachable
    })?;
    let call = ServerCall {
        method: "POST",
        path_and_query: "/v1/edge/report".to_owned(),
        client_address: String::new(),
        headers: vec![("content-type", "application/json".to_owned())],
        body,
        budget_ms: BUDGET_MS,
    };
    let status = call.send(isolate).await?.status();
    if status == 204 { Ok(()) } else { Err(ServerUnreachable) }
}

const BUDGET_MS: u32 = 2_000;
