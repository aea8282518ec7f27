//! Several queue servers with the same keys over one Redis, without an edge.

use super::config::{Addresses, DemoConfig};
use super::edge::edge_keys;
use super::programs;
use super::queue_server::{QueueServer, QueueServerSetup};
use super::run_dir::RunDir;
use anyhow::{Context, Result, ensure};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What to start.
#[derive(Clone, Debug)]
pub struct FleetSetup {
    pub servers: usize,
    pub config: DemoConfig,
    pub redis_url: String,
    /// Replicas that must have a change before its answer leaves.
    pub replicas: u32,
    /// Each server keeps its own rooms in its data directory instead.
    pub embedded: bool,
    /// A fault to plant in every server; the programs must be built with planted faults.
    pub plant: Option<&'static str>,
}

/// The servers, running. They are dropped before their directory.
#[derive(Debug)]
pub struct Fleet {
    pub servers: Vec<QueueServer>,
    pub addresses: Vec<SocketAddr>,
    pub client: reqwest::Client,
    pub dir: RunDir,
    config: DemoConfig,
}

impl FleetSetup {
    /// Three servers with the demo's rooms.
    pub fn demo(redis_url: String) -> Result<Self> {
        Ok(Self {
            servers: 3,
            config: DemoConfig::read()?,
            redis_url,
            replicas: 0,
            embedded: false,
            plant: None,
        })
    }
}

impl Fleet {
    /// Starts them and waits until one leads and all are ready.
    pub async fn start(setup: FleetSetup) -> Result<Self> {
        let program = match setup.plant {
            None => programs::queue_server()?,
            Some(_) => programs::planted_queue_server()?,
        };
        let dir = RunDir::create("fleet")?;
        let addresses = free_addresses(setup.servers)?;
        let first_data = dir.path().join("data-0");
        edge_keys(&program, &first_data)?;
        let client = reqwest::Client::builder().timeout(ANSWER_TIMEOUT).build()?;
        let config = setup.config;
        let mut fleet = Self { servers: Vec::new(), addresses: addresses.clone(), client, dir, config };
        if setup.embedded {
            fleet.configure("")?;
        } else {
            fleet.configure(&redis_store(&setup.redis_url, setup.replicas))?;
        }
        for (nth, address) in addresses.into_iter().enumerate() {
            let (config, data_dir) = (fleet.config_file(nth), fleet.data_dir(nth));
            share_keys(&first_data, &data_dir)?;
            let log = fleet.dir.path().join(format!("server-{nth}.log"));
            let (program, plant) = (program.clone(), setup.plant);
            let setup = QueueServerSetup { program, config, data_dir, log, address, plant };
            fleet.servers.push(QueueServer::start(setup).await?);
        }
        if !setup.embedded {
            fleet.leader_among(|_| true).await?;
        }
        Ok(fleet)
    }

    /// From their next start on the servers keep their rooms in this Redis.
    pub fn keep_in(&self, redis_url: &str) -> Result<()> {
        self.configure(&redis_store(redis_url, 0))
    }

    pub fn config_file(&self, nth: usize) -> PathBuf {
        self.dir.path().join(format!("fairgate-{nth}.toml"))
    }

    pub fn data_dir(&self, nth: usize) -> PathBuf {
        self.dir.path().join(format!("data-{nth}"))
    }

    /// Writes every server's file, with `store` behind it.
    fn configure(&self, store: &str) -> Result<()> {
        for (nth, address) in self.addresses.iter().enumerate() {
            let mut config = self.config.clone();
            config.place(Addresses { edge: *address, queue_server: *address, shop: *address })?;
            config.append(store)?;
            std::fs::write(self.config_file(nth), config.to_text()?)?;
        }
        Ok(())
    }

    /// The index of a server that leads, waited for; only servers for which `may` holds are asked.
    pub async fn leader_among(&self, may: impl Fn(usize) -> bool) -> Result<usize> {
        let asked = Instant::now();
        loop {
            for nth in (0..self.addresses.len()).filter(|nth| may(*nth)) {
                if self.term(nth).await.unwrap_or(0) > 0 {
                    return Ok(nth);
                }
            }
            ensure!(asked.elapsed() < LEAD_PATIENCE, "nobody leads");
            tokio::time::sleep(ASK_EVERY).await;
        }
    }

    /// The term that a server has the rooms of, 0: none.
    pub async fn term(&self, nth: usize) -> Result<u64> {
        let address = self.addresses.get(nth).context("no such server")?;
        let asked = self.client.get(format!("http://{address}/leadz")).timeout(PROBE_TIMEOUT);
        Ok(asked.send().await?.text().await?.trim().parse()?)
    }
}

fn redis_store(url: &str, replicas: u32) -> String {
    format!("[store]\nkind = \"redis\"\nurl = \"{url}\"\nreplicas = {replicas}\n")
}

/// Every server seals and opens the same tickets.
fn share_keys(from: &Path, to: &Path) -> Result<()> {
    if from != to {
        std::fs::create_dir_all(to)?;
        // A copy keeps the permissions, which let nobody else read it.
        std::fs::copy(from.join(KEYS), to.join(KEYS)).context("cannot copy the keys")?;
    }
    Ok(())
}

fn free_addresses(count: usize) -> Result<Vec<SocketAddr>> {
    let held: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect::<Result<_, _>>()?;
    Ok(held.iter().map(TcpListener::local_addr).collect::<Result<_, _>>()?)
}

const KEYS: &str = "keys.toml";
const ANSWER_TIMEOUT: Duration = Duration::from_secs(6);
const PROBE_TIMEOUT: Duration = Duration::from_millis(200);
const LEAD_PATIENCE: Duration = Duration::from_secs(20);
const ASK_EVERY: Duration = Duration::from_millis(20);
