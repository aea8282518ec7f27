//! Pinned npm packages: installed by `npm ci` when the lock file changed.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::progress::Progress;
use crate::tools;

/// Installs what `directory/package-lock.json` pins, unless that is already there.
pub(crate) fn install(progress: &Progress, directory: &Path) -> Result<()> {
    let lock = directory.join("package-lock.json");
    let wanted = fs::read(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let stamp = directory.join("node_modules/.fairgate-lock.json");
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let advice = "install Node.js 18 or newer, which brings npm (https://nodejs.org)";
    tools::require("node", advice)?;
    tools::require("npm", advice)?;
    let name = format!("npm ci in {}", directory.file_name().unwrap_or_default().display());
    // Install scripts only fetch what the optional packages of each platform already hold.
    let mut npm = Command::new("npm");
    npm.current_dir(directory).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    progress
        .run(&name, &mut npm)
        .context("npm could not install the pinned tools: is its registry reachable?")?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}
