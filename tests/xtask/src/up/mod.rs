//! `cargo xtask up`: the demo shop, the queue server and the edge on this machine, until Ctrl-C.

mod layout;

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use ::tests::shop::{Settings, Shop};
use ::tests::stack::edge::{Edge, EdgeSetup, edge_keys};
use ::tests::stack::programs::Programs;
use ::tests::stack::queue_server::{QueueServer, QueueServerSetup};
use anyhow::{Context, Result};

use crate::progress::Progress;
use crate::worker::Faults;
use crate::{server, stop, worker};
use layout::Layout;
pub(crate) use layout::Options;

/// Everything that runs. Fields are dropped in this order: the edge goes before what it calls.
struct Parts {
    edge: Edge,
    queue_server: QueueServer,
    _shop: Option<Shop>,
}

/// Builds what is not built yet, starts everything, and returns when it is told to stop.
pub(crate) fn run(progress: &Progress, options: &Options) -> Result<()> {
    let layout = Layout::read(options)?;
    layout.check_ports()?;
    worker::build(progress, Faults::None)?;
    server::build(progress, Faults::None)?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let mut parts = start(progress, &layout).await?;
        println!("\n{layout}\n\nReady after {:.1} s. Ctrl-C stops everything.", progress.elapsed_s());
        let stopped = parts.watch().await;
        drop(parts);
        stopped
    })
}

async fn start(progress: &Progress, layout: &Layout) -> Result<Parts> {
    let programs = Programs::built()?;
    let logs = layout.data_dir.join("logs");
    // Secrets lie beside the logs.
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&logs);
    made.with_context(|| format!("cannot make {}", logs.display()))?;
    let config = layout.write_config()?;
    let keys = edge_keys(&programs.queue_server, &layout.data_dir)?;

    let shop = progress.step_async("start the demo shop", start_shop(layout)).await?;
    let queue_server = QueueServerSetup {
        program: programs.queue_server,
        config,
        data_dir: layout.data_dir.clone(),
        log: fresh_log(&logs.join("queue-server.log"))?,
        address: layout.queue_server,
        plant: None,
        env: Vec::new(),
    };
    let queue_server =
        progress.step_async("start the queue server", QueueServer::start(queue_server)).await?;
    let edge = EdgeSetup {
        workerd: programs.workerd,
        bundle: programs.bundle,
        config: layout.config.clone(),
        keys,
        address: layout.edge,
        data_dir: layout.data_dir.join("limits"),
        log: fresh_log(&logs.join("edge.log"))?,
        ready_path: format!("{}/jwks.json", layout.prefix),
    };
    let edge = progress.step_async("start the edge", Edge::start(edge)).await?;
    Ok(Parts { edge, queue_server, _shop: shop })
}

/// The demo shop stands in for a shop on this machine; a shop elsewhere is the real one.
async fn start_shop(layout: &Layout) -> Result<Option<Shop>> {
    let Some(address) = layout.shop else { return Ok(None) };
    let settings = Settings {
        listen: address.pages,
        control: address.control,
        jwks_url: format!("http://{}{}/jwks.json", layout.queue_server, layout.prefix),
        stock: STOCK,
        log_file: None,
    };
    Shop::start(settings).await.map(Some)
}

fn fresh_log(log: &Path) -> Result<std::path::PathBuf> {
    std::fs::write(log, "").with_context(|| format!("cannot write {}", log.display()))?;
    Ok(log.to_owned())
}

impl Parts {
    /// Returns on Ctrl-C or a polite kill, and fails when a part ends by itself.
    async fn watch(&mut self) -> Result<()> {
        let mut stopped = pin!(stop::told());
        loop {
            tokio::select! {
                // Ctrl-C reaches the parts too: their end must not be taken for a failure.
                biased;
                stopped = &mut stopped => break stopped,
                () = tokio::time::sleep(WATCH_EVERY) => self.check_alive()?,
            }
        }
    }

    fn check_alive(&mut self) -> Result<()> {
        self.edge.check_alive()?;
        self.queue_server.check_alive()
    }
}

const STOCK: u64 = 1_000;
const WATCH_EVERY: Duration = Duration::from_millis(500);
