//! The limit service: policies of the configuration, applied for callers behind the edge.

pub mod redis;
mod store;

pub use store::{Answer, LimitStore, LimitStoreError, Timed};
