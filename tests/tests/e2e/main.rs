//! End to end: the real queue server, the real Worker in `workerd`, the demo shop, over HTTP.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod browser;
mod edge_faults;
mod empty_line;
mod fixtures;
mod forged_headers;
mod hostile;
mod key_state;
mod limit_faults;
mod limit_homes;
mod limits;
mod live_configuration;
mod members;
mod origin_check;
mod permits;
mod polls;
mod raw;
mod rush;
mod sieve;
mod thread;
mod worker_panic;
