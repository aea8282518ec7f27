//! The tools of other people that we need, and what to do when one is missing.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::progress::Progress;

/// The target that the Worker is compiled to.
pub(crate) const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// Makes sure that the standard library for the Worker's target is installed.
pub(crate) fn wasm_target(progress: &Progress) -> Result<()> {
    if rustc_has(WASM_TARGET) {
        return Ok(());
    }
    require("rustup", "install Rust with rustup (https://rustup.rs)")?;
    progress.run("install the wasm target", Command::new("rustup").args(["target", "add", WASM_TARGET]))?;
    Ok(())
}

/// Fails with `advice` when `program` cannot be started.
pub(crate) fn require(program: &str, advice: &str) -> Result<()> {
    if !starts(program) {
        bail!("`{program}` was not found: {advice}, then run this again");
    }
    Ok(())
}

/// Whether `program` is there and runs.
pub(crate) fn starts(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn rustc_has(target: &str) -> bool {
    let output = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    output.is_ok_and(|output| std::path::Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}
