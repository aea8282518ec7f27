//! What a key that was counted by other settings brings along when the settings change.

use super::Cost;
use serde::{Deserialize, Serialize};

/// How much of the cost in use at the change stays in use; a lock stays in force unless the key is reset.
///
/// ```
/// use shared::limiter::Inheritance;
/// assert_eq!(Inheritance::Keep.carry(8, 10, 5), 5);
/// assert_eq!(Inheritance::Proportional.carry(8, 10, 5), 4);
/// assert_eq!(Inheritance::Reset.carry(8, 10, 5), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inheritance {
    /// The cost in use stays, as far as the new maximum holds it: 5 of 10 are 5 of 100.
    #[default]
    Keep,
    /// The share in use stays, rounded up: 5 of 10 are 50 of 100.
    Proportional,
    /// The key begins as new.
    Reset,
}

impl Inheritance {
    /// The cost in use under a maximum of `max`, of `used` under `previous_max`; never above `max`.
    pub fn carry(self, used: Cost, previous_max: Cost, max: Cost) -> Cost {
        match self {
            Self::Keep => used.min(max),
            Self::Reset => 0,
            Self::Proportional => {
                let scaled = u128::from(used).saturating_mul(u128::from(max));
                let previous_max = u128::from(previous_max.max(1));
                u64::try_from(scaled.div_ceil(previous_max)).unwrap_or(max).min(max)
            }
        }
    }
}
