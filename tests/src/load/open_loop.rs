//! Requests that come when they come, whether or not the ones before are answered; and, for throughput, as fast as they are.

use super::wire::{Request, Wire};
use anyhow::Result;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::sleep_until;

/// Latencies from the moment at which each request was due, and how many had which status.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    latencies: Vec<Duration>,
    /// How many were refused, by status; 0: the connection broke off.
    refusals: BTreeMap<u16, usize>,
    pub(super) took: Duration,
}

impl Outcome {
    pub(super) fn good(&self) -> usize {
        self.latencies.len()
    }

    pub(super) fn refused(&self) -> usize {
        self.refusals.values().sum()
    }

    pub(super) fn per_s(&self) -> f64 {
        f64::from(u32::try_from(self.good()).unwrap_or(u32::MAX)) / self.took.as_secs_f64()
    }

    /// The latency that so many of a thousand did not exceed; nothing where nothing was answered.
    pub(super) fn of_thousand(&self, rank: usize) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get((self.latencies.len() * rank / 1_000).min(last)).copied().unwrap_or_default()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>7.0}/s, refused by status: {:?}; p50 {:.1?}, p90 {:.1?}, p99 {:.1?}, p99.9 {:.1?}",
            self.per_s(),
            self.refusals,
            self.of_thousand(500),
            self.of_thousand(900),
            self.of_thousand(990),
            self.of_thousand(999)
        )
    }
}

/// Sends each of the requests at its turn, `per_s` of them a second, over `connections` connections.
pub(super) async fn open_loop(
    address: SocketAddr,
    requests: Arc<Vec<Request>>,
    per_s: u32,
    count: usize,
    connections: usize,
) -> Result<Outcome> {
    run(address, requests, Some(per_s), Ends { count, after: Duration::MAX }, connections).await
}

/// Sends requests one after the other over each of `connections` connections, until the time is over.
pub(super) async fn closed_loop(
    address: SocketAddr,
    request: Request,
    after: Duration,
    connections: usize,
) -> Result<Outcome> {
    run(address, Arc::new(vec![request]), None, Ends { count: usize::MAX, after }, connections).await
}

/// As many joins as asked for, as fast as they are answered.
pub(super) async fn exactly(
    address: SocketAddr,
    request: Request,
    count: usize,
    connections: usize,
) -> Result<Outcome> {
    run(address, Arc::new(vec![request]), None, Ends { count, after: Duration::MAX }, connections).await
}

/// The same in a thread of its own, so that a flood which this program sends meanwhile holds up no request of it.
pub(super) async fn open_loop_aside(
    address: SocketAddr,
    requests: Arc<Vec<Request>>,
    per_s: u32,
    connections: usize,
) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let count = requests.len();
    let run = move || runtime.block_on(open_loop(address, requests, per_s, count, connections));
    tokio::task::spawn_blocking(run).await?
}

#[derive(Clone, Copy)]
struct Ends {
    count: usize,
    after: Duration,
}

async fn run(
    address: SocketAddr,
    requests: Arc<Vec<Request>>,
    per_s: Option<u32>,
    ends: Ends,
    connections: usize,
) -> Result<Outcome> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut callers = JoinSet::new();
    let mut wires = Vec::new();
    for _ in 0..connections {
        wires.push(Wire::connect(address).await?);
    }
    let started = Instant::now();
    for wire in wires {
        let caller = Caller { wire, address, requests: Arc::clone(&requests), next: Arc::clone(&next) };
        callers.spawn(caller.call(per_s, ends, started));
    }
    let mut all = Outcome::default();
    for outcome in callers.join_all().await {
        let outcome = outcome?;
        all.latencies.extend(outcome.latencies);
        for (status, count) in outcome.refusals {
            *all.refusals.entry(status).or_default() += count;
        }
    }
    all.took = started.elapsed();
    all.latencies.sort_unstable();
    Ok(all)
}

struct Caller {
    wire: Wire,
    address: SocketAddr,
    requests: Arc<Vec<Request>>,
    next: Arc<AtomicUsize>,
}

impl Caller {
    async fn call(mut self, per_s: Option<u32>, ends: Ends, started: Instant) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        loop {
            let nth = self.next.fetch_add(1, Ordering::Relaxed);
            if nth >= ends.count || started.elapsed() >= ends.after {
                return Ok(outcome);
            }
            let due = match per_s {
                Some(per_s) => {
                    let due = started + Duration::from_secs(1).mul_f64(seconds(nth, per_s));
                    sleep_until(due.into()).await;
                    due
                }
                None => Instant::now(),
            };
            match self.wire.ask(&self.requests[nth % self.requests.len()]).await {
                Ok(answer) if answer.status < 300 => outcome.latencies.push(due.elapsed()),
                Ok(answer) => *outcome.refusals.entry(answer.status).or_default() += 1,
                Err(_) => {
                    *outcome.refusals.entry(0).or_default() += 1;
                    self.wire = Wire::connect(self.address).await?;
                }
            }
        }
    }
}

fn seconds(nth: usize, per_s: u32) -> f64 {
    f64::from(u32::try_from(nth).unwrap_or(u32::MAX)) / f64::from(per_s)
}
