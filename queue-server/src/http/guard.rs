//! What holds for every request: a bound on how many run at once, a time budget, and a count of how they ended.

use super::{
    call::{About, body_bytes_max},
    joins::Joins,
    traced,
};
use crate::{app::App, leader::Leader};
use axum::{
    body::{Body, HttpBody, to_bytes},
    extract::{Request, State},
    http::Method,
    middleware::Next,
    response::Response,
};
use shared::http::{
    body::BODY_TIME_MAX,
    reason::Reason,
    route::{FairgateRoute, find_call},
};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Semaphore, time::timeout};
use tracing::Instrument;

/// Most requests at once; one more is refused at once instead of waiting.
pub const CALLS_MAX: usize = 4_096;

/// Most joins among them, so that redemptions, renewals and polls find room however many people come: who is refused here asks
/// again in a moment, and who is inside is not kept waiting.
const JOINS_MAX: usize = CALLS_MAX / 2;

/// Most joins at work: with more, others wait longer for a processor, and joins are not answered sooner.
const JOINS_AT_WORK_MAX: usize = 32;

/// A buyer's browser would rather ask again than wait longer.
const JOIN_WAIT_MAX: Duration = Duration::from_secs(1);

/// From the last byte of a request to its answer.
const TIME_BUDGET: Duration = Duration::from_secs(5);

/// What a server takes on.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Requests at once.
    pub calls_max: usize,
    /// Joins at once, among them; those that wait for others are counted.
    pub joins_max: usize,
    /// Joins at once that do not wait.
    pub joins_at_work_max: usize,
    /// Until a join that waits is refused.
    pub join_wait_max: Duration,
    /// Until a body has arrived.
    pub body_time_max: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            calls_max: CALLS_MAX,
            joins_max: JOINS_MAX,
            joins_at_work_max: JOINS_AT_WORK_MAX,
            join_wait_max: JOIN_WAIT_MAX,
            body_time_max: BODY_TIME_MAX,
        }
    }
}

/// Names the route of a response for the metrics.
#[derive(Clone, Copy)]
pub(super) struct RouteName(pub(super) &'static str);

/// The reply of the route that metrics count under this name.
pub(super) fn named(route: &'static str, mut response: Response) -> Response {
    response.extensions_mut().insert(RouteName(route));
    response
}

/// What the guard holds on to.
pub(super) struct Guard {
    pub(super) app: Arc<App>,
    pub(super) calls: Semaphore,
    pub(super) joins: Joins,
    pub(super) body_time_max: Duration,
}

pub(super) async fn guard(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    let about = About::of(request.headers());
    request.extensions_mut().insert(about.clone());
    let span = traced::begin(&request);
    let answer = guard.answer(request, next).instrument(span.clone()).await;
    let response = answer.unwrap_or_else(|reason| about.refuse(reason));
    let route = response.extensions().get::<RouteName>().map_or("other", |name| name.0);
    traced::end(&span, route, &response);
    guard.app.metrics.note_request(route, response.status().as_u16());
    response
}

impl Guard {
    async fn answer(&self, request: Request, next: Next) -> Result<Response, Reason> {
        let _permit = self.calls.try_acquire().map_err(|_| Reason::Overloaded)?;
        let request = with_body(request, self.body_time_max).await?;
        self.run(request, next).await
    }

    /// Answers a request that has arrived whole, within its time.
    async fn run(&self, request: Request, next: Next) -> Result<Response, Reason> {
        // A body that is slow to arrive takes no place from others.
        let _permit = if is_join(&self.app, &request) {
            let permit =
                if is_led_elsewhere(&self.app) { self.joins.pass_on() } else { self.joins.take().await };
            if permit.is_none() {
                self.app.metrics.note_shed_join();
                return Err(Reason::Overloaded);
            }
            permit
        } else {
            None
        };
        // Nobody knows whether the change was made: the same request may be sent again.
        timeout(TIME_BUDGET, next.run(request)).await.map_err(|_| Reason::Unconfirmed)
    }
}

/// Whether joins go on to another server. Those that this takes in the moment before it leads are still bounded, by all that are here.
fn is_led_elsewhere(app: &App) -> bool {
    app.peers.as_ref().is_some_and(|peers| matches!(peers.leader(), Leader::Other(_)))
}

fn is_join(app: &App, request: &Request) -> bool {
    if request.method() != Method::POST {
        return false;
    }
    let call = find_call(&app.config, request.method().as_str(), request.uri().path());
    matches!(call, Some(Ok(FairgateRoute::Join(_))))
}

/// The request with its whole body, so that a slow client is not taken for a slow store.
async fn with_body(request: Request, time_max: Duration) -> Result<Request, Reason> {
    if request.body().is_end_stream() {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    let body = timeout(time_max, to_bytes(body, body_bytes_max(&parts.uri))).await;
    let body = body.map_err(|_| Reason::BodyTimeout)?.map_err(|_| Reason::BodyTooLarge)?;
    Ok(Request::from_parts(parts, Body::from(body)))
}
