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
    progress.run("install the wasm target", Command::new("rustup").args(["target", "add", WASM_TARGET]))
}

/// Makes sure that cargo can format and lint.
pub(crate) fn components(progress: &Progress) -> Result<()> {
    for (program, component) in [("cargo-fmt", "rustfmt"), ("cargo-clippy", "clippy")] {
        if !starts(program) {
            require("rustup", "install Rust with rustup (https://rustup.rs)")?;
            let mut rustup = Command::new("rustup");
            progress.run(&format!("install {component}"), rustup.args(["component", "add", component]))?;
        }
    }
    Ok(())
}

/// Makes sure that a Chromium is there for the tests of the waiting page.
pub(crate) fn chromium(progress: &Progress) -> Result<()> {
    if ["chromium", "chromium-browser", "google-chrome"].into_iter().any(starts) {
        return Ok(());
    }
    install_package(progress, "chromium")
}

/// Makes sure that a Redis is there for the tests of limits, and Valkey where the distribution has it.
pub(crate) fn redis(progress: &Progress) -> Result<()> {
    if !starts("redis-server") {
        install_package(progress, "redis-server")?;
    }
    let has_valkey = || {
        let mut show = Command::new("apt-cache");
        show.args(["show", "valkey-server"]).stdout(Stdio::null()).stderr(Stdio::null());
        show.status().is_ok_and(|status| status.success())
    };
    if !starts("valkey-server") && is_root() && starts("apt-get") && has_valkey() {
        install_package(progress, "valkey-server")?;
    }
    Ok(())
}

/// Makes sure that an nginx is there for the conformance suite.
pub(crate) fn nginx(progress: &Progress) -> Result<()> {
    let mut version = Command::new("nginx");
    version.arg("-v").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if version.status().is_ok_and(|status| status.success()) {
        Ok(())
    } else {
        install_package(progress, "nginx")
    }
}

/// Installs a Debian package as root; others are told how.
fn install_package(progress: &Progress, package: &str) -> Result<()> {
    if !starts("apt-get") || !is_root() {
        bail!(
            "`{package}` was not found: run `sudo apt-get install -y {package}` or your system's like of it"
        );
    }
    let mut update = Command::new("apt-get");
    progress.run("apt-get update", update.args(["update", "-qq"]))?;
    let mut install = Command::new("apt-get");
    // As in single-user mode, so that a package starts no service: tests start their own on free ports.
    install.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
    install.args(["install", "-y", "-qq", "--no-install-recommends", package]);
    progress.run(&format!("apt-get install {package}"), &mut install)
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
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
