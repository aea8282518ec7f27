//! `cargo xtask load`: each store in turn, beside the cheapest server of its kind.

use super::line::{TICKET, call, join, of_tickets, waiting};
use super::open_loop::{Outcome, closed_loop, exactly, open_loop};
use super::wire::Request;
use crate::redis::RedisServer;
use crate::stack::fleet::{Fleet, FleetSetup};
use crate::stack::process::Process;
use crate::stack::{free_addresses, run_dir::RunDir};
use anyhow::Result;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// What a queue server bears: throughput, latencies under an open loop, memory for each waiting buyer
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Which store; both, where none is named
    #[arg(long, value_enum)]
    pub store: Option<StoreKind>,
    /// Length of each measurement
    #[arg(long, default_value_t = 5)]
    pub seconds: u32,
    /// Buyers whose memory is measured; 0: none
    #[arg(long, default_value_t = 100_000)]
    pub buyers: usize,
}

/// Where rooms are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum StoreKind {
    Embedded,
    Redis,
}

/// Measures; `bare` is the program that serves the cheapest handler, `tell` hears of each figure.
pub async fn run(options: &Options, bare: &Path, tell: impl Fn(&str)) -> Result<()> {
    let kinds = options.store.map_or_else(|| vec![StoreKind::Embedded, StoreKind::Redis], |kind| vec![kind]);
    for kind in kinds {
        let redis = RedisServer::start().await?;
        let url = (kind == StoreKind::Redis).then(|| redis.url());
        tell(&format!("{kind:?} store"));
        let measured = Measured { options, tell: &tell };
        let joins = measured.joins(&redis, url.as_deref(), bare).await?;
        measured.latencies(&redis, kind, joins).await?;
        if options.buyers > 0 {
            measured.memory(&redis, kind).await?;
        }
    }
    Ok(())
}

struct Measured<'a, T> {
    options: &'a Options,
    tell: &'a T,
}

impl<T: Fn(&str)> Measured<'_, T> {
    fn tell(&self, name: &str, outcome: &Outcome) {
        (self.tell)(&format!("  {name:<44} {outcome}"));
    }

    fn span(&self) -> Duration {
        Duration::from_secs(self.options.seconds.into())
    }

    /// As many joins as are answered, in turns with the cheapest server; how many a second.
    async fn joins(&self, redis: &RedisServer, url: Option<&str>, bare: &Path) -> Result<f64> {
        let fleet = start(redis, url.is_some(), 1).await?;
        let dir = RunDir::create("bare")?;
        let [address] = free_addresses()?;
        let mut command = Command::new(bare);
        command.arg("load-bare").arg("--listen").arg(address.to_string());
        command.args(url.iter().flat_map(|url| ["--redis", url]));
        let mut peer = Process::start("the bare server", &command, &dir.path().join("bare.log"))?;
        peer.wait_for(&format!("http://{address}/readyz"), Duration::from_secs(10)).await?;
        let bare = closed_loop(address, Request::new("POST", "/", "", ""), self.span(), CONNECTIONS).await?;
        let ours = closed_loop(fleet.addresses[0], join(), self.span(), CONNECTIONS).await?;
        let name = if url.is_some() { "bare Axum with one script for each call" } else { "bare Axum" };
        self.tell(name, &bare);
        self.tell("joins, as fast as they are answered", &ours);
        (self.tell)(&format!("  joins to {name}: {:.2}", ours.per_s() / bare.per_s()));
        Ok(ours.per_s())
    }

    /// What each kind of call takes at a tenth of that, and redemptions while twice as many joins arrive.
    async fn latencies(&self, redis: &RedisServer, kind: StoreKind, joins_per_s: f64) -> Result<()> {
        let fleet = start(redis, kind == StoreKind::Redis, 1).await?;
        let key = fleet.access_key(&["operate", "limits:check"]).await?;
        let (address, seconds) = (fleet.addresses[0], usize::try_from(self.options.seconds)?);
        // Whole, as the rates of an open loop are.
        let joins_per_s = format!("{joins_per_s:.0}").parse::<u32>()?;
        let gently = (joins_per_s / 10).max(1);
        let rate = usize::try_from(gently)?;
        let idle = Arc::new(vec![join()]);
        self.tell("joins", &open_loop(address, idle, gently, rate * seconds, CONNECTIONS).await?);
        let count = usize::try_from(REDEMPTIONS_PER_S)? * seconds;
        let tickets = waiting(&fleet, 2 * count).await?;
        let polls = Arc::new(of_tickets(&tickets, "GET", TICKET));
        self.tell("polls", &open_loop(address, polls, gently, rate * seconds, CONNECTIONS).await?);
        let fields = format!("authorization: Bearer {key}\r\ncontent-type: application/json\r\n");
        let check = r#"{"shop":"alpha","policies":["device"],"keys":{"device":"d-17"}}"#;
        let checks = Arc::new(vec![Request::new("POST", "/v1/limits/check", &fields, check)]);
        self.tell("limit checks", &open_loop(address, checks, gently, rate * seconds, CONNECTIONS).await?);

        call(&fleet, &key, 1_000_000, rate * seconds + 2 * count).await?;
        let redeem = |tickets: &[String]| Arc::new(of_tickets(tickets, "POST", REDEEM));
        let (first, second) = tickets.split_at(count.min(tickets.len()));
        let alone = open_loop(address, redeem(first), REDEMPTIONS_PER_S, first.len(), REDEEMERS).await?;
        self.tell("redemptions", &alone);
        let flood = open_loop(
            address,
            Arc::new(vec![join()]),
            joins_per_s.saturating_mul(2),
            usize::try_from(joins_per_s)? * 2 * seconds,
            FLOOD_CONNECTIONS,
        );
        let redeemed = open_loop(address, redeem(second), REDEMPTIONS_PER_S, second.len(), REDEEMERS);
        let (flood, redeemed) = tokio::join!(flood, redeemed);
        let (flood, redeemed) = (flood?, redeemed?);
        self.tell("joins at twice what it takes", &flood);
        self.tell("redemptions meanwhile", &redeemed);
        let ratio = redeemed.of_thousand(990).as_secs_f64() / alone.of_thousand(990).as_secs_f64();
        (self.tell)(&format!(
            "  p99 of redemptions, flooded to alone: {ratio:.1}; lost: {}",
            redeemed.refused
        ));
        Ok(())
    }

    /// Bytes for each waiting buyer, from the slope of the second half.
    async fn memory(&self, redis: &RedisServer, kind: StoreKind) -> Result<()> {
        let fleet = start(redis, kind == StoreKind::Redis, 1).await?;
        let half = self.options.buyers / 2;
        let mut sizes = Vec::new();
        for _ in 0..2 {
            exactly(fleet.addresses[0], join(), half, CONNECTIONS).await?;
            // The tick's commit brings the last of them to the store.
            tokio::time::sleep(Duration::from_secs(3)).await;
            let stored = match kind {
                StoreKind::Redis => {
                    redis.ask::<u64>(&["MEMORY", "USAGE", "fairgate1:{drop}:records", "SAMPLES", "0"]).await?
                }
                StoreKind::Embedded => std::fs::metadata(fleet.data_dir(0).join("rooms.redb"))?.len(),
            };
            sizes.push((fleet.servers[0].memory_bytes()?, stored));
        }
        let [first, second] = sizes.as_slice() else { return Ok(()) };
        let each =
            |from: u64, to: u64| to.saturating_sub(from) / u64::try_from(half.max(1)).unwrap_or(u64::MAX);
        (self.tell)(&format!(
            "  bytes for each waiting buyer, between {half} and {}: server {}, store {}",
            2 * half,
            each(first.0, second.0),
            each(first.1, second.1)
        ));
        Ok(())
    }
}

async fn start(redis: &RedisServer, in_redis: bool, capacity: i64) -> Result<Fleet> {
    let _: String = redis.ask(&["FLUSHALL"]).await?;
    let mut setup = FleetSetup::demo(redis.url())?;
    (setup.servers, setup.embedded) = (1, !in_redis);
    setup.config.event("drop", "capacity", capacity)?;
    setup.config.event("drop", "admission_rate_per_s", 100_000)?;
    setup.config.event("drop", "pass_life_s", 3_600)?;
    setup.config.event("drop", "session_max_s", 3_600)?;
    Fleet::start(setup).await
}

const REDEEM: &str = "/.fairgate/events/drop/ticket/redeem";
const CONNECTIONS: usize = 64;
const FLOOD_CONNECTIONS: usize = 1_024;
const REDEEMERS: usize = 64;
const REDEMPTIONS_PER_S: u32 = 100;
