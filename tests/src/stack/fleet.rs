//! Several queue servers with the same keys over one Redis, without an edge.

use super::access::access_key;
use super::config::{Addresses, DemoConfig};
use super::edge::{Edge, EdgeSetup, edge_keys};
use super::programs::{self, Programs};
use super::queue_server::{QueueServer, QueueServerSetup};
use super::run_dir::RunDir;
use crate::proxy::Proxy;
use anyhow::{Context, Result, ensure};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What to start.
#[derive(Clone, Debug)]
pub struct FleetSetup {
    pub servers: usize,
    pub config: DemoConfig,
    pub redis_url: String,
    /// Where each server reaches it, if not all by that URL.
    pub wires: Vec<String>,
    /// Replicas that must have a change before its answer leaves.
    pub replicas: u32,
    /// Each server keeps its own rooms in its data directory instead.
    pub embedded: bool,
    /// A fault to plant in every server; the programs must be built with planted faults.
    pub plant: Option<&'static str>,
    /// More of every server's environment.
    pub env: Vec<(&'static str, String)>,
    pub build: Build,
    /// An edge stands in front of them.
    pub edge: bool,
}

/// How the servers are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// As for every test.
    Tested,
    /// With planted faults, and clocks that can be shifted.
    Planted,
    /// As they are deployed, to be measured.
    Deployed,
}

/// The servers, running. They are dropped before their directory.
#[derive(Debug)]
pub struct Fleet {
    /// It goes first, and what balances its calls with it.
    pub edge: Option<(Edge, Proxy)>,
    pub servers: Vec<QueueServer>,
    pub addresses: Vec<SocketAddr>,
    pub client: reqwest::Client,
    pub dir: RunDir,
    program: PathBuf,
    is_alone: bool,
    config: DemoConfig,
}

impl FleetSetup {
    /// Three servers with the demo's rooms.
    pub fn demo(redis_url: String) -> Result<Self> {
        Ok(Self {
            servers: 3,
            config: DemoConfig::read()?,
            redis_url,
            wires: Vec::new(),
            replicas: 0,
            embedded: false,
            plant: None,
            env: Vec::new(),
            build: Build::Tested,
            edge: false,
        })
    }
}

impl Fleet {
    /// Starts them and waits until one leads and all are ready.
    pub async fn start(setup: FleetSetup) -> Result<Self> {
        let program = match setup.build {
            Build::Tested if setup.plant.is_none() => programs::queue_server()?,
            Build::Tested | Build::Planted => programs::planted_queue_server()?,
            Build::Deployed => programs::optimised_queue_server()?,
        };
        let dir = RunDir::create("fleet")?;
        let addresses = free_addresses(setup.servers)?;
        let keys = edge_keys(&program, &dir.path().join("data-0"))?;
        let client = reqwest::Client::builder().timeout(ANSWER_TIMEOUT).build()?;
        let is_alone = setup.embedded;
        let mut config = setup.config.clone();
        let balanced = if setup.edge {
            let [edge, shop] = super::free_addresses()?;
            config.trust_this_machine()?;
            let proxy = Proxy::start(addresses.clone()).await?;
            Some((Addresses { edge, queue_server: proxy.address, shop }, proxy))
        } else {
            None
        };
        let servers = Vec::new();
        let mut fleet = Self { edge: None, servers, addresses, client, dir, program, is_alone, config };
        let store = if is_alone { String::new() } else { redis_store(&setup.redis_url, setup.replicas) };
        fleet.configure(&store, balanced.as_ref().map(|(at, _)| *at))?;
        for nth in 0..setup.servers {
            fleet.start_server(nth, &setup).await?;
        }
        if !is_alone {
            fleet.leader_among(|_| true).await?;
        }
        if let Some((at, proxy)) = balanced {
            let edge = fleet.start_edge(at, keys).await?;
            fleet.edge = Some((edge, proxy));
        }
        Ok(fleet)
    }

    async fn start_server(&mut self, nth: usize, setup: &FleetSetup) -> Result<()> {
        let (config, data_dir) = (self.config_file(nth), self.data_dir(nth));
        share_keys(&self.data_dir(0), &data_dir)?;
        let wire = setup.wires.get(nth).map(|url| ("FAIRGATE_STORE_URL", url.clone()));
        let server = QueueServerSetup {
            program: self.program.clone(),
            config,
            data_dir,
            log: self.dir.path().join(format!("server-{nth}.log")),
            address: *self.addresses.get(nth).context("no such server")?,
            plant: setup.plant,
            env: setup.env.iter().cloned().chain(wire).collect(),
        };
        self.servers.push(QueueServer::start(server).await?);
        Ok(())
    }

    async fn start_edge(&self, at: Addresses, keys: String) -> Result<Edge> {
        let programs = Programs::built()?;
        let mut config = self.config.clone();
        config.place(at)?;
        let setup = EdgeSetup {
            workerd: programs.workerd,
            bundle: programs.bundle,
            config: config.to_text()?,
            keys,
            address: at.edge,
            data_dir: self.dir.path().join("limits"),
            log: self.dir.path().join("edge.log"),
            ready_path: "/.fairgate/jwks.json".to_owned(),
        };
        Edge::start(setup).await
    }

    /// A bearer key for the shop of the first room, once servers know it.
    pub async fn access_key(&self, roles: &[&str]) -> Result<String> {
        let address = self.addresses.first().context("no servers")?;
        access_key(&self.program, &self.data_dir(0), &format!("http://{address}"), &self.client, roles).await
    }

    /// Where buyers come in.
    pub fn doors(&self) -> Vec<SocketAddr> {
        self.edge.as_ref().map_or_else(|| self.addresses.clone(), |(edge, _)| vec![edge.address])
    }

    /// Takes a step of a rotation of keys, with every server restarted one after the other.
    pub async fn rotate_keys(&mut self) -> Result<()> {
        let first = self.data_dir(0);
        let mut command = Command::new(&self.program);
        let output = command.args(["keys", "rotate"]).arg("--data-dir").arg(&first).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for nth in 0..self.servers.len() {
            self.servers[nth].stop().await?;
            share_keys(&first, &self.data_dir(nth))?;
            self.servers[nth].restart().await?;
        }
        Ok(())
    }

    /// From their next start on the servers keep their rooms in this Redis.
    pub fn keep_in(&self, redis_url: &str) -> Result<()> {
        self.configure(&redis_store(redis_url, 0), None)
    }

    pub fn config_file(&self, nth: usize) -> PathBuf {
        self.dir.path().join(format!("fairgate-{nth}.toml"))
    }

    pub fn data_dir(&self, nth: usize) -> PathBuf {
        self.dir.path().join(format!("data-{nth}"))
    }

    /// Writes every server's file, with `store` behind it; `edge`: where the parts lie of which each server is one.
    fn configure(&self, store: &str, edge: Option<Addresses>) -> Result<()> {
        for (nth, address) in self.addresses.iter().enumerate() {
            let mut config = self.config.clone();
            let alone = Addresses { edge: *address, queue_server: *address, shop: *address };
            config.place(edge.unwrap_or(alone))?;
            config.top("server", "listen", address.to_string())?;
            config.append(store)?;
            std::fs::write(self.config_file(nth), config.to_text()?)?;
        }
        Ok(())
    }

    /// The index of a server that leads, waited for; only servers for which `may` holds are asked.
    pub async fn leader_among(&self, may: impl Fn(usize) -> bool) -> Result<usize> {
        if self.is_alone {
            return Ok(0);
        }
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
