//! The command `fairgate`.

use clap::Parser;
use mimalloc::MiMalloc;
use queue_server::command::Command;
use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};
use tracing_subscriber::EnvFilter;

/// A request allocates some sixty times, and the system's allocator takes a fifth of its time.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    start_log();
    match Command::parse().run().and_then(|said| print(&said)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fairgate: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start_log() {
    let filter = EnvFilter::try_from_env("FAIRGATE_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        // A log on a full disk would otherwise be told on the same disk, and end the thread that tells it.
        .log_internal_errors(false);
    if std::env::var("FAIRGATE_LOG_FORMAT").is_ok_and(|format| format == "json") {
        log.json().init();
    } else {
        log.init();
    }
}

/// Whoever reads it may have seen enough before the end, as `head` does: that is no failure.
fn print(said: &str) -> anyhow::Result<()> {
    match io::stdout().write_all(said.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
