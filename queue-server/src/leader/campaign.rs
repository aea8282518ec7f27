//! Holds the lease, or waits for it.

use super::{
    Leadership,
    lease::{Claim, Holder, LEASE, Lease, LeaseError},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tracing::{info, warn};

/// One server's part in the question who leads.
pub(crate) struct Campaign {
    leadership: Arc<Leadership>,
    lease: Lease,
    client: reqwest::Client,
    /// Where the last other leader was, for a Redis that has forgotten it.
    last_leader: Option<String>,
    /// Since when nobody has the lease.
    vacant_since: Option<Instant>,
    failures: u64,
}

impl Campaign {
    pub(crate) fn new(leadership: Arc<Leadership>, lease: Lease) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder().timeout(PROBE_MAX).no_proxy().build()?;
        Ok(Self { leadership, lease, client, last_leader: None, vacant_since: None, failures: 0 })
    }

    /// Goes on until the task is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            let pause = self.round().await;
            tokio::time::sleep(pause).await;
        }
    }

    /// One question to Redis and what follows from it; until the next one.
    async fn round(&mut self) -> Duration {
        if self.leadership.is_barred() {
            // Whoever can read the rooms need not wait until the lease has run out.
            self.lease.resign(self.leadership.id()).await;
        }
        let mut answer = self.ask(false).await;
        if let Ok(Holder::Nobody { last_address, .. }) = &answer
            && !self.leadership.is_barred()
            && self.may_take(last_address).await
        {
            answer = self.ask(true).await;
        }
        match answer {
            Err(error) => {
                // The lease, if this server has it, runs out by itself.
                self.failures = self.failures.saturating_add(1);
                if self.failures == FAILURES_TOLD {
                    warn!(%error, "nobody knows who leads");
                }
                ASK_AGAIN_AFTER
            }
            Ok(holder) => {
                self.failures = 0;
                self.note(holder)
            }
        }
    }

    async fn ask(&self, takes: bool) -> Result<Holder, LeaseError> {
        let (id, address) = (self.leadership.id(), self.leadership.address());
        let (held, seen) = (self.leadership.held_term(), self.leadership.seen());
        let asked = Instant::now();
        let holder = self.lease.lead(&Claim { id, address, held, seen, takes }).await?;
        if let Holder::Caller { term } = holder {
            // Counted from before the question, so that the lease lives longer than this server believes.
            let until = asked + LEASE.saturating_sub(GUARD);
            if term != held {
                info!(term, "this server leads: it runs the rooms");
            }
            self.leadership.lead(term, until);
        }
        Ok(holder)
    }

    fn note(&mut self, holder: Holder) -> Duration {
        let was_leading = self.leadership.held_term();
        match holder {
            Holder::Caller { .. } => {
                (self.vacant_since, self.last_leader) = (None, None);
                RENEW_EVERY
            }
            Holder::Other { term, address, rest } => {
                (self.vacant_since, self.last_leader) = (None, Some(address.clone()));
                self.leadership.follow(Some(address), term);
                if was_leading > 0 {
                    warn!(was_leading, term, "another server leads; the rooms are its own now");
                }
                // A lease that is not renewed is noticed as it ends.
                (rest + Duration::from_millis(1)).min(RENEW_EVERY)
            }
            Holder::Nobody { term, .. } => {
                self.leadership.follow(None, term);
                ASK_AGAIN_AFTER
            }
        }
    }

    /// Whether the lease may be taken after the server at `last_address`. If that one lives and has the rooms in memory, it has
    /// lost its lease with a failover of Redis, and what Redis has lost it still knows.
    async fn may_take(&mut self, last_address: &str) -> bool {
        let vacant_since = *self.vacant_since.get_or_insert_with(Instant::now);
        let told = Some(last_address).filter(|address| !address.is_empty());
        let Some(last_address) = told.or(self.last_leader.as_deref()) else { return true };
        let is_this = last_address == self.leadership.address();
        if self.leadership.held_term() > 0 || is_this || vacant_since.elapsed() > HOLD_OFF_MAX {
            return true;
        }
        let asked = self.client.get(format!("{last_address}/leadz")).send().await;
        let told = match asked {
            Ok(reply) => reply.text().await.unwrap_or_default(),
            Err(_) => return true,
        };
        told.trim().parse::<u64>().is_ok_and(|term| term == 0)
    }
}

const RENEW_EVERY: Duration = Duration::from_millis(300);
/// The leader stops this much before its lease ends: for what clocks differ while they count 1.2 s.
const GUARD: Duration = Duration::from_millis(200);
/// One is the rule while the first connection is being made.
const FAILURES_TOLD: u64 = 3;
const PROBE_MAX: Duration = Duration::from_millis(150);
/// While nobody is known to lead.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(50);
/// A leader that lives but cannot reach Redis is not waited for any longer.
const HOLD_OFF_MAX: Duration = Duration::from_secs(3);
