//! Made-up keys that never come back: the time and the memory that each costs.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use shared::limiter::Policy;
use shared::limiter::check::Charge;
use shared::limiter::gcra::GcraPolicy;
use shared::limiter::key::{LocalKeys, TableSeed};
use shared::limiter::table::LimiterTable;
use shared::time::Timestamp;

use crate::figure::{Figure, cpu_ns_each, median, thread_time};

/// A table under a flood of keys that stay alive longer than it lasts.
struct Flood {
    table: LimiterTable,
    hashes: LocalKeys,
    policy: Policy,
    now: Timestamp,
}

impl Flood {
    fn new() -> Result<Self> {
        let seed = TableSeed([7; 16]);
        let policy = Policy::Gcra(GcraPolicy::new(3, 3, Duration::from_hours(1))?);
        Ok(Self {
            table: LimiterTable::new(LARGE, seed),
            hashes: LocalKeys::new(seed, "shop", "cart")?,
            policy,
            now: Timestamp::from_millis(1_764_480_000_000),
        })
    }

    fn take(&mut self, made_up: usize) {
        self.now = self.now.saturating_add(Duration::from_micros(1));
        if let Ok(key) = self.hashes.hash(&made_up.to_be_bytes()) {
            self.table.check_one(&Charge::new(self.policy, key, 1), self.now);
        }
    }
}

pub(crate) fn figures(rounds: usize) -> Result<Vec<Figure>> {
    let (mut small_ns, mut large_ns, mut slowest_us) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let small = cpu_ns_each(LARGE, || {
            for _ in 0..LARGE / SMALL {
                let Ok(mut flood) = Flood::new() else { return };
                (0..SMALL).for_each(|made_up| flood.take(made_up));
            }
        });
        let mut flood = Flood::new()?;
        let large = cpu_ns_each(LARGE, || (0..LARGE).for_each(|made_up| flood.take(made_up)));
        anyhow::ensure!(flood.table.len() == LARGE, "the flood does not fill the table");
        if round > 0 {
            small_ns.push(small);
            large_ns.push(large);
            slowest_us.push(slowest_call_us()?);
        }
    }
    let ratios = small_ns.iter().zip(&large_ns).map(|(small, large)| large / small).collect();
    let least = slowest_us.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(vec![
        Figure {
            name: "time of a new key, 10^6 against 10^3".to_owned(),
            unit: "ratio",
            at_most: Some(2.0),
            samples: ratios,
            note: format!("{:.0} ns against {:.0} ns", median(&large_ns), median(&small_ns)),
        },
        Figure {
            name: "slowest call of a flood of 10^6 keys".to_owned(),
            unit: "µs",
            at_most: Some(100.0),
            // Whatever interrupts a call only adds: what every flood takes at least is ours.
            samples: vec![least],
            note: format!("the least of {rounds} floods; the median is {:.0} µs", median(&slowest_us)),
        },
    ])
}

#[expect(clippy::cast_precision_loss, reason = "a figure has three digits")]
fn slowest_call_us() -> Result<f64> {
    let mut flood = Flood::new()?;
    let mut slowest = Duration::ZERO;
    for made_up in 0..LARGE {
        let started = thread_time();
        flood.take(made_up);
        slowest = slowest.max(thread_time().saturating_sub(started));
    }
    Ok(slowest.as_nanos() as f64 / 1e3)
}

/// The highest that this process has ever held for a flood, above what it held before; so a process measures it once.
pub(crate) fn memory() -> Result<Figure> {
    let before = status_mb("VmRSS:")?;
    let mut flood = Flood::new()?;
    (0..LARGE).for_each(|made_up| flood.take(made_up));
    anyhow::ensure!(flood.table.len() == LARGE, "the flood does not fill the table");
    Ok(Figure {
        name: "memory of 10^6 made-up keys".to_owned(),
        unit: "MB",
        at_most: Some(64.0),
        samples: vec![status_mb("VmHWM:")? - before],
        note: "highest resident memory, less that before".to_owned(),
    })
}

/// A line of what the system tells of this process; in 10^6 bytes.
fn status_mb(name: &str) -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status").context("memory is told by Linux only")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).context("no such line")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}

const LARGE: usize = 1_000_000;
const SMALL: usize = 1_000;
