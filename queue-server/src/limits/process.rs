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
        table::{KeyState, LimiterTable},
    },
    time::Timestamp,
};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// States of at most as many keys as its table has room for.
pub struct ProcessStore {
    table: Mutex<LimiterTable>,
    clock: Clock,
    journal: Option<Arc<Journal>>,
    /// Answers that told of something which is not durable.
    unsaved: AtomicU64,
}

impl ProcessStore {
    /// A store whose states end with the process.
    pub fn new(keys_max: usize, seed: TableSeed, clock: Clock) -> Self {
        let table = Mutex::new(LimiterTable::new(keys_max, seed));
        Self { table, clock, journal: None, unsaved: AtomicU64::new(0) }
    }

    /// The same store, which begins with what was written and writes through what must outlive it.
    #[must_use]
    pub fn kept_in(mut self, journal: Arc<Journal>, written: &Written) -> Self {
        let now = self.clock.now();
        let table = self.table.get_mut().unwrap_or_else(PoisonError::into_inner);
        for record in written.records.iter().filter(|record| record.must_survive(now)) {
            table.restore(record.clone(), now);
        }
        self.journal = Some(journal);
        self
    }

    /// Keys that are recorded.
    pub fn len(&self) -> usize {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether no key is recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that passed unrecorded because the table was full; answers that a crash would take back.
    pub fn unrecorded_and_unsaved(&self) -> (u64, u64) {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        (table.unrecorded_checks(), self.unsaved.load(Ordering::Relaxed))
    }

    /// Applies one transition, and answers when what it changed is as durable as it must be.
    ///
    /// A lock and a long quota hold also while the disk fails: the answer then leaves all the same, and is counted.
    async fn apply<T>(
        &self,
        charges: &[Charge],
        transition: impl FnOnce(&mut LimiterTable, Timestamp) -> T,
    ) -> Timed<T> {
        let (answer, pending) = {
            // A transition leaves the table whole even if a thread panicked between two.
            let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
            let now = self.clock.now();
            let journal = self.journal.as_ref();
            let before = journal.map(|_| kept(&table, charges, now));
            let answer = Timed { value: transition(&mut table, now), now };
            // Queued under the table's lock, so that the file sees the changes of a key in their order.
            let pending = journal
                .zip(before)
                .map(|(journal, before)| journal.write(changes(before, kept(&table, charges, now))));
            (answer, pending)
        };
        if let Some(pending) = pending
            && pending.durable().await.is_err()
        {
            self.unsaved.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }
}

#[async_trait]
impl LimitStore for ProcessStore {
    async fn check(&self, _shop: &str, request: &CheckRequest) -> Answer<CheckReply> {
        Ok(self.apply(request.charges(), |table, now| table.check(request, now)).await)
    }

    async fn peek(&self, _shop: &str, request: &CheckRequest) -> Answer<CheckReply> {
        Ok(self.apply(&[], |table, now| table.peek(request, now)).await)
    }

    async fn refund(&self, _shop: &str, charges: &[Charge], taken_at: Timestamp) -> Answer<()> {
        let refund = |table: &mut LimiterTable, now| {
            charges.iter().for_each(|charge| table.refund(charge, taken_at, now));
        };
        Ok(self.apply(charges, refund).await)
    }

    async fn replenish(&self, _shop: &str, charge: &Charge) -> Answer<()> {
        Ok(self.apply(&[*charge], |table, now| table.replenish(charge, now)).await)
    }

    async fn reset(&self, _shop: &str, charge: &Charge) -> Answer<()> {
        let reset = |table: &mut LimiterTable, _| {
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

/// What of these keys must be durable.
fn kept(table: &LimiterTable, charges: &[Charge], now: Timestamp) -> Vec<(KeyHash, Option<Record>)> {
    let is_long = |charge: &&Charge| matches!(charge.policy, Policy::Lockout(_) | Policy::LongQuota(_));
    let record =
        |charge: &Charge| (charge.key, table.record(charge.key).filter(|record| record.must_survive(now)));
    charges.iter().filter(is_long).map(record).collect()
}

fn changes(before: Vec<(KeyHash, Option<Record>)>, after: Vec<(KeyHash, Option<Record>)>) -> Vec<Change> {
    let changed = before.into_iter().zip(after).filter(|(before, after)| before != after);
    changed.map(|(_, (key, record))| record.map_or(Change::Forget(key), Change::Keep)).collect()
}
