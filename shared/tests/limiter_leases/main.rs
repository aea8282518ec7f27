//! Quota leases: many nodes, one home, and what all of them together let pass.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod book;
mod bounds;
mod home;
mod world;
