//! The limit service: policies of the configuration, applied for callers behind the edge.
//!
//! [`Limits`] takes a sound request (`asked`) through its store (`home`), which is this process (`process`, written through
//! by `journal`) or Redis, where hot keys may be `leased`, and says what came of it (`outcome`). [`Live`] is what is in force.

mod asked;
mod home;
pub mod journal;
mod leased;
mod live;
mod noting;
mod outcome;
pub mod permits;
mod process;
pub mod receipts;
pub mod redis;
pub mod refusals;
mod remote;
mod service;
mod store;
mod taking;

pub use asked::AskError;
pub(crate) use asked::Asked;
pub use home::{Home, Misconfigured};
pub use live::{BeyondStore, InForce, Live, OVERRIDES_MAX, OverrideRefusal};
pub use outcome::Outcome;
pub use process::ProcessStore;
pub(crate) use service::key_of;
pub use service::{Limits, LimitsError};
pub use store::{Answer, BUDGET, LimitStore, LimitStoreError, Timed};

/// Keys that one process holds: at about 100 bytes each.
pub const KEYS_MAX: usize = 500_000;
