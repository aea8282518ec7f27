//! Ordered maps and sets, filled one by one. `collect` sorts first, with a copy of the sort for every type: the Worker, which
//! has to start fast, does without.

use std::collections::{BTreeMap, BTreeSet};

/// The map of these pairs; of two with one key, the later one.
pub fn map<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(pairs);
    map
}

/// The set of these items.
pub fn set<K: Ord>(items: impl IntoIterator<Item = K>) -> BTreeSet<K> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}
