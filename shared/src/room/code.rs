//! What a room knows of one invitation code.

use crate::ids::LaneId;
use serde::{Deserialize, Serialize};

/// One code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    pub(super) lane: LaneId,
    /// Buyers that it lets into the lane, one after another or together.
    pub(super) uses: u32,
    /// Uses that ended in success.
    pub(super) spent: u32,
}
