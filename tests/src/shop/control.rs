//! The shop's other listener: how it should behave, and what it has accepted.

use super::State;
use super::ledger::LogEntry;
use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How the cart behaves.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Conduct {
    pub(super) latency_ms: u64,
    fail: Share,
    reject: Share,
}

/// A share of requests, spread evenly and without chance: half means every second one.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(into = "f64")]
pub(super) struct Share {
    share: f64,
    owed: f64,
}

/// A change of conduct; what is left out stays.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    latency_ms: Option<u64>,
    fail_share: Option<f64>,
    reject_share: Option<f64>,
    #[serde(default)]
    stock: BTreeMap<String, u64>,
}

pub(super) fn routes() -> Router<Arc<State>> {
    Router::new().route("/control", get(show).post(change)).route("/log", get(log))
}

impl Conduct {
    /// Whether this request fails.
    pub(super) fn fails(&mut self) -> bool {
        self.fail.takes()
    }

    /// Whether this request is rejected.
    pub(super) fn rejects(&mut self) -> bool {
        self.reject.takes()
    }
}

impl Share {
    fn of(share: f64) -> Self {
        Self { share: share.clamp(0.0, 1.0), owed: 0.0 }
    }

    fn takes(&mut self) -> bool {
        self.owed += self.share;
        let takes = self.owed >= 1.0;
        if takes {
            self.owed -= 1.0;
        }
        takes
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        share.share
    }
}

async fn show(Shared(state): Shared<Arc<State>>) -> Json<Conduct> {
    Json(state.conduct().clone())
}

async fn change(
    Shared(state): Shared<Arc<State>>,
    Json(change): Json<Change>,
) -> Result<Json<Conduct>, StatusCode> {
    for (sku, units) in &change.stock {
        if !state.ledger().restock(sku, *units) {
            return Err(StatusCode::NOT_FOUND);
        }
    }
    let mut conduct = state.conduct();
    conduct.latency_ms = change.latency_ms.unwrap_or(conduct.latency_ms).min(LATENCY_MS_MAX);
    if let Some(share) = change.fail_share {
        conduct.fail = Share::of(share);
    }
    if let Some(share) = change.reject_share {
        conduct.reject = Share::of(share);
    }
    Ok(Json(conduct.clone()))
}

async fn log(Shared(state): Shared<Arc<State>>) -> Json<Vec<LogEntry>> {
    Json(state.ledger().log().to_vec())
}

const LATENCY_MS_MAX: u64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_taken_evenly() {
        let check = |share: f64, taken: usize| {
            let mut share = Share::of(share);
            assert_eq!((0..100).filter(|_| share.takes()).count(), taken);
        };
        check(0.0, 0);
        check(0.25, 25);
        check(0.5, 50);
        check(1.0, 100);
        check(7.0, 100);
    }
}
