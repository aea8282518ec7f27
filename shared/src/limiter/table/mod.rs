//! Many keys of many policies in bounded memory, for one owner: a Durable Object, a process.
//!
//! Only an entry that decides like a new one is ever removed, a few looked at in each call, so a flood of made-up keys
//! frees nobody who was counted. Nor does it lock anybody out. When every entry is alive, a key without an entry is
//! judged as new and passes *unrecorded*; the host sees the count. Two bounds hold meanwhile:
//! - The table lets pass at most `capacity` such checks at once and `capacity` more each second, then refuses them.
//! - Each such call looks at [`ENTRIES_SWEPT_WHEN_FULL`] entries, and takes the place of the first that has recovered.
//!   A key that keeps calling is recorded, and then limited, as soon as one of its calls meets one.
//!
//! No call moves more than one page of the index or one chunk of the entries, however large the table has become.

mod chunks;
mod decide;
mod entry;
mod index;
mod policies;
mod sharded;
mod together;

pub use sharded::ShardedTable;

use super::check::{Charge, CheckReply, CheckRequest};
use super::concurrency::Holder;
use super::gcra::{GcraPolicy, GcraState};
use super::key::{KeyHash, TableSeed};
use super::{Decision, Policy, Record, State};
use crate::time::Timestamp;
use chunks::Chunks;
use core::time::Duration;
use entry::Entry;
use index::Index;
use policies::Policies;

/// Entries looked at for each new key, so that recovered ones leave at least as fast as new ones come.
const ENTRIES_SWEPT_PER_NEW_KEY: usize = 2;

/// A table less full than this part of its capacity is not swept for a new key, so that keys which come again and again
/// keep their entries between two calls.
const SHARE_LEFT_ALONE: usize = 8;

/// Entries looked at by a call that finds no room.
pub const ENTRIES_SWEPT_WHEN_FULL: usize = 32;

/// States of at most `capacity` keys: 48 bytes each, and 6 to 12 to find it. The algorithms that remember more than
/// three numbers add what their files say: a sliding log 8 bytes a unit, sub-windows 8 each, a permit 32.
#[derive(Debug)]
pub struct LimiterTable {
    capacity: usize,
    seed: TableSeed,
    index: Index,
    entries: Chunks<Entry>,
    policies: Policies,
    /// The entry that the sweep looks at next.
    hand: usize,
    unrecorded_policy: Option<GcraPolicy>,
    unrecorded_state: GcraState,
    unrecorded_checks: u64,
}

/// What a table knows of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyState {
    /// The policy that counted it last.
    pub policy: Policy,
    /// What that policy says to a cost of 0.
    pub decision: Decision,
    /// From this moment on the key is as new, if nothing is taken meanwhile.
    pub expiry: Timestamp,
}

impl LimiterTable {
    /// An empty table for at most `capacity` keys, which is less than 2^32. Memory grows with use.
    pub fn new(capacity: usize, seed: TableSeed) -> Self {
        let checks = u32::try_from(capacity).unwrap_or(u32::MAX);
        let capacity = usize::try_from(checks).unwrap_or(usize::MAX);
        Self {
            capacity,
            seed,
            index: Index::new(),
            entries: Chunks::new(),
            policies: Policies::new(),
            hand: 0,
            unrecorded_policy: GcraPolicy::new(checks.into(), checks.into(), Duration::from_secs(1)).ok(),
            unrecorded_state: GcraState::NEW,
            unrecorded_checks: 0,
        }
    }

    /// Takes every charge, or none: then each decision says what its own key would have answered.
    pub fn check(&mut self, request: &CheckRequest, now: Timestamp) -> CheckReply {
        match (request.charges(), request.holder()) {
            ([charge], None) => CheckReply { decisions: vec![self.check_one(charge, now)] },
            _ => together::check(&mut [self], |_charge| 0, request, now),
        }
    }

    /// [`check`](Self::check) of one charge that nobody holds, without an allocation of its own.
    #[inline]
    pub fn check_one(&mut self, charge: &Charge, now: Timestamp) -> Decision {
        self.check_at(self.slot_of(charge.key), *charge, now)
    }

    /// What [`check`](Self::check) would answer, without taking anything or starting a lock: `Allowed` where this cost
    /// would pass, with the `remaining` of now.
    pub fn peek(&self, request: &CheckRequest, now: Timestamp) -> CheckReply {
        let decide = |charge: &Charge| {
            let position = self.find(self.slot_of(charge.key), charge.key);
            self.look(position, charge, request.holder(), now)
        };
        CheckReply { decisions: request.charges().iter().map(decide).collect() }
    }

    /// What is known of a key; `None` for one that decides like a new one because it is not recorded.
    pub fn state(&self, key: KeyHash, now: Timestamp) -> Option<KeyState> {
        let entry = self.entries.get(self.find(self.slot_of(key), key)?)?;
        let policy = *self.policies.get(entry.policy())?;
        let looked = policy.check(entry.state(), now, 0);
        Some(KeyState { policy, decision: looked.decision, expiry: looked.expiry })
    }

    /// The state of a key as an owner keeps it elsewhere; `None` where nothing is recorded.
    pub fn record(&self, key: KeyHash) -> Option<Record> {
        let entry = self.entries.get(self.find(self.slot_of(key), key)?)?;
        Some(Record { key, policy: *self.policies.get(entry.policy())?, state: entry.state() })
    }

    /// Takes back what [`record`](Self::record) told, unless it is as new by `now` or there is no room.
    pub fn restore(&mut self, record: Record, now: Timestamp) {
        let Record { key, policy, state } = record;
        let slot = self.slot_of(key);
        match self.find(slot, key) {
            _ if policy.is_as_new(&state, now) => {}
            Some(position) => self.keep(position, &policy, state),
            None if self.room() > 0 => self.insert(slot, key, &policy, state),
            None => {}
        }
    }

    /// Makes the key as new: its quota is whole, its lock is over, its permits are free. Whether anything was recorded.
    pub fn reset(&mut self, key: KeyHash) -> bool {
        let position = self.find(self.slot_of(key), key);
        if let Some(position) = position {
            self.remove(position);
        }
        position.is_some()
    }

    /// Gives back the cost of `charge` whenever it was taken, at most up to the maximum; see [`Policy::replenish`].
    pub fn replenish(&mut self, charge: &Charge, now: Timestamp) {
        self.change(charge, now, |state| charge.policy.replenish(state, now, charge.cost));
    }

    /// Gives back what `charge` took at `taken_at`: at most what it still weighs. Unknown keys have nothing to return.
    pub fn refund(&mut self, charge: &Charge, taken_at: Timestamp, now: Timestamp) {
        self.change(charge, now, |state| charge.policy.refund(state, now, charge.cost, taken_at));
    }

    /// Gives back the permit of `holder` on the key of `charge`; nothing happens where it holds none.
    pub fn give(&mut self, charge: &Charge, holder: Holder, now: Timestamp) {
        self.change(charge, now, |state| charge.policy.give(state, now, holder));
    }

    /// Looks at `entries` entries, at most one round, and removes those that decide like new ones; how many. For a host's
    /// alarm, which comes again: an entry that fills a gap may be looked at twice, and another not in this round.
    pub fn sweep(&mut self, entries: usize, now: Timestamp) -> usize {
        let before = self.entries.len();
        for _ in 0..entries.min(before) {
            if self.hand >= self.entries.len() {
                self.hand = 0;
            }
            if self.is_as_new(self.hand, now) {
                self.remove(self.hand);
            } else {
                self.hand = self.hand.saturating_add(1);
            }
        }
        before.saturating_sub(self.entries.len())
    }

    /// How many keys are recorded.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no key is recorded: nothing would be lost with the table.
    pub fn is_empty(&self) -> bool {
        self.entries.len() == 0
    }

    /// Checks that passed with a key that was not recorded, because every entry was alive; since the table was made.
    pub fn unrecorded_checks(&self) -> u64 {
        self.unrecorded_checks
    }

    /// Replaces the state of a recorded key; an unknown one has nothing to change.
    fn change(&mut self, charge: &Charge, now: Timestamp, how: impl FnOnce(State) -> State) {
        if let Some(position) = self.find(self.slot_of(charge.key), charge.key) {
            let state = how(self.state_at(Some(position), charge, now));
            self.keep(position, &charge.policy, state);
        }
    }

    fn is_as_new(&self, position: usize, now: Timestamp) -> bool {
        let Some(entry) = self.entries.get(position) else { return false };
        match (self.policies.get(entry.policy()), entry.gcra()) {
            (Some(Policy::Gcra(policy)), Some(state)) => policy.is_as_new(state, now),
            (Some(policy), _) => policy.is_as_new(&entry.state(), now),
            (None, _) => false,
        }
    }

    #[inline]
    fn slot_of(&self, key: KeyHash) -> u64 {
        key.slot_hash(self.seed)
    }

    #[inline]
    fn find(&self, slot: u64, key: KeyHash) -> Option<usize> {
        self.index.find(slot, |position| self.entries.get(position).is_some_and(|entry| entry.key.is(key)))
    }

    /// How many more keys can be recorded.
    fn room(&self) -> usize {
        self.capacity.saturating_sub(self.entries.len())
    }

    /// Sweeps before `new_keys` come: a little in a table that fills, more where they would not fit. Entries may move.
    fn make_room(&mut self, new_keys: usize, now: Timestamp) {
        if self.entries.len() >= self.capacity / SHARE_LEFT_ALONE {
            self.sweep(new_keys.saturating_mul(ENTRIES_SWEPT_PER_NEW_KEY), now);
        }
        for _ in 0..ENTRIES_SWEPT_WHEN_FULL {
            if new_keys <= self.room() {
                break;
            }
            self.sweep(1, now);
        }
    }

    /// Writes the state of the entry at `position`, which `policy` counts from now on.
    fn keep(&mut self, position: usize, policy: &Policy, state: State) {
        let Some(entry) = self.entries.get_mut(position) else { return };
        let id = entry.policy();
        if self.policies.get(id) == Some(policy) {
            entry.keep(id, state);
        } else {
            entry.keep(self.policies.hold(policy), state);
            self.policies.release(id);
        }
    }

    /// Records a key that is new and has room.
    fn insert(&mut self, slot: u64, key: KeyHash, policy: &Policy, state: State) {
        let position = self.entries.len();
        self.entries.push(Entry::new(key, self.policies.hold(policy), state));
        let (entries, seed) = (&self.entries, self.seed);
        let slot_of = |position| entries.get(position).map_or(0, |entry| entry.key.slot_hash(seed));
        self.index.insert(slot, position, slot_of);
    }

    /// Removes the entry at `position`; the last one takes its place.
    fn remove(&mut self, position: usize) {
        let Some(removed) = self.entries.swap_remove(position) else { return };
        self.policies.release(removed.policy());
        self.index.remove(self.slot_of(removed.key), position);
        if let Some(moved) = self.entries.get(position) {
            self.index.relocate(moved.key.slot_hash(self.seed), self.entries.len(), position);
        }
    }
}
