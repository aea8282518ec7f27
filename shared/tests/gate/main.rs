//! The gate: who asks, which limits bind, whether a request may go on.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod admission;
mod buyer;
mod fixtures;
mod limits;
mod plan;
