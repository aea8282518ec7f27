//! What one isolate remembers of refusals, so that a client that keeps knocking costs no call to the object that holds
//! its key.
//!
//! Forgetting a refusal frees nobody, because the object still knows it; so a flood may push refusals out, and memory
//! stays what it was.

use super::check::Charge;
use super::key::TableSeed;
use super::{Cost, Decision, Policy};
use crate::time::Timestamp;
use core::time::Duration;

/// Longest life of a remembered refusal: how long a key may stay refused here after its state was reset elsewhere.
pub const LIFE_MAX: Duration = Duration::from_secs(5);

/// Refusals that share one place in the cache.
const WAYS: usize = 4;

/// The refusals of up to `4 * sets` charges; about 110 bytes each.
#[derive(Debug)]
pub struct DenyCache {
    seed: TableSeed,
    slots: Vec<Option<Entry>>,
}

/// A refusal speaks for exactly its charge: another cost or another policy asks anew.
#[derive(Clone, Copy, Debug)]
struct Entry {
    charge: Charge,
    remaining: Cost,
    refused_at: Timestamp,
    forget_at: Timestamp,
    retry_at: Option<Timestamp>,
    reset_at: Timestamp,
}

const _: () = assert!(size_of::<Option<Entry>>() <= 120, "the memory of a cache is a promise");

impl DenyCache {
    /// An empty cache of `sets` times four refusals, at least four. Its memory is taken at once and never grows.
    pub fn new(sets: usize, seed: TableSeed) -> Self {
        Self { seed, slots: vec![None; sets.max(1).saturating_mul(WAYS)] }
    }

    /// The refusal that still stands for this charge, its waits counted from `now`; `None`: ask the object.
    ///
    /// `remaining` is what it was at the refusal, and the wait too: where a smaller cost passed since, it is longer in truth.
    pub fn lookup(&self, charge: &Charge, now: Timestamp) -> Option<Decision> {
        let start = self.set_start(charge);
        let set = self.slots.get(start..)?.iter().take(WAYS).flatten();
        let entry = set.into_iter().find(|entry| entry.charge == *charge && entry.stands(now))?;
        Some(Decision::Denied {
            remaining: entry.remaining,
            retry_after: entry.retry_at.map(|at| at.since(now)),
            reset_after: entry.reset_at.since(now),
        })
    }

    /// Remembers a refusal of this charge at `now`, for `retry_after` and at most [`LIFE_MAX`]; nothing else is kept.
    /// Neither is a refusal of a permit, which may be given back at any moment.
    pub fn remember(&mut self, charge: &Charge, decision: &Decision, now: Timestamp) {
        if matches!(charge.policy, Policy::Concurrency(_)) {
            return;
        }
        let Decision::Denied { remaining, retry_after, reset_after } = *decision else { return };
        let life = retry_after.map_or(LIFE_MAX, |wait| wait.min(LIFE_MAX));
        let entry = Entry {
            charge: *charge,
            remaining,
            refused_at: now,
            forget_at: now.saturating_add(life),
            retry_at: retry_after.map(|wait| now.saturating_add(wait)),
            reset_at: now.saturating_add(reset_after),
        };
        let start = self.set_start(charge);
        let set = self.slots.iter_mut().skip(start).take(WAYS);
        // The charge's own place, else one that is free or no longer stands, else the one forgotten soonest.
        let rank = |slot: &Option<Entry>| match slot {
            Some(held) if held.charge == *charge => (0, Timestamp::default()),
            Some(held) if held.stands(now) => (2, held.forget_at),
            _ => (1, Timestamp::default()),
        };
        if let Some(slot) = set.min_by_key(|slot| rank(slot)) {
            *slot = Some(entry);
        }
    }

    /// First slot of the set that holds this charge's key.
    fn set_start(&self, charge: &Charge) -> usize {
        let sets = u64::try_from(self.slots.len() / WAYS).unwrap_or(1);
        let set = charge.key.slot_hash(self.seed).checked_rem(sets).unwrap_or(0);
        usize::try_from(set).unwrap_or(0).saturating_mul(WAYS)
    }
}

impl Entry {
    /// A clock that stepped back before the refusal ends it too: its life was bounded by that clock.
    fn stands(&self, now: Timestamp) -> bool {
        self.refused_at <= now && now < self.forget_at
    }
}
