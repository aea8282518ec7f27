//! The queue server as a guarded process that can be paused, killed and started again over its data.

use super::process::Process;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
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
    pub plant: Option<&'static str>,
    /// More of its environment.
    pub env: Vec<(&'static str, String)>,
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
        // Who may write no more shall be told so, and not be ended by it.
        let mut command = Command::new("sh");
        command.args(["-c", r#"trap "" XFSZ; exec "$0" "$@""#]).arg(&setup.program);
        command.arg("serve").arg("--config").arg(&setup.config).arg("--data-dir").arg(&setup.data_dir);
        if let Some(fault) = setup.plant {
            command.env("FAIRGATE_PLANT", fault);
        }
        command.envs(setup.env.iter().map(|(name, value)| (name, value)));
        let mut process = Process::start("the queue server", &command, &setup.log)?;
        // A server whose clock is off takes every snapshot of another for old: it lives, and is not ready for edges.
        let is_off = setup.env.iter().any(|(name, _)| *name == CLOCK_AHEAD_S);
        let health = if is_off { "healthz" } else { "readyz" };
        process.wait_for(&format!("{}/{health}", self.url()), START_PATIENCE).await?;
        self.process = Some(process);
        Ok(())
    }

    /// `SIGTERM`, and waits until it has ended in order.
    pub async fn stop(&mut self) -> Result<()> {
        match self.process.take() {
            Some(process) => process.stop(STOP_PATIENCE).await,
            None => Ok(()),
        }
    }

    /// From its next start on its wall clock is so many seconds ahead, negative: behind. Heeded by planted programs.
    pub fn shift_clock(&mut self, ahead_s: i64) {
        self.setup.env.retain(|(name, _)| *name != CLOCK_AHEAD_S);
        self.setup.env.push((CLOCK_AHEAD_S, ahead_s.to_string()));
    }

    /// As if its disk were full: no file grows, until space returns.
    pub fn fill_disk(&self, is_full: bool) -> Result<()> {
        self.running()?.limit_files(is_full)
    }

    /// Bytes of memory that it has in use.
    pub fn memory_bytes(&self) -> Result<u64> {
        self.running()?.memory_bytes()
    }

    /// Fails when it has ended by itself.
    pub fn check_alive(&mut self) -> Result<()> {
        self.process.as_mut().map_or(Ok(()), Process::check_alive)
    }

    pub fn pause(&self) -> Result<()> {
        self.running()?.pause()
    }

    pub fn resume(&self) -> Result<()> {
        self.running()?.resume()
    }

    /// How many requests it has answered since its start, by route.
    pub async fn requests_by_route(&self) -> Result<BTreeMap<String, u64>> {
        let text = reqwest::get(format!("{}/metrics", self.url())).await?.error_for_status()?.text().await?;
        Ok(requests_by_route(&text))
    }

    fn running(&self) -> Result<&Process> {
        self.process.as_ref().context("the queue server does not run")
    }
}

fn requests_by_route(metrics: &str) -> BTreeMap<String, u64> {
    let mut routes = BTreeMap::new();
    for line in metrics.lines() {
        let Some(rest) = line.strip_prefix("fairgate_http_requests_total{") else { continue };
        let Some((labels, value)) = rest.split_once("} ") else { continue };
        let route = labels.split(',').find_map(|label| label.strip_prefix("route=\"")?.strip_suffix('"'));
        let value = value.split(' ').next().and_then(|value| value.parse::<u64>().ok());
        if let (Some(route), Some(value)) = (route, value) {
            *routes.entry(route.to_owned()).or_default() += value;
        }
    }
    routes
}

const START_PATIENCE: Duration = Duration::from_secs(15);
const STOP_PATIENCE: Duration = Duration::from_secs(10);
const CLOCK_AHEAD_S: &str = "FAIRGATE_CLOCK_AHEAD_S";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_from_the_metrics() {
        let text = "# TYPE fairgate_http_requests counter\n\
            fairgate_http_requests_total{route=\"join\",status=\"201\"} 7\n\
            fairgate_http_requests_total{route=\"join\",status=\"429\"} 2\n\
            fairgate_http_requests_total{route=\"snapshot\",status=\"200\"} 5\n\
            fairgate_joins_total{event=\"drop\"} 7\n";
        let routes: Vec<_> = requests_by_route(text).into_iter().collect();
        assert_eq!(routes, [("join".to_owned(), 9), ("snapshot".to_owned(), 5)]);
    }
}
