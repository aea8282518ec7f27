//! Parity: limits on real Redis and Valkey servers against `shared`, equal without tolerance; and what only a server can
//! show: concurrent calls, forgotten scripts, expiry, a kill, a cluster, a failover.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;
mod failures;
mod gathered;
mod histories;
mod ledger;
mod parity;
mod promises;
mod stored;
