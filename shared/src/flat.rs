//! Small ordered maps as sorted lists. A tree brings some five kilobytes of code for every type that it holds, and the
//! Worker has to start fast: what has a few hundred entries at most lies in one of these.

pub use litemap::LiteMap;

/// The map of these pairs; of two with one key, the later one.
pub fn map<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> LiteMap<K, V> {
    let mut map = LiteMap::new();
    for (key, value) in pairs {
        map.insert(key, value);
    }
    map
}

/// The value of `key`, which is the default one where there was none.
///
/// ```
/// use shared::flat::{self, LiteMap};
/// let mut counts = LiteMap::<&str, u64>::new();
/// *flat::entry(&mut counts, &"joined") += 2;
/// *flat::entry(&mut counts, &"joined") += 1;
/// assert_eq!(counts.get("joined"), Some(&3));
/// ```
pub fn entry<'m, K: Ord + Clone, V: Default>(map: &'m mut LiteMap<K, V>, key: &K) -> &'m mut V {
    if !map.contains_key(key) {
        map.insert(key.clone(), V::default());
    }
    &mut map[key]
}
