//! A store of limits on other machines: called within its budget, and left alone for a while when it does not answer.

use super::leased::Leases;
use super::store::{Answer, BUDGET, LimitStore, LimitStoreError, Timed};
use crate::clock::Clock;
use shared::guard::breaker::Breaker;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};
use tokio::time::timeout;
use tracing::{error, info, warn};

pub(super) struct Remote {
    store: Arc<dyn LimitStore>,
    leases: Leases,
    servers: u64,
    clock: Clock,
    breaker: Mutex<Breaker>,
    failures: AtomicU64,
}

/// Why a store has no answer to use.
pub(super) enum NoAnswer {
    Away,
    Misconfigured,
}

impl Remote {
    pub(super) fn new(store: Arc<dyn LimitStore>, servers: u64, clock: Clock) -> Self {
        let servers = servers.max(1);
        let leases = Leases::new(Arc::clone(&store), clock.clone());
        Self { store, leases, servers, clock, breaker: Mutex::default(), failures: AtomicU64::new(0) }
    }

    pub(super) fn store(&self) -> &Arc<dyn LimitStore> {
        &self.store
    }

    pub(super) fn leases(&self) -> &Leases {
        &self.leases
    }

    /// How many servers share the store.
    pub(super) fn servers(&self) -> u64 {
        self.servers
    }

    /// Calls that were not answered; whether the store is called as usual.
    pub(super) fn failures(&self) -> (u64, bool) {
        (self.failures.load(Ordering::Relaxed), self.breaker().is_closed())
    }

    /// Waits for the store's answer within the budget, unless the breaker is open.
    pub(super) async fn call<T>(
        &self,
        answer: impl Future<Output = Answer<T>>,
    ) -> Result<Timed<T>, NoAnswer> {
        let Some(permission) = self.breaker().begin(self.clock.now()) else {
            return Err(self.failed(NoAnswer::Away));
        };
        let answer = timeout(BUDGET, answer).await.unwrap_or(Err(LimitStoreError::Unavailable));
        let is_good = !matches!(answer, Err(LimitStoreError::Unavailable));
        let (was_closed, is_closed) = {
            let mut breaker = self.breaker();
            let was_closed = breaker.is_closed();
            breaker.end(permission, is_good, self.clock.now());
            (was_closed, breaker.is_closed())
        };
        match (was_closed, is_closed) {
            (true, false) => {
                warn!("the store of limits does not answer: the policies' on_store_failure holds");
            }
            (false, true) => info!("the store of limits answers again"),
            _ => {}
        }
        answer.map_err(|error| self.failed(NoAnswer::of(error)))
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, no_answer: NoAnswer) -> NoAnswer {
        self.failures.fetch_add(1, Ordering::Relaxed);
        no_answer
    }
}

impl NoAnswer {
    pub(super) fn of(error: LimitStoreError) -> Self {
        match error {
            LimitStoreError::Unavailable => Self::Away,
            LimitStoreError::Misconfigured(what) => {
                error!(%what, "the store of limits is not set up for this call");
                Self::Misconfigured
            }
        }
    }
}

impl From<NoAnswer> for LimitStoreError {
    fn from(no_answer: NoAnswer) -> Self {
        match no_answer {
            NoAnswer::Away => Self::Unavailable,
            NoAnswer::Misconfigured => Self::Misconfigured("the log says what is wrong".to_owned()),
        }
    }
}
