//! Harness: the demo shop, guards that start and stop the real parts, and the rush.

pub mod chaos;
pub mod device;
pub mod load;
pub mod proxy;
pub mod redis;
pub mod rush;
pub mod shop;
pub mod stack;
