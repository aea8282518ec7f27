//! The policies that count the keys of one table, each held once.

use crate::limiter::Policy;
use crate::limiter::key::fold;
use crate::time::micros;
use hashbrown::HashTable;

/// Where a policy is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PolicyId(u32);

/// Policies in use, counted by the entries that name them: no more than there are entries.
#[derive(Debug)]
pub(super) struct Policies {
    held: Vec<Held>,
    /// Places whose policy no entry names.
    free: Vec<PolicyId>,
    ids: HashTable<PolicyId>,
    /// The one that was asked for last, and most likely is next.
    latest: PolicyId,
}

#[derive(Debug)]
struct Held {
    policy: Policy,
    entries: u32,
}

impl Policies {
    pub(super) fn new() -> Self {
        Self { held: Vec::new(), free: Vec::new(), ids: HashTable::new(), latest: PolicyId(0) }
    }

    pub(super) fn get(&self, id: PolicyId) -> Option<&Policy> {
        self.held.get(id.place()).map(|held| &held.policy)
    }

    /// Notes that one more entry is counted by `policy`.
    pub(super) fn hold(&mut self, policy: &Policy) -> PolicyId {
        let is_latest =
            self.held.get(self.latest.place()).is_some_and(|held| held.entries > 0 && held.policy == *policy);
        let id = if is_latest { self.latest } else { self.id_of(policy) };
        if let Some(held) = self.held.get_mut(id.place()) {
            held.entries = held.entries.saturating_add(1);
        }
        self.latest = id;
        id
    }

    /// Notes that one entry less is counted by it.
    pub(super) fn release(&mut self, id: PolicyId) {
        let Some(held) = self.held.get_mut(id.place()) else { return };
        held.entries = held.entries.saturating_sub(1);
        if held.entries == 0 {
            if let Ok(found) = self.ids.find_entry(hash(&held.policy), |candidate| *candidate == id) {
                found.remove();
            }
            self.free.push(id);
        }
    }

    /// The place of a policy, a new one where it has none.
    fn id_of(&mut self, policy: &Policy) -> PolicyId {
        let held = &self.held;
        let is_it = |id: &PolicyId| held.get(id.place()).is_some_and(|held| held.policy == *policy);
        if let Some(id) = self.ids.find(hash(policy), is_it) {
            return *id;
        }
        let id = self.free.pop().unwrap_or(PolicyId(u32::try_from(self.held.len()).unwrap_or(u32::MAX)));
        let fresh = Held { policy: *policy, entries: 0 };
        match self.held.get_mut(id.place()) {
            Some(place) => *place = fresh,
            None => self.held.push(fresh),
        }
        let held = &self.held;
        let hash_of = |id: &PolicyId| held.get(id.place()).map_or(0, |held| hash(&held.policy));
        self.ids.insert_unique(hash(policy), id, hash_of);
        id
    }
}

impl PolicyId {
    fn place(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// Equal for equal policies. Nobody outside chooses policies, so it needs no secret.
fn hash(policy: &Policy) -> u64 {
    fold(policy.quota() ^ 0x9e37_79b9_7f4a_7c15, micros(policy.window()) ^ 0xd1b5_4a32_d192_ed03)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::lockout::LockoutPolicy;
    use core::time::Duration;

    /// All alike in quota and window, so that only equality tells them apart.
    fn policy(lock_s: u64) -> Policy {
        let lock = Duration::from_secs(lock_s);
        Policy::Lockout(LockoutPolicy::new(3, Duration::from_secs(1), lock).unwrap())
    }

    #[test]
    fn a_policy_is_held_once_and_its_place_is_used_again() {
        let mut policies = Policies::new();
        let ids: Vec<PolicyId> = (0..100).map(|lock| policies.hold(&policy(lock))).collect();
        for (lock, id) in (0..).zip(&ids) {
            assert_eq!(policies.hold(&policy(lock)), *id);
            assert_eq!(policies.get(*id), Some(&policy(lock)));
        }
        // Each has two entries: the first release leaves it, the second frees its place.
        for id in &ids {
            policies.release(*id);
        }
        assert_eq!(policies.hold(&policy(99)), ids[99]);
        policies.release(ids[99]);
        for id in &ids {
            policies.release(*id);
        }
        for lock in 1_000..1_100 {
            let id = policies.hold(&policy(lock));
            assert_eq!(policies.get(id), Some(&policy(lock)));
        }
        assert_eq!(policies.held.len(), 100);
    }
}
