//! Where the built parts lie. `cargo xtask build` puts them there.

use super::run_dir::{target_dir, workspace_root};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// What a stack runs.
#[derive(Clone, Debug)]
pub struct Programs {
    pub queue_server: PathBuf,
    pub workerd: PathBuf,
    /// The Worker: `workerd.capnp` and what it embeds.
    pub bundle: PathBuf,
}

impl Programs {
    /// The parts as they are meant to be.
    pub fn built() -> Result<Self> {
        Self::find("debug/fairgate", "cargo xtask build")
    }

    /// The same with a queue server that has faults compiled in, to be switched on one at a time.
    pub fn planted() -> Result<Self> {
        Self::find("plant/fairgate", "cargo xtask build --plant")
    }

    /// The parts as they are meant to be, but with a Worker that has faults compiled in.
    pub fn planted_edge() -> Result<Self> {
        let bundle = target_dir().join("edge-plant");
        anyhow::ensure!(bundle.exists(), "{} is missing: run `cargo xtask build --plant`", bundle.display());
        Ok(Self { bundle, ..Self::built()? })
    }

    fn find(queue_server: &str, remedy: &str) -> Result<Self> {
        let bundle = target_dir().join("edge");
        let parts = Self { queue_server: program(queue_server, remedy)?, workerd: workerd()?, bundle };
        let workerd = parts.bundle.join("workerd.capnp");
        anyhow::ensure!(workerd.exists(), "{} is missing: run `{remedy}`", workerd.display());
        Ok(parts)
    }
}

/// The queue server alone, as it is meant to be.
pub fn queue_server() -> Result<PathBuf> {
    program("debug/fairgate", "cargo xtask build")
}

/// The queue server alone, as it is deployed.
pub fn optimised_queue_server() -> Result<PathBuf> {
    program("release/fairgate", "cargo xtask load")
}

/// The queue server alone, with faults compiled in.
pub fn planted_queue_server() -> Result<PathBuf> {
    program("plant/fairgate", "cargo xtask build --plant")
}

fn program(name: &str, remedy: &str) -> Result<PathBuf> {
    let path = target_dir().join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    anyhow::ensure!(path.exists(), "{} is missing: run `{remedy}`", path.display());
    Ok(path)
}

/// The runtime itself, past the script that npm starts it with: a signal must reach the runtime and not its starter.
pub fn workerd() -> Result<PathBuf> {
    let scope = workspace_root().join("edge/node_modules/@cloudflare");
    let packages = std::fs::read_dir(&scope).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_runtime = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("workerd-") && program_of(path).exists()
    };
    let package = packages.into_iter().find(is_runtime);
    let package =
        package.with_context(|| format!("no workerd in {}: run `cargo xtask build`", scope.display()))?;
    Ok(program_of(&package))
}

fn program_of(package: &Path) -> PathBuf {
    package.join("bin").join(format!("workerd{}", std::env::consts::EXE_SUFFIX))
}
