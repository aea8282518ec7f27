//! The real parts, started on free ports and stopped by guards: queue server, demo shop, edge.

pub mod access;
pub mod config;
pub mod edge;
pub mod fleet;
pub mod process;
pub mod programs;
pub mod queue_server;
pub mod run_dir;

use crate::device::{Clock, Device};
use crate::shop::{Settings, Shop};
use anyhow::Result;
use config::{Addresses, DemoConfig};
use edge::{Edge, EdgeSetup, edge_keys};
use programs::Programs;
use queue_server::{QueueServer, QueueServerSetup};
use run_dir::RunDir;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// What to start.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Names the run's directory.
    pub name: &'static str,
    pub config: DemoConfig,
    pub programs: Programs,
    /// A fault to switch on in planted programs.
    pub plant: Option<&'static str>,
    /// Units of each product.
    pub stock: u64,
    /// Where the edge sends what is the shop's, if not to the demo shop.
    pub origin: Option<SocketAddr>,
}

/// All parts, running. Fields are dropped in this order: edge before queue server, the directory last.
#[derive(Debug)]
pub struct Stack {
    pub edge: Edge,
    pub queue_server: QueueServer,
    pub shop: Shop,
    pub client: reqwest::Client,
    pub clock: Clock,
    pub dir: RunDir,
    _turn: SemaphorePermit<'static>,
}

impl Setup {
    /// The demo, unchanged but for its ports.
    pub fn demo(name: &'static str) -> Result<Self> {
        let (config, programs) = (DemoConfig::read()?, Programs::built()?);
        Ok(Self { name, config, programs, plant: None, stock: 1_000_000, origin: None })
    }
}

impl Stack {
    /// Starts everything and waits until the edge answers.
    pub async fn start(mut setup: Setup) -> Result<Self> {
        let turn = TURNS.acquire().await?;
        let dir = RunDir::create(setup.name)?;
        let [edge, queue_server] = free_addresses()?;
        let shop = Shop::start(Settings {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            control: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            jwks_url: format!("http://{queue_server}/.fairgate/jwks.json"),
            stock: setup.stock,
            log_file: Some(dir.path().join("shop.jsonl")),
        })
        .await?;
        let origin = setup.origin.unwrap_or(shop.address);
        setup.config.place(Addresses { edge, queue_server, shop: origin })?;
        setup.config.trust_this_machine()?;
        let (config, data_dir) = (dir.path().join("fairgate.toml"), dir.path().join("data"));
        let text = setup.config.to_text()?;
        std::fs::write(&config, &text)?;
        let keys = edge_keys(&setup.programs.queue_server, &data_dir)?;
        let queue_server = QueueServer::start(QueueServerSetup {
            program: setup.programs.queue_server,
            config,
            data_dir,
            log: dir.path().join("queue-server.log"),
            address: queue_server,
            plant: setup.plant,
            env: Vec::new(),
        })
        .await?;
        let edge = Edge::start(EdgeSetup {
            workerd: setup.programs.workerd,
            bundle: setup.programs.bundle,
            config: text,
            keys,
            address: edge,
            data_dir: dir.path().join("limits"),
            log: dir.path().join("edge.log"),
            ready_path: "/.fairgate/jwks.json".to_owned(),
        })
        .await?;
        let client = reqwest::Client::builder().timeout(ANSWER_TIMEOUT).redirect(no_redirects()).build()?;
        Ok(Self { edge, queue_server, shop, client, clock: Clock::start(), dir, _turn: turn })
    }

    /// Returns when `end` comes, and fails when a part ends by itself before.
    pub async fn watch_until<T>(&mut self, end: impl Future<Output = T>) -> Result<()> {
        let mut end = std::pin::pin!(end);
        loop {
            tokio::select! {
                _ = &mut end => return Ok(()),
                () = tokio::time::sleep(WATCH_EVERY) => {
                    self.edge.check_alive()?;
                    self.queue_server.check_alive()?;
                }
            }
        }
    }

    /// A device that has never been here, at this address.
    pub fn device(&self, address: Ipv4Addr) -> Device {
        Device::new(&self.client, self.edge.address, address, self.clock)
    }
}

fn no_redirects() -> reqwest::redirect::Policy {
    reqwest::redirect::Policy::none()
}

/// Addresses of this machine on ports that are free now.
pub fn free_addresses<const N: usize>() -> Result<[SocketAddr; N]> {
    let held: Vec<TcpListener> =
        (0..N).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect::<Result<_, _>>()?;
    let mut free = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)); N];
    for (address, listener) in free.iter_mut().zip(&held) {
        *address = listener.local_addr()?;
    }
    Ok(free)
}

/// Stacks of one test program that run at once: more would only wait for each other's processors.
static TURNS: Semaphore = Semaphore::const_new(2);
const WATCH_EVERY: Duration = Duration::from_millis(250);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
