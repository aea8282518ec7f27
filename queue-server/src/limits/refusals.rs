//! The last refusals, to explain them: a ring of fixed size, whatever keys arrive.

use shared::{
    limiter::{Cost, key::KeyHash},
    time::Timestamp,
};
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// The last refusals of one server.
#[derive(Default)]
pub struct Refusals {
    last: Mutex<VecDeque<RefusalNote>>,
}

/// One refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalNote {
    pub at: Timestamp,
    pub key: KeyHash,
    pub policy: String,
    pub cost: Cost,
    /// `None`: the request could never pass.
    pub retry_after: Option<Duration>,
    /// The policy is in shadow: the request went on.
    pub is_shadow: bool,
}

/// Refusals remembered for all keys together: about 500 KB.
pub const REMEMBERED_MAX: usize = 4_096;

/// Refusals told of one key.
pub const TOLD_MAX: usize = 16;

impl Refusals {
    pub(super) fn note(&self, refusal: RefusalNote) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() >= REMEMBERED_MAX {
            last.pop_front();
        }
        last.push_back(refusal);
    }

    /// The last refusals of a key, the newest first.
    pub fn of(&self, key: KeyHash) -> Vec<RefusalNote> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.iter().rev().filter(|refusal| refusal.key == key).take(TOLD_MAX).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(refusals: &Refusals, key: u8, at: u64) {
        let key = KeyHash([key; 16]);
        let at = Timestamp::from_micros(at);
        let policy = "device".to_owned();
        refusals.note(RefusalNote { at, key, policy, cost: 1, retry_after: None, is_shadow: false });
    }

    #[test]
    fn the_newest_come_first_and_the_oldest_are_forgotten() {
        let refusals = Refusals::default();
        note(&refusals, 1, 0);
        (1..20).for_each(|at| note(&refusals, 2, at));
        assert_eq!(refusals.of(KeyHash([1; 16])).len(), 1);
        let told: Vec<u64> = refusals.of(KeyHash([2; 16])).iter().map(|note| note.at.as_micros()).collect();
        assert_eq!(told, (4..20).rev().collect::<Vec<_>>());
        (0..4_096 - 19).for_each(|at| note(&refusals, 3, at));
        assert_eq!(refusals.of(KeyHash([1; 16])), []);
        assert_eq!(refusals.of(KeyHash([2; 16])).len(), TOLD_MAX);
    }
}
