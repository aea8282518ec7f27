//! Runs a rush: starts the parts, sends the buyers, does to the queue server what the options ask, gathers the history.

use super::crowd::{self, Plan};
use super::history::{Buyer, BuyerKind, History};
use super::options::Options;
use super::shopper::{Sale, Shopper};
use super::summary::{Counted, Summary};
use super::visit;
use crate::stack::config::DemoConfig;
use crate::stack::programs::Programs;
use crate::stack::queue_server::QueueServer;
use crate::stack::{Setup, Stack};
use anyhow::Result;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Runs one rush to its end; the summary says what was broken.
pub async fn run(options: &Options) -> Result<Summary> {
    let mut stack = Stack::start(setup(options)?).await?;
    let sale = Arc::new(Sale::new(EVENT, SKU, patience(options)));
    let send = |plans: Vec<Plan>| send(&stack, &sale, plans);
    let (buyers, bots) = (send(crowd::buyers(options)), send(crowd::bots(options)));
    let progress = tokio::spawn(show_progress(Arc::clone(&sale), options.json));

    let mut disturbance = Disturbance::default();
    let (all_home, home) = oneshot::channel();
    let buyers = async {
        let buyers = buyers.join_all().await;
        let _ = all_home.send(());
        buyers
    };
    let watch = async {
        let ended = disturbance.happen(options, &mut stack).await.err();
        let ended = if ended.is_some() { ended } else { stack.watch_until(home).await.err() };
        if ended.is_some() {
            sale.close();
        }
        ended
    };
    let (mut gathered, ended) = tokio::join!(buyers, watch);
    sale.close();
    gathered.extend(bots.join_all().await);
    progress.abort();
    end_progress();

    let history = History {
        seed: options.seed,
        event: EVENT.to_owned(),
        capacity: usize::try_from(options.capacity)?,
        buyers: gathered,
        shop_log: stack.shop.log(),
        outages: disturbance.outages,
    };
    let mut missing: Vec<String> = ended.iter().map(|error| format!("{error:#}")).collect();
    if let Err(error) = disturbance.server.add(&stack.queue_server).await {
        missing.push(format!("the queue server's count of its requests: {error:#}"));
    }
    let counted = Counted {
        seconds: sale.elapsed().as_secs_f64(),
        requests: sale.tally.requests(),
        polls: sale.tally.polls(),
        server_requests: disturbance.server.0,
        missing,
    };
    let summary = Summary::of(&history, counted);
    if !summary.violations.is_empty() || !summary.missing.is_empty() {
        let kept = stack.dir.keep();
        eprintln!("logs are kept in {}", kept.display());
    }
    Ok(summary)
}

fn setup(options: &Options) -> Result<Setup> {
    let mut config = DemoConfig::read()?;
    config.event(EVENT, "capacity", options.capacity)?;
    config.event(EVENT, "admission_rate_per_s", options.admission_rate)?;
    let programs = if options.plant.is_some() { Programs::planted()? } else { Programs::built()? };
    let plant = options.plant.map(super::options::Plant::name);
    Ok(Setup { name: "rush", config, programs, plant, stock: STOCK, origin: None })
}

/// How long until everybody goes home: twice the time that the line needs at best, and room for what went wrong on purpose.
fn patience(options: &Options) -> Duration {
    let buyers = f64::from(options.buyers);
    let best = (buyers * options.session / f64::from(options.capacity))
        .max(buyers / f64::from(options.admission_rate));
    let stall = options.stall_server.unwrap_or(0.0);
    // A finish whose report was lost frees its session only when its pass runs out.
    let kill = if options.kill_server_at.is_some() { 150.0 } else { 0.0 };
    Duration::from_secs_f64(options.arrive_over + 2.0 * best + options.session + 45.0 + 2.0 * stall + kill)
}

/// Sends shoppers on their way, each with a device of its own; bots of one id share a device.
fn send(stack: &Stack, sale: &Arc<Sale>, plans: Vec<Plan>) -> JoinSet<Buyer> {
    let mut visits = JoinSet::new();
    for plan in plans {
        let buyer = Buyer { id: plan.id, kind: plan.kind, seen: Vec::new() };
        let shopper = Shopper::new(stack.device(plan.address), buyer, Arc::clone(sale));
        match plan.kind {
            BuyerKind::Bot => visits.spawn(visit::bot(shopper, plan)),
            BuyerKind::Stays | BuyerKind::Leaves => visits.spawn(visit::buyer(shopper, plan)),
        };
    }
    visits
}

/// What is done to the queue server on purpose, and what it had answered before.
#[derive(Debug, Default)]
struct Disturbance {
    outages: Vec<(u64, u64)>,
    server: Requests,
}

impl Disturbance {
    async fn happen(&mut self, options: &Options, stack: &mut Stack) -> Result<()> {
        let start = Instant::now();
        if let Some(seconds) = options.stall_server {
            tokio::time::sleep(Duration::from_secs_f64(options.arrive_over)).await;
            let from = stack.clock.now_ms();
            stack.queue_server.pause()?;
            tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
            stack.queue_server.resume()?;
            self.outages.push((from, stack.clock.now_ms()));
        }
        if let Some(seconds) = options.kill_server_at {
            tokio::time::sleep(Duration::from_secs_f64(seconds).saturating_sub(start.elapsed())).await;
            self.server.add(&stack.queue_server).await?;
            let from = stack.clock.now_ms();
            stack.queue_server.kill();
            tokio::time::sleep(DEAD_FOR).await;
            stack.queue_server.restart().await?;
            self.outages.push((from, stack.clock.now_ms()));
        }
        Ok(())
    }
}

/// Requests answered by the queue server, by route, over all its lives.
#[derive(Debug, Default)]
struct Requests(BTreeMap<String, u64>);

impl Requests {
    async fn add(&mut self, server: &QueueServer) -> Result<()> {
        for (route, count) in server.requests_by_route().await? {
            *self.0.entry(route).or_default() += count;
        }
        Ok(())
    }
}

/// One line on standard error: rewritten each second on a terminal, otherwise a new one every ten.
async fn show_progress(sale: Arc<Sale>, quiet: bool) {
    let terminal = std::io::stderr().is_terminal();
    if quiet {
        return;
    }
    let every = if terminal { Duration::from_secs(1) } else { Duration::from_secs(10) };
    loop {
        tokio::time::sleep(every).await;
        let (start, end) = if terminal { ("\r", "") } else { ("", "\n") };
        eprint!("{start}{:>4} s  {}{end}", sale.elapsed().as_secs(), sale.tally);
        let _ = std::io::stderr().flush();
    }
}

fn end_progress() {
    if std::io::stderr().is_terminal() {
        eprintln!();
    }
}

const EVENT: &str = "drop";
const SKU: &str = "A-1";
const STOCK: u64 = 10_000_000;
const DEAD_FOR: Duration = Duration::from_secs(1);
