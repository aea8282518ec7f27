//! Many keys of many policies in bounded memory, for one owner: a Durable Object, a process.
//!
//! Only an entry that decides like a new one is ever removed, a few looked at in each call, so a flood of made-up keys
//! frees nobody who was counted. Nor does it lock anybody out. When every entry is alive, a key without an entry is
//! judged as new and passes *unrecorded*; the host sees the count. Two bounds hold meanwhile:
//! - The table lets pass at most `capacity` such checks at once and `capacity` more each second, then refuses them.
//! - Each such call looks at [`ENTRIES_SWEPT_WHEN_FULL`] entries, and takes the place of the first that has recovered.
//!   A key that keeps calling is recorded, and then limited, as soon as one of its calls meets one.

use super::check::{Charge, CheckReply, CheckRequest};
use super::concurrency::Holder;
use super::gcra::{GcraPolicy, GcraState};
use super::key::{KeyHash, TableSeed};
use super::{Cost, Decision, Policy, Record, State, Transition};
use crate::time::Timestamp;
use core::time::Duration;
use hashbrown::HashTable;

/// Entries looked at for each new key, so that recovered ones leave at least as fast as new ones come.
const ENTRIES_SWEPT_PER_NEW_KEY: usize = 2;

/// Entries looked at by a call that finds no room.
pub const ENTRIES_SWEPT_WHEN_FULL: usize = 32;

/// States of at most `capacity` keys: 100 to 200 bytes each, as the memory grows by doubling. The algorithms that
/// remember more than two numbers add what their files say: a sliding log 8 bytes a unit, sub-windows 8 each, a permit 32.
#[derive(Debug)]
pub struct LimiterTable {
    capacity: usize,
    seed: TableSeed,
    /// Positions in `entries`, found by key.
    positions: HashTable<usize>,
    entries: Vec<Entry>,
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

#[derive(Clone, Debug)]
struct Entry {
    key: KeyHash,
    policy: Policy,
    state: State,
}

const _: () = assert!(size_of::<Entry>() <= 80, "the memory of a table is a promise");

impl LimiterTable {
    /// An empty table for at most `capacity` keys. Memory grows with use.
    pub fn new(capacity: usize, seed: TableSeed) -> Self {
        let checks = u64::try_from(capacity).unwrap_or(u64::MAX);
        Self {
            capacity,
            seed,
            positions: HashTable::new(),
            entries: Vec::new(),
            hand: 0,
            unrecorded_policy: GcraPolicy::new(checks, checks, Duration::from_secs(1)).ok(),
            unrecorded_state: GcraState::NEW,
            unrecorded_checks: 0,
        }
    }

    /// Takes every charge, or none: then each decision says what its own key would have answered.
    pub fn check(&mut self, request: &CheckRequest, now: Timestamp) -> CheckReply {
        let charges = request.charges();
        let new_keys = charges.iter().filter(|charge| self.find(charge.key).is_none()).count();
        self.make_room(new_keys, now);
        let holder = request.holder();
        let mut transitions: Vec<Transition<State>> =
            charges.iter().map(|charge| self.judge(charge, now, charge.cost, holder)).collect();
        if transitions.iter().all(|transition| transition.decision.is_allowed()) {
            self.take(charges, &mut transitions, now);
        } else {
            self.store_refusals(charges, &transitions);
        }
        let refused = transitions.iter().any(|transition| !transition.decision.is_allowed());
        let decisions = charges.iter().zip(&transitions).map(|(charge, transition)| {
            // Nothing was taken, so what an agreeing key has left is what it had before.
            let untaken = refused && transition.decision.is_allowed();
            if untaken { self.judge(charge, now, 0, holder).decision } else { transition.decision }
        });
        CheckReply { decisions: decisions.collect() }
    }

    /// What [`check`](Self::check) would answer, without taking anything or starting a lock: `Allowed` where this cost
    /// would pass, with the `remaining` of now.
    pub fn peek(&self, request: &CheckRequest, now: Timestamp) -> CheckReply {
        let decide = |charge: &Charge| {
            let asked = self.judge(charge, now, charge.cost, request.holder()).decision;
            if asked.is_allowed() { self.judge(charge, now, 0, request.holder()).decision } else { asked }
        };
        CheckReply { decisions: request.charges().iter().map(decide).collect() }
    }

    /// What is known of a key; `None` for one that decides like a new one because it is not recorded.
    pub fn state(&self, key: KeyHash, now: Timestamp) -> Option<KeyState> {
        let entry = self.find(key).and_then(|position| self.entries.get(position))?;
        let looked = entry.policy.check(entry.state.clone(), now, 0);
        Some(KeyState { policy: entry.policy, decision: looked.decision, expiry: looked.expiry })
    }

    /// The state of a key as an owner keeps it elsewhere; `None` where nothing is recorded.
    pub fn record(&self, key: KeyHash) -> Option<Record> {
        let entry = self.find(key).and_then(|position| self.entries.get(position))?;
        Some(Record { key, policy: entry.policy, state: entry.state.clone() })
    }

    /// Takes back what [`record`](Self::record) told, unless it is as new by `now` or there is no room.
    pub fn restore(&mut self, record: Record, now: Timestamp) {
        let Record { key, policy, state } = record;
        if !policy.is_as_new(&state, now) {
            self.store(Entry { key, policy, state });
        }
    }

    /// Makes the key as new: its quota is whole, its lock is over, its permits are free. Whether anything was recorded.
    pub fn reset(&mut self, key: KeyHash) -> bool {
        let position = self.find(key);
        if let Some(position) = position {
            self.remove(position);
        }
        position.is_some()
    }

    /// Gives back the cost of `charge` whenever it was taken, at most up to the maximum; see [`Policy::replenish`].
    pub fn replenish(&mut self, charge: &Charge, now: Timestamp) {
        let state = charge.policy.replenish(self.state_of(charge, now), now, charge.cost);
        self.overwrite(charge, state);
    }

    /// Gives back what `charge` took at `taken_at`: at most what it still weighs. Unknown keys have nothing to return.
    pub fn refund(&mut self, charge: &Charge, taken_at: Timestamp, now: Timestamp) {
        let state = charge.policy.refund(self.state_of(charge, now), now, charge.cost, taken_at);
        self.overwrite(charge, state);
    }

    /// Gives back the permit of `holder` on the key of `charge`; nothing happens where it holds none.
    pub fn give(&mut self, charge: &Charge, holder: Holder, now: Timestamp) {
        let state = charge.policy.give(self.state_of(charge, now), now, holder);
        self.overwrite(charge, state);
    }

    /// Looks at `entries` entries, at most one round, and removes those that decide like new ones; how many. For a host's
    /// alarm, which comes again: an entry that fills a gap may be looked at twice, and another not in this round.
    pub fn sweep(&mut self, entries: usize, now: Timestamp) -> usize {
        let before = self.entries.len();
        for _ in 0..entries.min(before) {
            if self.hand >= self.entries.len() {
                self.hand = 0;
            }
            match self.entries.get(self.hand) {
                Some(entry) if entry.policy.is_as_new(&entry.state, now) => self.remove(self.hand),
                _ => self.hand = self.hand.saturating_add(1),
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
        self.entries.is_empty()
    }

    /// Checks that passed with a key that was not recorded, because every entry was alive; since the table was made.
    pub fn unrecorded_checks(&self) -> u64 {
        self.unrecorded_checks
    }

    /// Stores the transitions of a check that every key allows, unless too many passed unrecorded lately.
    fn take(&mut self, charges: &[Charge], transitions: &mut [Transition<State>], now: Timestamp) {
        let mut room = self.capacity.saturating_sub(self.entries.len());
        let mut roomless: Option<&mut Transition<State>> = None;
        for (charge, transition) in charges.iter().zip(transitions.iter_mut()) {
            if charge.cost == 0 || self.find(charge.key).is_some() {
                continue;
            }
            match room.checked_sub(1) {
                Some(left) => room = left,
                None => roomless = Some(transition),
            }
        }
        if let Some(transition) = roomless
            && let Some(denied) = self.pass_unrecorded(now)
        {
            transition.decision = denied;
            return;
        }
        for (charge, transition) in
            charges.iter().zip(transitions.iter()).filter(|(charge, _)| charge.cost > 0)
        {
            self.store(Entry { key: charge.key, policy: charge.policy, state: transition.state.clone() });
        }
    }

    /// Stores the locks that begin with this refusal. Their keys have entries: only a count that was taken can be full.
    fn store_refusals(&mut self, charges: &[Charge], transitions: &[Transition<State>]) {
        for (charge, transition) in charges.iter().zip(transitions) {
            if charge.policy.stores_refusals()
                && !transition.decision.is_allowed()
                && self.find(charge.key).is_some()
            {
                let state = transition.state.clone();
                self.store(Entry { key: charge.key, policy: charge.policy, state });
            }
        }
    }

    /// Writes the state of a recorded key; an unknown one has nothing to change.
    fn overwrite(&mut self, charge: &Charge, state: State) {
        if let Some(entry) = self.find(charge.key).and_then(|position| self.entries.get_mut(position)) {
            *entry = Entry { key: charge.key, policy: charge.policy, state };
        }
    }

    /// Counts a check that passes without a record of some key; the refusal when there were too many.
    fn pass_unrecorded(&mut self, now: Timestamp) -> Option<Decision> {
        let never = Decision::Denied { remaining: 0, retry_after: None, reset_after: Duration::ZERO };
        let Some(policy) = self.unrecorded_policy else { return Some(never) };
        let transition = policy.check(self.unrecorded_state, now, 1);
        self.unrecorded_state = transition.state;
        if transition.decision.is_allowed() {
            self.unrecorded_checks = self.unrecorded_checks.saturating_add(1);
            return None;
        }
        Some(transition.decision)
    }

    fn judge(
        &self,
        charge: &Charge,
        now: Timestamp,
        cost: Cost,
        holder: Option<Holder>,
    ) -> Transition<State> {
        charge.policy.check_for(self.state_of(charge, now), now, cost, holder)
    }

    /// The state of a charge's key under the charge's policy; what another policy counted stays in use.
    fn state_of(&self, charge: &Charge, now: Timestamp) -> State {
        match self.find(charge.key).and_then(|position| self.entries.get(position)) {
            None => charge.policy.new_state(),
            Some(entry) if entry.policy == charge.policy => entry.state.clone(),
            Some(entry) => charge.policy.inherit(&entry.policy, entry.state.clone(), now, charge.inheritance),
        }
    }

    fn find(&self, key: KeyHash) -> Option<usize> {
        let is_here = |position: &usize| self.entries.get(*position).is_some_and(|entry| entry.key == key);
        self.positions.find(key.slot_hash(self.seed), is_here).copied()
    }

    /// Sweeps before `new_keys` come: a little always, more where they would not fit.
    fn make_room(&mut self, new_keys: usize, now: Timestamp) {
        self.sweep(new_keys.saturating_mul(ENTRIES_SWEPT_PER_NEW_KEY), now);
        for _ in 0..ENTRIES_SWEPT_WHEN_FULL {
            if self.entries.len().saturating_add(new_keys) <= self.capacity {
                break;
            }
            self.sweep(1, now);
        }
    }

    /// Writes an entry; a new one only while there is room.
    fn store(&mut self, entry: Entry) {
        if let Some(found) = self.find(entry.key).and_then(|position| self.entries.get_mut(position)) {
            *found = entry;
            return;
        }
        if self.entries.len() >= self.capacity {
            return;
        }
        let (entries, seed) = (&mut self.entries, self.seed);
        let (position, slot) = (entries.len(), entry.key.slot_hash(seed));
        entries.push(entry);
        let slot_of = |position: &usize| entries.get(*position).map_or(0, |entry| entry.key.slot_hash(seed));
        self.positions.insert_unique(slot, position, slot_of);
    }

    /// Removes the entry at `position`; the last one takes its place.
    fn remove(&mut self, position: usize) {
        let Some(removed) = self.entries.get(position).map(|entry| entry.key) else { return };
        if let Ok(found) =
            self.positions.find_entry(removed.slot_hash(self.seed), |candidate| *candidate == position)
        {
            found.remove();
        }
        self.entries.swap_remove(position);
        let Some(moved) = self.entries.get(position).map(|entry| entry.key) else { return };
        let last = self.entries.len();
        if let Some(found) =
            self.positions.find_mut(moved.slot_hash(self.seed), |candidate| *candidate == last)
        {
            *found = position;
        }
    }
}
