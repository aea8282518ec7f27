//! What a queue server bears: throughput beside the cheapest server of its kind, latencies under an open loop, memory for each buyer.

mod line;
mod mark;
mod memory;
mod open_loop;
mod run;
mod wire;

pub use run::{Measured, Options, StoreKind, run};
