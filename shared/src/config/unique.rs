//! Names that may be given only once.

use super::section::Value;
use core::fmt::Display;
use std::collections::BTreeMap;

/// What was named so far, and where; lines are only counted for an error. Whatever is named goes by its text, because a
/// map for every type of name is a copy of the map's code in the Worker.
pub(super) struct Unique {
    offsets: BTreeMap<String, usize>,
}

impl Unique {
    pub(super) fn new() -> Self {
        Self { offsets: BTreeMap::new() }
    }

    /// Takes a name; notes an error at `value`, and is false, where it was taken before.
    pub(super) fn claim(&mut self, name: &dyn Display, value: &Value<'_>) -> bool {
        self.claim_shown(name.to_string(), name, value)
    }

    /// [`claim`](Self::claim) of what is told from others by more than an error shows of it.
    pub(super) fn claim_shown(&mut self, key: String, shown: &dyn Display, value: &Value<'_>) -> bool {
        if let Some(offset) = self.offsets.get(&key) {
            value.error(format!("{shown} is named on line {} already; name it once", value.line_of(*offset)));
            return false;
        }
        self.offsets.insert(key, value.offset());
        true
    }
}
