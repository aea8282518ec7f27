//! What a queue server bears: throughput beside the cheapest server of its kind, latencies under an open loop, memory for each buyer.

mod bare;
mod line;
mod open_loop;
mod run;
mod wire;

pub use bare::{BareOptions, serve as serve_bare};
pub use run::{Options, StoreKind, run};
