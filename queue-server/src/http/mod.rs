//! The HTTP face: `call` reads a request, one file per group of calls answers it, `error` turns refusals into problem JSON.

mod body;
mod buyer;
mod call;
mod codes;
mod edge;
mod error;
mod forward;
mod guard;
mod joins;
mod limits;
mod operator;
mod ops;
mod origins;
mod presented;
mod reply;
mod session;
mod ticket;
mod traced;
mod wait_page;

use crate::app::App;
use axum::{
    Router, middleware,
    routing::{get, post},
};
use guard::Guard;
use joins::Joins;
use std::sync::Arc;
use tokio::sync::Semaphore;

pub use call::{HEADER_BYTES_MAX, SERVICE_BYTES_MAX};
pub use guard::{Bounds, CALLS_MAX};

/// Everything the server answers.
pub fn router(app: Arc<App>) -> Router {
    router_for(app, Bounds::default())
}

/// As [`router`], with other bounds.
pub fn router_for(app: Arc<App>, bounds: Bounds) -> Router {
    let guard = Arc::new(Guard {
        app: Arc::clone(&app),
        calls: Semaphore::new(bounds.calls_max),
        joins: Joins::new(bounds.joins_max, bounds.joins_at_work_max, bounds.join_wait_max),
        body_time_max: bounds.body_time_max,
    });
    let router = Router::new()
        .route("/v1/edge/events/{event}/ended", get(edge::ended))
        .route("/v1/edge/config", get(edge::config))
        .route("/v1/edge/report", post(edge::report))
        .merge(limits::routes())
        .merge(operator::routes())
        .merge(codes::routes())
        .merge(origins::routes())
        .route("/metrics", get(ops::metrics))
        .route("/healthz", get(ops::healthz))
        .route("/readyz", get(ops::readyz))
        .route("/leadz", get(ops::leadz))
        .route("/openapi.json", get(ops::openapi))
        .method_not_allowed_fallback(ops::method_not_allowed)
        // The buyer side lies under a configurable prefix, and `shared` knows its routes.
        .fallback(buyer::answer);
    let led = match &app.peers {
        Some(_) => router.layer(middleware::from_fn_with_state(Arc::clone(&app), forward::forward)),
        // A server that is alone has nobody to ask.
        None => router,
    };
    led.layer(middleware::from_fn_with_state(guard, guard::guard)).with_state(app)
}
