//! The limit service: policies of the configuration, applied for callers behind the edge.

pub mod journal;
mod process;
pub mod redis;
mod store;

pub use process::ProcessStore;
pub use store::{Answer, LimitStore, LimitStoreError, Timed};
