//! The limit service: policies of the configuration, applied for callers behind the edge.

mod store;

pub use store::{Answer, KeyState, LimitStore, LimitStoreError, Timed};
