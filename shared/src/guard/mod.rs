//! What protects a caller from a dependency that fails.

pub mod breaker;
