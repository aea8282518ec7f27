//! The clock of one room: every second it expires, decides the calls, has them made durable, and publishes the snapshot.

use crate::{
    leader::Leadership,
    metrics::Metrics,
    origins::RoomOrigin,
    rooms::ActiveRoom,
    store::{Mandate, StoreError},
};
use shared::room::{Law, snapshot};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::time::{Instant as TokioInstant, MissedTickBehavior, interval_at};
use tracing::{info, warn};

pub const TICK: Duration = Duration::from_secs(1);

/// So many in a row end a failure.
const GOOD_TICKS: u32 = 10;

/// Runs the ticks of one room.
pub struct Ticker {
    room: Arc<ActiveRoom>,
    metrics: Arc<Metrics>,
    law: Law,
    /// Only the server that leads ticks; `None`: this one always does.
    leadership: Option<Arc<Leadership>>,
    /// The term that `law` has learnt in.
    term: u64,
    /// The room's seat at its shop's server; `None` where that is not watched.
    origin: Option<RoomOrigin>,
    /// After a failure: good ticks until the room is said to tick again.
    doubted: u32,
}

/// Why a tick published nothing. The next one tries again.
#[derive(Debug, thiserror::Error)]
pub enum TickError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a snapshot could not be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Ticker {
    pub fn new(room: Arc<ActiveRoom>, metrics: Arc<Metrics>) -> Self {
        let law = Law::default().with_fault(room.planted);
        Self { room, metrics, law, leadership: None, term: 0, origin: None, doubted: 0 }
    }

    /// Ticks while this server leads.
    #[must_use]
    pub fn led_by(self, leadership: Arc<Leadership>) -> Self {
        Self { leadership: Some(leadership), ..self }
    }

    /// Heeds what the shop's server can bear.
    #[must_use]
    pub fn heeding(self, origin: Option<RoomOrigin>) -> Self {
        Self { origin, ..self }
    }

    /// Ticks until the task is dropped.
    pub async fn run(mut self) {
        let mut ticks = interval_at(TokioInstant::now() + TICK, TICK);
        // After a stall the room goes on from now: ticks that were missed are not made up for.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if self.leads() {
                let result = self.tick().await;
                self.note(result);
            }
        }
    }

    /// Whether the tick is this server's. With a new term the law begins anew, as it does with a new process.
    fn leads(&mut self) -> bool {
        let Some(leadership) = &self.leadership else { return true };
        let Mandate::Given { term } = leadership.mandate() else { return false };
        if term != self.term {
            self.law = Law::default().with_fault(self.room.planted);
            self.term = term;
        }
        true
    }

    /// One tick. The snapshot is published only after the store has made durable what it tells.
    pub async fn tick(&mut self) -> Result<(), TickError> {
        let started = Instant::now();
        let ActiveRoom { event, settings, planted, store, .. } = &*self.room;
        let facts = store.expire().await?;
        let heeded = self.origin.as_ref().map(|origin| origin.heed(&facts)).unwrap_or_default();
        self.law.heed(heeded);
        let order = self.law.decide(settings, &facts);
        let called = store.call(order.clone()).await?;
        if let Some(origin) = &self.origin {
            origin.heeded(heeded, &called.facts);
        }
        let snapshot = snapshot(event, settings, &called.facts, &order, called.session_free, *planted);
        self.metrics.note_tick(event, &called.facts, started.elapsed());
        self.room.publish(snapshot, called.facts)?;
        Ok(())
    }

    /// Logs the first failure and the recovery, not every second in between. A tick that has nothing to make durable succeeds on a
    /// full disk, too.
    fn note(&mut self, result: Result<(), TickError>) {
        let event = &self.room.event;
        match result {
            Err(error) => {
                if self.doubted == 0 {
                    warn!(%event, %error, "the room's tick failed; the last snapshot stands and ticks go on");
                }
                self.doubted = GOOD_TICKS;
            }
            Ok(()) if self.doubted > 0 => {
                self.doubted -= 1;
                if self.doubted == 0 {
                    info!(%event, "the room ticks again");
                }
            }
            Ok(()) => {}
        }
    }
}
