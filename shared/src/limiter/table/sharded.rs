//! One table for the threads of a process: shards with a lock each, so that two threads seldom meet.

use super::{KeyState, LimiterTable, together};
use crate::limiter::check::{CHARGES_MAX, Charge, CheckReply, CheckRequest};
use crate::limiter::concurrency::Holder;
use crate::limiter::key::{KeyHash, TableSeed};
use crate::limiter::{Decision, Record};
use crate::time::Timestamp;
use core::array;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A [`LimiterTable`] in shards. Everything it promises holds for each shard, with the capacity of that shard.
///
/// A check over several keys locks their shards in one order, so it is all or nothing between threads too.
#[derive(Debug)]
pub struct ShardedTable {
    seed: TableSeed,
    shards: Box<[Shard; SHARDS]>,
}

/// Aligned, so that two locks never share a line of the cache.
#[derive(Debug)]
#[repr(align(128))]
struct Shard(Mutex<LimiterTable>);

impl ShardedTable {
    /// An empty table for about `capacity` keys in all, spread over its shards by their hashes.
    pub fn new(capacity: usize, seed: TableSeed) -> Self {
        let of_shard = capacity.div_ceil(SHARDS);
        let shard = |_| Shard(Mutex::new(LimiterTable::new(of_shard, seed)));
        Self { seed, shards: Box::new(array::from_fn(shard)) }
    }

    /// See [`LimiterTable::check`].
    pub fn check(&self, request: &CheckRequest, now: Timestamp) -> CheckReply {
        if let ([charge], None) = (request.charges(), request.holder()) {
            return CheckReply { decisions: vec![self.check_one(charge, now)] };
        }
        let shard_of = |charge: &Charge| Self::shard_of(charge.key.slot_hash(self.seed));
        let homes: [usize; CHARGES_MAX] =
            array::from_fn(|place| request.charges().get(place).map_or(0, shard_of));
        let mut wanted: Vec<usize> = homes.iter().take(request.charges().len()).copied().collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut tables: Vec<MutexGuard<'_, LimiterTable>> =
            wanted.iter().map(|shard| self.lock(*shard)).collect();
        let table_of = |place: usize| {
            homes.get(place).and_then(|home| wanted.binary_search(home).ok()).unwrap_or(usize::MAX)
        };
        together::check(&mut tables, table_of, request, now)
    }

    /// See [`LimiterTable::check_one`].
    #[inline]
    pub fn check_one(&self, charge: &Charge, now: Timestamp) -> Decision {
        let slot = charge.key.slot_hash(self.seed);
        self.lock(Self::shard_of(slot)).check_at(slot, *charge, now)
    }

    /// See [`LimiterTable::peek`]. Each key is looked at by itself.
    pub fn peek(&self, request: &CheckRequest, now: Timestamp) -> CheckReply {
        let look = |charge: &Charge| {
            let slot = charge.key.slot_hash(self.seed);
            let table = self.lock(Self::shard_of(slot));
            table.look(table.find(slot, charge.key), charge, request.holder(), now)
        };
        CheckReply { decisions: request.charges().iter().map(look).collect() }
    }

    /// See [`LimiterTable::state`].
    pub fn state(&self, key: KeyHash, now: Timestamp) -> Option<KeyState> {
        self.home(key).state(key, now)
    }

    /// See [`LimiterTable::record`].
    pub fn record(&self, key: KeyHash) -> Option<Record> {
        self.home(key).record(key)
    }

    /// See [`LimiterTable::restore`].
    pub fn restore(&self, record: Record, now: Timestamp) {
        self.home(record.key).restore(record, now);
    }

    /// See [`LimiterTable::reset`].
    pub fn reset(&self, key: KeyHash) -> bool {
        self.home(key).reset(key)
    }

    /// See [`LimiterTable::replenish`].
    pub fn replenish(&self, charge: &Charge, now: Timestamp) {
        self.home(charge.key).replenish(charge, now);
    }

    /// See [`LimiterTable::refund`].
    pub fn refund(&self, charge: &Charge, taken_at: Timestamp, now: Timestamp) {
        self.home(charge.key).refund(charge, taken_at, now);
    }

    /// See [`LimiterTable::give`].
    pub fn give(&self, charge: &Charge, holder: Holder, now: Timestamp) {
        self.home(charge.key).give(charge, holder, now);
    }

    /// See [`LimiterTable::sweep`]; `entries` of each shard.
    pub fn sweep(&self, entries: usize, now: Timestamp) -> usize {
        self.total(|table| table.sweep(entries, now))
    }

    /// See [`LimiterTable::len`]; a shard is counted after another.
    pub fn len(&self) -> usize {
        self.total(|table| table.len())
    }

    /// See [`LimiterTable::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// See [`LimiterTable::unrecorded_checks`]. A check over several keys counts once in each shard without room.
    pub fn unrecorded_checks(&self) -> u64 {
        self.shards.iter().fold(0, |sum, shard| sum.saturating_add(shard.lock().unrecorded_checks()))
    }

    fn total(&self, of: impl Fn(&mut LimiterTable) -> usize) -> usize {
        self.shards.iter().fold(0, |sum, shard| sum.saturating_add(of(&mut shard.lock())))
    }

    fn home(&self, key: KeyHash) -> MutexGuard<'_, LimiterTable> {
        self.lock(Self::shard_of(key.slot_hash(self.seed)))
    }

    /// By bits that the index of a table does not use.
    #[inline]
    fn shard_of(slot: u64) -> usize {
        usize::try_from((slot >> 43) & u64::from(u8::MAX)).unwrap_or(0) % SHARDS
    }

    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a remainder by the number of shards is one of them")]
    fn lock(&self, shard: usize) -> MutexGuard<'_, LimiterTable> {
        self.shards[shard % SHARDS].lock()
    }
}

impl Shard {
    /// No code of a table panics. Were it to, a table with one key amiss would still be better than none.
    #[inline]
    fn lock(&self) -> MutexGuard<'_, LimiterTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Many more than threads, so that two of them want the same lock in few of their calls.
const SHARDS: usize = 32;
