//! The limit service over HTTP: the real router, a clock that moves by hand, and stores that can be broken.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod admin;
mod check;
mod client;
mod failure;
#[path = "../stores/full_disk.rs"]
mod full_disk;
mod hostile;
mod journal;
mod kill;
mod leases;
mod permits;
mod reload;
mod server;
