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

/// Bytes for each waiting buyer, from the slope of the second half of `buyers`.
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
        let half = buyers / 2;
        let mut sizes = Vec::new();
        for _ in 0..2 {
            exactly(fleet.addresses[0], join(), half, CONNECTIONS).await?;
            // The tick's commit brings the last of them to the store.
            tokio::time::sleep(Duration::from_secs(3)).await;
            sizes.push((fleet.servers[0].memory_bytes()?, stored(redis, kind, &fleet).await?));
        }
        let [first, second] = sizes.as_slice() else { return Ok(()) };
        let each = |from: u64, to: u64| per_buyer(to.saturating_sub(from), half);
        let name = |what: &str| format!("bytes of {what} for each buyer of {}, {with}", 2 * half);
        match kind {
            StoreKind::Embedded => {
                report.mark(&name("the server"), each(first.0, second.0), Mark::AtMost(bounds.server));
                report.tell(&format!("  {:<60} {:>8.2}", name("the file"), each(first.1, second.1)));
            }
            StoreKind::Redis => {
                report.tell(&format!("  {:<60} {:>8.2}", name("the server"), each(first.0, second.0)));
                report.mark(&name("Redis"), each(first.1, second.1), Mark::AtMost(bounds.redis));
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

fn per_buyer(bytes: u64, buyers: usize) -> f64 {
    let whole = |number: u64| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    whole(bytes) / whole(u64::try_from(buyers.max(1)).unwrap_or(u64::MAX))
}
