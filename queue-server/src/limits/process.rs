//! Limiter states in the memory of this process; what must outlive it is written through.

use super::{
    journal::{Change, Journal, Written},
    store::{Answer, LimitStore, Timed},
};
use crate::clock::Clock;
use async_trait::async_trait;
use shared::{
    limiter::{
        Policy, Record,
        check::{Charge, CheckReply, CheckRequest},
        concurrency::Holder,
        key::{KeyHash, TableSeed},
        table::{KeyState, ShardedTable},
    },
    time::Timestamp,
};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// States of at most as many keys as its table has room for.
pub struct ProcessStore {
    table: ShardedTable,
    clock: Clock,
    kept: Option<Kept>,
    /// Answers that told of something which is not durable.
    unsaved: AtomicU64,
}

/// Where locks and long quotas are written.
struct Kept {
    journal: Arc<Journal>,
    /// Held from the look before a change until the change is queued: the file sees the changes of a key in their order.
    order: Mutex<()>,
}

impl ProcessStore {
    /// A store whose states end with the process.
    pub fn new(keys_max: usize, seed: TableSeed, clock: Clock) -> Self {
        Self { table: ShardedTable::new(keys_max, seed), clock, kept: None, unsaved: AtomicU64::new(0) }
    }

    /// The same store, which begins with what was written and writes through what must outlive it.
    #[must_use]
    pub fn kept_in(mut self, journal: Arc<Journal>, written: &Written) -> Self {
        let now = self.clock.now();
        for record in written.records.iter().filter(|record| record.must_survive(now)) {
            self.table.restore(record.clone(), now);
        }
        self.kept = Some(Kept { journal, order: Mutex::new(()) });
        self
    }

    /// Keys that are recorded.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no key is recorded.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Checks that passed unrecorded because the table was full.
    pub fn unrecorded_checks(&self) -> u64 {
        self.table.unrecorded_checks()
    }

    /// Answers that a crash would take back, because the disk failed.
    pub fn unsaved_answers(&self) -> u64 {
        self.unsaved.load(Ordering::Relaxed)
    }

    /// Applies one transition, and answers when what it changed is as durable as it must be.
    ///
    /// A lock and a long quota hold also while the disk fails: the answer then leaves all the same, and is counted.
    async fn apply<T>(
        &self,
        charges: &[Charge],
        transition: impl FnOnce(&ShardedTable, Timestamp) -> T,
    ) -> Timed<T> {
        let Some(kept) = self.kept.as_ref().filter(|_| charges.iter().any(is_long)) else {
            let now = self.clock.now();
            return Timed { value: transition(&self.table, now), now };
        };
        let (answer, pending) = {
            let _order = kept.order.lock().unwrap_or_else(PoisonError::into_inner);
            let now = self.clock.now();
            let before = self.long_records(charges, now);
            let value = transition(&self.table, now);
            let changes = changes(before, self.long_records(charges, now));
            (Timed { value, now }, kept.journal.write(changes))
        };
        if pending.durable().await.is_err() {
            self.unsaved.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }

    /// What of these keys must be durable.
    fn long_records(&self, charges: &[Charge], now: Timestamp) -> Vec<(KeyHash, Option<Record>)> {
        let record = |key: KeyHash| self.table.record(key).filter(|record| record.must_survive(now));
        let long = charges.iter().filter(|charge| is_long(charge));
        long.map(|charge| (charge.key, record(charge.key))).collect()
    }
}

#[async_trait]
impl LimitStore for ProcessStore {
    fn accepts(&self, _policy: &Policy) -> Result<(), String> {
        Ok(())
    }

    async fn check(&self, _shop: &str, request: &CheckRequest) -> Answer<CheckReply> {
        Ok(self.apply(request.charges(), |table, now| table.check(request, now)).await)
    }

    async fn peek(&self, _shop: &str, request: &CheckRequest) -> Answer<CheckReply> {
        Ok(self.apply(&[], |table, now| table.peek(request, now)).await)
    }

    async fn refund(&self, _shop: &str, charges: &[Charge], taken_at: Timestamp) -> Answer<()> {
        let refund = |table: &ShardedTable, now| {
            for charge in charges {
                table.refund(charge, taken_at, now);
            }
        };
        Ok(self.apply(charges, refund).await)
    }

    async fn replenish(&self, _shop: &str, charge: &Charge) -> Answer<()> {
        Ok(self.apply(&[*charge], |table, now| table.replenish(charge, now)).await)
    }

    async fn reset(&self, _shop: &str, charge: &Charge) -> Answer<()> {
        let reset = |table: &ShardedTable, _| {
            table.reset(charge.key);
        };
        Ok(self.apply(&[*charge], reset).await)
    }

    async fn give(&self, _shop: &str, charge: &Charge, holder: Holder) -> Answer<()> {
        Ok(self.apply(&[], |table, now| table.give(charge, holder, now)).await)
    }

    async fn state(&self, _shop: &str, charge: &Charge) -> Answer<Option<KeyState>> {
        Ok(self.apply(&[], |table, now| table.state(charge.key, now)).await)
    }
}

/// Whether the keys of a policy have something to write.
fn is_long(charge: &Charge) -> bool {
    matches!(charge.policy, Policy::Lockout(_) | Policy::LongQuota(_))
}

fn changes(before: Vec<(KeyHash, Option<Record>)>, after: Vec<(KeyHash, Option<Record>)>) -> Vec<Change> {
    let changed = before.into_iter().zip(after).filter(|(before, after)| before != after);
    changed.map(|(_, (key, record))| record.map_or(Change::Forget(key), Change::Keep)).collect()
}
