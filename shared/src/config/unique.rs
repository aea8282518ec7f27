//! Names that may be given only once.

use super::section::Value;
use core::fmt::Display;
use std::collections::BTreeMap;

/// What was named so far, and where; lines are only counted for an error.
pub(super) struct Unique<K> {
    offsets: BTreeMap<K, usize>,
}

impl<K: Ord> Unique<K> {
    pub(super) fn new() -> Self {
        Self { offsets: BTreeMap::new() }
    }

    /// Takes a name; notes an error at `value`, and is false, where it was taken before.
    pub(super) fn claim(&mut self, key: K, shown: impl Display, value: &Value<'_>) -> bool {
        if let Some(offset) = self.offsets.get(&key) {
            value.error(format!("{shown} is named on line {} already; name it once", value.line_of(*offset)));
            return false;
        }
        self.offsets.insert(key, value.offset());
        true
    }
}
