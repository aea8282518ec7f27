//! The command `fairgate`.

use clap::Parser;
use queue_server::command::Command;
use std::{
    io::{self, IsTerminal, Write},
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
    match Command::parse().run().and_then(print) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fairgate: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whoever reads it may have seen enough before the end, as `head` does: that is no failure.
fn print(said: String) -> anyhow::Result<()> {
    match io::stdout().write_all(said.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
