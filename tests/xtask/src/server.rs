//! Builds the queue server.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::progress::Progress;
use crate::worker::Faults;
use crate::workspace;

/// Builds the queue server and returns the program: `target/debug/fairgate`, or `target/plant/fairgate` with planted faults.
pub(crate) fn build(progress: &Progress, faults: Faults) -> Result<PathBuf> {
    let program = workspace::target().join("debug/fairgate");
    match faults {
        Faults::None => {
            progress.run("build the queue server", &mut workspace::cargo(&["build", PACKAGE, US]))?;
            Ok(program)
        }
        Faults::Planted => {
            let mut cargo =
                workspace::cargo(&["build", PACKAGE, US, "--features=fairgate-queue-server/plant"]);
            progress.run("build the queue server with planted faults", &mut cargo)?;
            // Cargo gives both variants one name; the next build without faults puts its own there.
            let planted = workspace::target().join("plant/fairgate");
            fs::create_dir_all(workspace::target().join("plant"))?;
            fs::copy(&program, &planted).with_context(|| format!("cannot write {}", planted.display()))?;
            Ok(planted)
        }
    }
}

/// Builds the queue server as it is deployed, and the cheapest server of its kind, whose program is returned.
pub(crate) fn build_optimised(progress: &Progress) -> Result<PathBuf> {
    let mut cargo = workspace::cargo(&["build", "--release", PACKAGE, "--bins", "--example=bare"]);
    progress.run("build the queue server as it is deployed", &mut cargo)?;
    Ok(workspace::target().join("release/examples/bare"))
}

const PACKAGE: &str = "--package=fairgate-queue-server";

/// Named too, so that cargo chooses the features of dependencies as it did for this program, and compiles none of them again.
const US: &str = "--package=xtask";
