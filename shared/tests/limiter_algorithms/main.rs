//! What every algorithm promises, over histories that nobody chose: one policy, one key, a clock that also steps back.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod bounds;
mod cases;
mod histories;
mod inheritance;
mod models;
mod permits;
mod promises;
mod refunds;
mod tables;
mod worst_windows;
