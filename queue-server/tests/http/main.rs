//! The real router, on the memory store and a clock that moves by hand: every call, every refusal.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod browser;
mod codes;
mod door;
mod edge;
mod hostile;
mod join;
mod limits;
mod member;
mod metrics;
mod openapi;
mod operations;
mod operator;
mod origins;
mod page;
mod service;
mod session;
