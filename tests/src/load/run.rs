//! `cargo xtask load`: each store in turn, beside the cheapest server of its kind.

use super::line::{TICKET, call, join, of_tickets, waiting};
use super::mark::{Mark, Report};
use super::memory;
use super::open_loop::{Outcome, closed_loop, open_loop, open_loop_aside};
use super::wire::Request;
use crate::redis::RedisServer;
use crate::stack::fleet::{Build, Fleet, FleetSetup};
use crate::stack::process::Process;
use crate::stack::{free_addresses, run_dir::RunDir};
use anyhow::{Context, Result};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// What a queue server bears: throughput, latencies under an open loop, memory for each waiting buyer
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Which store; both, where none is named
    #[arg(long, value_enum)]
    pub store: Option<StoreKind>,
    /// What to measure; everything, where nothing is named
    #[arg(long, value_enum)]
    pub only: Option<Measured>,
    /// Length of each measurement
    #[arg(long, default_value_t = 5)]
    pub seconds: u32,
    /// Buyers whose memory is measured
    #[arg(long, default_value_t = 1_000_000)]
    pub buyers: usize,
}

/// Where rooms are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum StoreKind {
    Embedded,
    Redis,
}

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Measured {
    Joins,
    Latencies,
    Memory,
}

/// Measures; `bare` is the program that serves the cheapest handler, `tell` hears of each figure. How many marks were missed.
pub async fn run(options: &Options, bare: &std::path::Path, tell: impl Fn(&str)) -> Result<usize> {
    let kinds = options.store.map_or_else(|| vec![StoreKind::Embedded, StoreKind::Redis], |kind| vec![kind]);
    let report = Report::new(tell);
    for kind in kinds {
        let redis = RedisServer::start().await?;
        report.tell(&format!("{kind:?} store"));
        let load = Load { options, kind, redis: &redis, bare: bare.to_owned(), report: &report };
        let wants = |what| options.only.is_none_or(|only| only == what);
        let joins_per_s =
            if wants(Measured::Joins) || wants(Measured::Latencies) { load.joins().await? } else { 0.0 };
        if wants(Measured::Latencies) {
            load.latencies(joins_per_s).await?;
        }
        if wants(Measured::Memory) {
            memory::measure(&redis, kind, options.buyers, &report).await?;
        }
    }
    Ok(report.missed())
}

struct Load<'a, T> {
    options: &'a Options,
    kind: StoreKind,
    redis: &'a RedisServer,
    bare: PathBuf,
    report: &'a Report<T>,
}

impl<T: Fn(&str)> Load<'_, T> {
    fn tell(&self, name: &str, outcome: &Outcome) {
        self.report.tell(&format!("  {name:<44} {outcome}"));
    }

    fn span(&self) -> Duration {
        Duration::from_secs(self.options.seconds.into())
    }

    /// As many joins as are answered, in turns with the cheapest server; how many a second.
    async fn joins(&self) -> Result<f64> {
        let fleet = Setup { kind: self.kind, capacity: 1, remembers: true }.start(self.redis).await?;
        let dir = RunDir::create("bare")?;
        let (mut peer, address) = self.start_bare(&dir).await?;
        let (name, least) = match self.kind {
            StoreKind::Embedded => ("bare Axum", 0.5),
            StoreKind::Redis => ("bare Axum with one script for each call", 0.7),
        };
        let mut pairs = Vec::new();
        for _ in 0..ROUNDS {
            let bare =
                closed_loop(address, Request::new("POST", "/", "", ""), self.span(), CONNECTIONS).await?;
            let ours = closed_loop(fleet.addresses[0], join(), self.span(), CONNECTIONS).await?;
            self.tell(name, &bare);
            self.tell("joins, as fast as they are answered", &ours);
            pairs.push((ours.per_s() / bare.per_s(), ours.per_s()));
        }
        peer.check_alive()?;
        pairs.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (ratio, joins_per_s) = *pairs.get(ROUNDS / 2).context("nothing was measured")?;
        self.report.mark(&format!("joins to {name}"), ratio, Mark::AtLeast(least));
        Ok(joins_per_s)
    }

    async fn start_bare(&self, dir: &RunDir) -> Result<(Process, SocketAddr)> {
        let [address] = free_addresses()?;
        let mut command = Command::new(&self.bare);
        command.arg("--listen").arg(address.to_string());
        if self.kind == StoreKind::Redis {
            command.arg("--redis").arg(self.redis.url());
        }
        let mut peer = Process::start("the bare server", &command, &dir.path().join("bare.log"))?;
        peer.wait_for(&format!("http://{address}/readyz"), Duration::from_secs(10)).await?;
        Ok((peer, address))
    }

    /// What each kind of call takes at a tenth of what joins could be, and redemptions while twice as many joins arrive.
    async fn latencies(&self, joins_per_s: f64) -> Result<()> {
        let fleet = Setup { kind: self.kind, capacity: 1, remembers: true }.start(self.redis).await?;
        let key = fleet.access_key(&["operate", "limits:check"]).await?;
        let (address, seconds) = (fleet.addresses[0], usize::try_from(self.options.seconds)?);
        // Whole, as the rates of an open loop are.
        let joins_per_s = format!("{joins_per_s:.0}").parse::<u32>()?;
        let gently = (joins_per_s / 10).max(1);
        let rate = usize::try_from(gently)?;
        let count = usize::try_from(REDEMPTIONS_PER_S)? * seconds;
        let tickets = waiting(&fleet, 2 * count).await?;
        let idle = Arc::new(vec![join()]);
        self.tell("joins", &open_loop(address, idle, gently, rate * seconds, CONNECTIONS).await?);
        let polls = Arc::new(of_tickets(&tickets, "GET", TICKET));
        self.tell("polls", &open_loop(address, polls, gently, rate * seconds, CONNECTIONS).await?);
        let checks = Arc::new(checks(&key));
        self.tell("limit checks", &open_loop(address, checks, gently, rate * seconds, CONNECTIONS).await?);

        // Room for the tickets and for the one who is inside, and a line behind them: whoever joins in the flood waits.
        call(&fleet, &key, tickets.len() + 1, tickets.len() + 1).await?;
        let redeem = |tickets: &[String]| Arc::new(of_tickets(tickets, "POST", REDEEM));
        let (first, second) = tickets.split_at(count.min(tickets.len()));
        let alone = open_loop_aside(address, redeem(first), REDEMPTIONS_PER_S, REDEEMERS).await?;
        self.tell("redemptions", &alone);
        let flood = open_loop(
            address,
            Arc::new(vec![join()]),
            joins_per_s.saturating_mul(2),
            usize::try_from(joins_per_s)? * 2 * seconds,
            FLOOD_CONNECTIONS,
        );
        let redeemed = open_loop_aside(address, redeem(second), REDEMPTIONS_PER_S, REDEEMERS);
        let (flood, redeemed) = tokio::join!(flood, redeemed);
        let (flood, redeemed) = (flood?, redeemed?);
        self.tell("joins at twice what it takes", &flood);
        self.tell("redemptions meanwhile", &redeemed);
        let ratio = redeemed.of_thousand(990).as_secs_f64() / alone.of_thousand(990).as_secs_f64();
        self.report.mark("p99 of redemptions, flooded to alone", ratio, Mark::AtMost(10.0));
        let lost = f64::from(u32::try_from(redeemed.refused())?);
        self.report.mark("redemptions lost in the flood", lost, Mark::AtMost(0.0));
        Ok(())
    }
}

/// A server of its own for one measurement.
#[derive(Clone, Copy)]
pub(super) struct Setup {
    pub(super) kind: StoreKind,
    pub(super) capacity: i64,
    /// Whether the room gives a device its place again.
    pub(super) remembers: bool,
}

impl Setup {
    pub(super) async fn start(self, redis: &RedisServer) -> Result<Fleet> {
        let _: String = redis.ask(&["FLUSHALL"]).await?;
        let mut setup = FleetSetup::demo(redis.url())?;
        (setup.servers, setup.embedded) = (1, self.kind == StoreKind::Embedded);
        setup.build = Build::Deployed;
        setup.config.event("drop", "capacity", self.capacity)?;
        setup.config.event("drop", "admission_rate_per_s", 100_000)?;
        setup.config.event("drop", "pass_life_s", 3_600)?;
        setup.config.event("drop", "session_max_s", 3_600)?;
        if !self.remembers {
            setup.config.event("drop", "remember_devices", false)?;
        }
        Fleet::start(setup).await
    }
}

/// Checks of many keys, so that none is refused.
fn checks(key: &str) -> Vec<Request> {
    let fields = format!("authorization: Bearer {key}\r\ncontent-type: application/json\r\n");
    let body =
        |device| format!(r#"{{"shop":"alpha","policies":["device"],"keys":{{"device":"d-{device}"}}}}"#);
    (0..KEYS_CHECKED).map(|device| Request::new("POST", "/v1/limits/check", &fields, &body(device))).collect()
}

const REDEEM: &str = "/.fairgate/events/drop/ticket/redeem";
const ROUNDS: usize = 3;
pub(super) const CONNECTIONS: usize = 64;
const FLOOD_CONNECTIONS: usize = 1_024;
const REDEEMERS: usize = 64;
const REDEMPTIONS_PER_S: u32 = 100;
const KEYS_CHECKED: u32 = 5_000;
