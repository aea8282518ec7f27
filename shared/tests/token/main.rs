//! What tokens promise: whoever lacks the key cannot make or change one, and every byte lies where the layout says.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod device;
mod edge_signature;
mod fixtures;
mod keyring;
mod pass;
mod ticket;
mod vectors;
