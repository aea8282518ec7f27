//! What a waiting buyer costs in memory and in the store.

use super::line::join;
use super::mark::{Mark, Report};
use super::open_loop::exactly;
use super::run::{CONNECTIONS, Setup, StoreKind};
use crate::redis::RedisServer;
use crate::stack::fleet::Fleet;
use anyhow::{Context, Result};
use std::time::Duration;

/// Most bytes for each waiting buyer, with and without a memory of devices.
struct Bounds {
    server: f64,
    redis: f64,
}

/// Bytes for each waiting buyer, from the line through ten sizes on the way to `buyers`.
pub(super) async fn measure<T: Fn(&str)>(
    redis: &RedisServer,
    kind: StoreKind,
    buyers: usize,
    report: &Report<T>,
) -> Result<()> {
    for remembers in [true, false] {
        let (with, bounds) = if remembers {
            ("with de-duplication", Bounds { server: 24.0, redis: 40.0 })
        } else {
            ("without", Bounds { server: 4.0, redis: 1.0 })
        };
        let fleet = Setup { kind, capacity: 1, remembers }.start(redis).await?;
        let (mut of_server, mut of_store) = (Vec::new(), Vec::new());
        for _ in 0..SIZES {
            exactly(fleet.addresses[0], join(), buyers / SIZES, CONNECTIONS).await?;
            // The tick's commit brings the last of them to the store.
            tokio::time::sleep(Duration::from_secs(2)).await;
            of_server.push(fleet.servers[0].memory_bytes()?);
            of_store.push(stored(redis, kind, &fleet).await?);
        }
        let each = |sizes: &[u64]| slope(sizes) / whole(buyers / SIZES);
        let name = |what: &str| format!("bytes of {what} for each buyer of {buyers}, {with}");
        match kind {
            StoreKind::Embedded => {
                report.mark(&name("the server"), each(&of_server), Mark::AtMost(bounds.server));
                report.tell(&format!("  {:<60} {:>8.2}", name("the file"), each(&of_store)));
            }
            StoreKind::Redis => {
                report.tell(&format!("  {:<60} {:>8.2}", name("the server"), each(&of_server)));
                report.mark(&name("Redis"), each(&of_store), Mark::AtMost(bounds.redis));
            }
        }
    }
    Ok(())
}

async fn stored(redis: &RedisServer, kind: StoreKind, fleet: &Fleet) -> Result<u64> {
    match kind {
        StoreKind::Embedded => Ok(std::fs::metadata(fleet.data_dir(0).join("rooms.redb"))?.len()),
        StoreKind::Redis => {
            let info: String = redis.ask(&["INFO", "memory"]).await?;
            let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
            Ok(line.context("no size is told")?.trim().parse()?)
        }
    }
}

/// By how much a size rises from one to the next, by least squares: a page that happens to be in use when one of them is taken says little.
fn slope(sizes: &[u64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / whole(values.len());
    let (at, sizes): (Vec<f64>, Vec<f64>) = sizes
        .iter()
        .enumerate()
        .map(|(at, &bytes)| (whole(at), whole(bytes.try_into().unwrap_or(0))))
        .unzip();
    let (mean_at, mean_size) = (mean(&at), mean(&sizes));
    let rises: f64 = at.iter().zip(&sizes).map(|(at, size)| (at - mean_at) * (size - mean_size)).sum();
    rises / at.iter().map(|at| (at - mean_at).powi(2)).sum::<f64>()
}

fn whole(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

const SIZES: usize = 10;

#[cfg(test)]
mod tests {
    use super::slope;

    #[test]
    fn one_size_that_is_off_moves_the_slope_little() {
        let sizes = |off: u64| [100, 200, 300, 400 + off, 500, 600].map(|size| size * 1_000_000);
        assert!((slope(&sizes(0)) - 100e6).abs() < 1.0);
        assert!((slope(&sizes(100)) - 100e6).abs() < 4e6);
    }
}
