//! The real parts, started on free ports and stopped by guards: queue server, demo shop, edge.

pub mod config;
pub mod process;
pub mod queue_server;
pub mod run_dir;
