//! What holds for every request: a bound on how many run at once, a time budget, and a count of how they ended.

use super::call::refuse;
use crate::app::App;
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use shared::http::reason::Reason;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Semaphore, time::timeout};

/// Most requests at once; one more is refused at once instead of waiting.
pub const CALLS_MAX: usize = 4_096;

const TIME_BUDGET: Duration = Duration::from_secs(5);

/// Names the route of a response for the metrics.
#[derive(Clone, Copy)]
pub(super) struct RouteName(pub(super) &'static str);

/// What the guard holds on to.
pub(super) struct Guard {
    pub(super) app: Arc<App>,
    pub(super) calls: Semaphore,
}

pub(super) async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let headers = request.headers().clone();
    let response = match guard.calls.try_acquire() {
        Err(_) => refuse(&headers, Reason::Overloaded),
        // Nobody knows whether the change was made: the same request may be sent again.
        Ok(_permit) => timeout(TIME_BUDGET, next.run(request))
            .await
            .unwrap_or_else(|_| refuse(&headers, Reason::Unconfirmed)),
    };
    let route = response.extensions().get::<RouteName>().map_or("other", |name| name.0);
    guard.app.metrics.note_request(route, response.status().as_u16());
    response
}
