//! `cargo xtask bench limits`.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use tests::redis::RedisServer;

use super::{Figure, wasm};
use crate::progress::Progress;
use crate::{tools, workspace};

/// Every figure of the limiters. Each part is timed while nothing else of ours runs.
pub(crate) fn figures(progress: &Progress, rounds: usize) -> Result<Vec<Figure>> {
    progress
        .run("compile the benchmarks", &mut workspace::cargo(&["build", "--release", "--package=bench"]))?;
    let module = wasm::build(progress)?;
    let rounds_text = rounds.to_string();
    let mut figures = Vec::new();
    for (part, rounds) in
        [("keyed", &*rounds_text), ("layers", &*rounds_text), ("flood", "5"), ("memory", "1")]
    {
        figures.extend(progress.step(part, || native(&[part, rounds]))?);
    }
    figures.push(progress.step("wasm", || wasm::figure(&module, rounds))?);
    tools::redis(progress)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let server = runtime.block_on(RedisServer::start())?;
    figures.extend(progress.step("redis", || native(&["redis", &rounds_text, &server.url()]))?);
    Ok(figures)
}

/// The figures that the native program prints for a part, one a line.
fn native(arguments: &[&str]) -> Result<Vec<Figure>> {
    let lines = run(Command::new(workspace::target().join("release/bench")).args(arguments))?;
    lines.lines().map(|line| serde_json::from_str(line).context("not a figure")).collect()
}

/// What a program prints.
pub(super) fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
