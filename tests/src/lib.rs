//! Harness: the demo shop, guards that start and stop the real parts, and the rush.

pub mod rush;
pub mod shop;
