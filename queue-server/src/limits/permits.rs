//! Callers who wait for a permit: a bounded queue for each key, oldest or newest first.
//!
//! Whoever goes away frees their place. While somebody waits, a permit that comes free is theirs: others queue behind them.

use shared::{limiter::key::KeyHash, wire::limits::WaitOrder};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::Notify;

/// The queues of one server.
#[derive(Default)]
pub struct Permits {
    queues: Mutex<Queues>,
}

#[derive(Default)]
struct Queues {
    by_key: BTreeMap<KeyHash, VecDeque<Waiter>>,
    waiting: usize,
    next_id: u64,
}

/// Ids order nothing: the first of a queue is next.
struct Waiter {
    id: u64,
    wake: Arc<Notify>,
}

/// A place in the queue of a key, given up when it is dropped.
pub(super) struct Place<'a> {
    permits: &'a Permits,
    key: KeyHash,
    id: u64,
    wake: Arc<Notify>,
}

/// The queue of this key, or of all keys together, takes nobody more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueFull;

/// Most callers who wait for one key.
pub const WAITERS_OF_KEY_MAX: usize = 256;

/// Most callers who wait at all: they must not use up the requests that a server takes on.
pub const WAITERS_MAX: usize = 2_048;

impl Permits {
    /// Queues up for `key`.
    pub(super) fn join(&self, key: KeyHash, order: WaitOrder) -> Result<Place<'_>, QueueFull> {
        let mut queues = self.queues();
        let queue_len = queues.by_key.get(&key).map_or(0, VecDeque::len);
        if queue_len >= WAITERS_OF_KEY_MAX || queues.waiting >= WAITERS_MAX {
            return Err(QueueFull);
        }
        queues.waiting += 1;
        queues.next_id += 1;
        let (id, wake) = (queues.next_id, Arc::new(Notify::new()));
        let waiter = Waiter { id, wake: Arc::clone(&wake) };
        let queue = queues.by_key.entry(key).or_default();
        match order {
            WaitOrder::OldestFirst => queue.push_back(waiter),
            WaitOrder::NewestFirst => queue.push_front(waiter),
        }
        Ok(Place { permits: self, key, id, wake })
    }

    /// Whether somebody waits for the key.
    pub(super) fn is_waited_for(&self, key: KeyHash) -> bool {
        self.queues().by_key.contains_key(&key)
    }

    /// A permit of the key may be free: whoever is next looks.
    pub(super) fn wake(&self, key: KeyHash) {
        if let Some(next) = self.queues().by_key.get(&key).and_then(VecDeque::front) {
            next.wake.notify_one();
        }
    }

    fn queues(&self) -> std::sync::MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place<'_> {
    /// Ends when it is worth a look. A wake that came before is not lost.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Whether nobody is before this place.
    pub(super) fn is_next(&self) -> bool {
        let queues = self.permits.queues();
        queues.by_key.get(&self.key).and_then(VecDeque::front).is_some_and(|waiter| waiter.id == self.id)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut queues = self.permits.queues();
        let Some(queue) = queues.by_key.get_mut(&self.key) else { return };
        queue.retain(|waiter| waiter.id != self.id);
        // Whoever left may have been told of a permit, and more than one may be free.
        match queue.front() {
            Some(next) => next.wake.notify_one(),
            None => drop(queues.by_key.remove(&self.key)),
        }
        queues.waiting = queues.waiting.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: KeyHash = KeyHash([1; 16]);

    #[test]
    fn the_order_is_what_was_asked_and_a_place_is_freed() {
        let permits = Permits::default();
        let first = permits.join(KEY, WaitOrder::OldestFirst).unwrap();
        let second = permits.join(KEY, WaitOrder::OldestFirst).unwrap();
        let newest = permits.join(KEY, WaitOrder::NewestFirst).unwrap();
        assert_eq!([&first, &second, &newest].map(Place::is_next), [false, false, true]);
        drop(newest);
        assert_eq!([&first, &second].map(Place::is_next), [true, false]);
        drop(first);
        assert!(second.is_next() && permits.is_waited_for(KEY));
        drop(second);
        assert!(!permits.is_waited_for(KEY));
        assert_eq!(permits.queues().waiting, 0);
    }

    #[test]
    fn a_full_queue_takes_nobody_more() {
        let permits = Permits::default();
        let mut places = Vec::new();
        for _ in 0..WAITERS_OF_KEY_MAX {
            places.push(permits.join(KEY, WaitOrder::OldestFirst).unwrap());
        }
        assert!(permits.join(KEY, WaitOrder::OldestFirst).is_err());
        for key in 2..=8 {
            for _ in 0..WAITERS_OF_KEY_MAX {
                places.push(permits.join(KeyHash([key; 16]), WaitOrder::OldestFirst).unwrap());
            }
        }
        assert_eq!(places.len(), WAITERS_MAX);
        assert!(permits.join(KeyHash([9; 16]), WaitOrder::OldestFirst).is_err());
        places.pop();
        assert!(permits.join(KeyHash([9; 16]), WaitOrder::OldestFirst).is_ok());
    }
}
