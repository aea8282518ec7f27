//! The command `fairgate`.

use clap::Parser;
use mimalloc::MiMalloc;
use queue_server::{command::Command, traces::Traces};
use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};
use tracing::Metadata;
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{FilterExt, filter_fn},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// A request allocates some sixty times, and the system's allocator takes a fifth of its time.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fairgate: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    let traces = if command.serves() { Traces::from_env()? } else { None };
    start_log(traces.as_ref());
    let said = command.run();
    if let Some(traces) = traces {
        traces.close();
    }
    print(&said?)
}

fn start_log(traces: Option<&Traces>) {
    let wanted = EnvFilter::try_from_env("FAIRGATE_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt::layer()
        .with_target(false)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        // A log on a full disk would otherwise be told on the same disk, and end the thread that tells it.
        .log_internal_errors(false);
    let is_json = std::env::var("FAIRGATE_LOG_FORMAT").is_ok_and(|format| format == "json");
    let lines = if is_json { lines.json().boxed() } else { lines.boxed() };
    let lines = lines.with_filter(wanted.and(filter_fn(is_line)));
    tracing_subscriber::registry().with(lines).with(traces.map(Traces::layer)).init();
}

/// Spans are for the collector alone.
fn is_line(metadata: &Metadata<'_>) -> bool {
    metadata.is_event()
}

/// Whoever reads it may have seen enough before the end, as `head` does: that is no failure.
fn print(said: &str) -> anyhow::Result<()> {
    match io::stdout().write_all(said.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
