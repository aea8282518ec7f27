//! The command `fairgate`.

use clap::Parser;
use queue_server::command::Command;
use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_env("FAIRGATE_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        .init();
    match Command::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fairgate: {error:#}");
            ExitCode::FAILURE
        }
    }
}
