//! The health of a shop's server, and the capacity that follows it.
//!
//! Edges tell how long the server takes and which sessions saw errors ([`OriginSample`]). One controller for each server
//! ([`OriginHealth`]) makes a capacity of that, between bounds that the operator set, and [`Shares`] divides it among the
//! rooms of the server; [`SharedOrigin`] is all of it together. A cut throws nobody out: the load follows as sessions end.

mod health;
mod latency;
mod seats;
mod shares;

pub use health::{Advice, OriginHealth, OriginSettings, OriginState};
pub use latency::{LATENCY_BUCKETS, Latencies, OriginSample, latency_bucket};
pub use seats::SharedOrigin;
pub use shares::{RoomNeed, Shares};
