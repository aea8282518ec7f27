//! The queue server as a guarded process that can be paused, killed and started again over its data.

use super::process::Process;
use super::run_dir::{target_dir, workspace_root};
use anyhow::{Context, Result};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How to start a queue server.
#[derive(Clone, Debug)]
pub struct QueueServerSetup {
    pub program: PathBuf,
    pub config: PathBuf,
    pub data_dir: PathBuf,
    pub log: PathBuf,
    pub address: SocketAddr,
    /// A fault to plant; the program must be built with the feature `plant`.
    pub plant: Option<String>,
}

/// A queue server, running or killed.
#[derive(Debug)]
pub struct QueueServer {
    setup: QueueServerSetup,
    process: Option<Process>,
}

impl QueueServer {
    /// Starts it and waits until it is ready.
    pub async fn start(setup: QueueServerSetup) -> Result<Self> {
        let mut server = Self { setup, process: None };
        server.restart().await?;
        Ok(server)
    }

    /// Its own address, past the edge.
    pub fn url(&self) -> String {
        format!("http://{}", self.setup.address)
    }

    /// `SIGKILL`; its data stays as it lay.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Starts it again over the same data, ending the one that runs.
    pub async fn restart(&mut self) -> Result<()> {
        self.process = None;
        let setup = &self.setup;
        let mut command = Command::new(&setup.program);
        command.arg("serve").arg("--config").arg(&setup.config).arg("--data-dir").arg(&setup.data_dir);
        if let Some(fault) = &setup.plant {
            command.env("FAIRGATE_PLANT", fault);
        }
        let mut process = Process::start("the queue server", command, &setup.log)?;
        process.wait_for(&format!("{}/readyz", self.url()), START_PATIENCE).await?;
        self.process = Some(process);
        Ok(())
    }

    pub fn pause(&self) -> Result<()> {
        self.running()?.pause()
    }

    pub fn resume(&self) -> Result<()> {
        self.running()?.resume()
    }

    fn running(&self) -> Result<&Process> {
        self.process.as_ref().context("the queue server does not run")
    }
}

/// Builds the queue server and returns its program; `planted` builds the one with faults to switch on, in a target of its own.
pub fn build_queue_server(planted: bool) -> Result<PathBuf> {
    let target = if planted { target_dir().join("plant") } else { target_dir() };
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(workspace_root())
        .args(["build", "--quiet", "--package", "fairgate-queue-server", "--bin", "fairgate", "--target-dir"])
        .arg(&target);
    if planted {
        command.args(["--features", "plant"]);
    }
    let status = command.status().context("cannot run cargo")?;
    anyhow::ensure!(status.success(), "the queue server does not build");
    Ok(program_in(&target))
}

fn program_in(target: &Path) -> PathBuf {
    target.join("debug").join(format!("fairgate{}", std::env::consts::EXE_SUFFIX))
}

const START_PATIENCE: Duration = Duration::from_secs(15);
