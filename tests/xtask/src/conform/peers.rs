//! Other people's limiters: how their adapters are built and started.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Name;
use crate::progress::Progress;
use crate::{npm, tools, workspace};

/// Builds what the adapter of `peer` needs, and says how it is started.
pub(super) fn prepare(progress: &Progress, peer: Name) -> Result<Command> {
    match peer {
        Name::Governor => rust(progress, "governor"),
        Name::Throttlecrab => rust(progress, "throttlecrab"),
        Name::RedisCell => beside_its_library(rust(progress, "redis-cell")?),
        Name::Limitador => moved_by_hand(progress, rust(progress, "limitador")?),
        Name::RateLimiterFlexible => node(progress, "node/rate-limiter-flexible.mjs"),
        Name::ExpressRateLimit => node(progress, "node/express-rate-limit.mjs"),
        Name::Nginx => {
            tools::nginx(progress)?;
            let mut command = node_script("nginx/nginx.mjs")?;
            command.arg(clock(progress)?);
            Ok(command)
        }
        _ => bail!("there is no adapter"),
    }
}

/// An adapter in Rust: a workspace of its own with its own lock file, so that what it is made of is nobody else's.
fn rust(progress: &Progress, program: &str) -> Result<Command> {
    let manifest = peers().join("rust/Cargo.toml");
    let mut cargo = workspace::cargo(&["build", "--locked", "--bin", program, "--manifest-path"]);
    cargo.arg(&manifest).arg("--target-dir").arg(built());
    progress.run(&format!("build the adapter of {program}"), &mut cargo)?;
    Ok(Command::new(built().join("debug").join(program)))
}

fn node(progress: &Progress, script: &str) -> Result<Command> {
    npm::install(progress, &peers().join("node"))?;
    node_script(script)
}

fn node_script(script: &str) -> Result<Command> {
    tools::require("node", "install Node.js 18 or newer (https://nodejs.org)")?;
    let mut command = Command::new("node");
    command.arg(peers().join(script));
    Ok(command)
}

/// redis-cell is published as a dynamic library only, which is found here, and with it Rust's own.
fn beside_its_library(mut command: Command) -> Result<Command> {
    let output =
        Command::new("rustc").args(["--print", "target-libdir"]).output().context("cannot run rustc")?;
    let rust = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let path = std::env::join_paths([built().join("debug/deps"), rust])?;
    command.env("LD_LIBRARY_PATH", path);
    Ok(command)
}

/// An adapter whose limiter reads the system's clock itself: it gets one that the adapter moves.
fn moved_by_hand(progress: &Progress, mut command: Command) -> Result<Command> {
    let time = built().join("limitador.clock");
    fs::write(&time, [0; 8]).with_context(|| format!("cannot write {}", time.display()))?;
    command.env("LD_PRELOAD", clock(progress)?).env("CONFORM_CLOCK", time);
    Ok(command)
}

/// The library that puts such a clock under a program.
fn clock(progress: &Progress) -> Result<PathBuf> {
    tools::require("cc", "install a C compiler, which Rust links with too")?;
    fs::create_dir_all(built())?;
    let library = built().join("clock.so");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .arg(&library)
        .arg(peers().join("clock/clock.c"));
    progress.run("compile the clock", &mut compiler)?;
    Ok(library)
}

fn built() -> PathBuf {
    workspace::target().join("conform/peers")
}

fn peers() -> PathBuf {
    workspace::root().join("tests/conform/peers")
}
