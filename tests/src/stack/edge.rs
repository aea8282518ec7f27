//! The edge in `workerd`, as a guarded process.

use super::process::Process;
use anyhow::{Context, Result};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How to start an edge.
#[derive(Clone, Debug)]
pub struct EdgeSetup {
    pub workerd: PathBuf,
    pub bundle: PathBuf,
    /// The text of `fairgate.toml`.
    pub config: String,
    /// What `fairgate edge-keys` prints.
    pub keys: String,
    pub address: SocketAddr,
    /// Where its Durable Objects keep what must outlive them.
    pub data_dir: PathBuf,
    pub log: PathBuf,
    /// A path that answers with success once all is up.
    pub ready_path: String,
}

/// A running edge.
#[derive(Debug)]
pub struct Edge {
    pub address: SocketAddr,
    setup: EdgeSetup,
    process: Process,
}

impl Edge {
    /// Starts it and waits until it answers.
    pub async fn start(setup: EdgeSetup) -> Result<Self> {
        let process = spawn(&setup).await?;
        Ok(Self { address: setup.address, setup, process })
    }

    /// Ends it at this instant and starts it again over the same data, as a crash or a new version does.
    pub async fn restart(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process = spawn(&self.setup).await?;
        Ok(())
    }

    /// Fails when it has ended by itself.
    pub fn check_alive(&mut self) -> Result<()> {
        self.process.check_alive()
    }

    /// The end of what it printed.
    pub fn log_tail(&self) -> String {
        self.process.log_tail()
    }
}

async fn spawn(setup: &EdgeSetup) -> Result<Process> {
    let data_dir = &setup.data_dir;
    std::fs::create_dir_all(data_dir).with_context(|| format!("cannot make {}", data_dir.display()))?;
    let mut command = Command::new(&setup.workerd);
    command
        .arg("serve")
        .arg(setup.bundle.join("workerd.capnp"))
        .arg(format!("--socket-addr=http={}", setup.address))
        .arg(format!("--directory-path=limits={}", data_dir.display()))
        .env("FAIRGATE_CONFIG", &setup.config)
        .env("FAIRGATE_EDGE_KEYS", &setup.keys)
        .env("FAIRGATE_PLATFORM", "workerd");
    let mut process = Process::start("the edge", &command, &setup.log)?;
    let url = format!("http://localhost:{}{}", setup.address.port(), setup.ready_path);
    process.wait_for(&url, START_PATIENCE).await?;
    Ok(process)
}

/// The keys that the queue server gives to its edges; the first call makes its secrets.
pub fn edge_keys(queue_server: &PathBuf, data_dir: &PathBuf) -> Result<String> {
    let output = Command::new(queue_server).arg("edge-keys").arg("--data-dir").arg(data_dir).output();
    let output = output.with_context(|| format!("cannot run {}", queue_server.display()))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "the queue server gives no keys: {errors}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

const START_PATIENCE: Duration = Duration::from_secs(20);
