//! The Redis of a scenario, and how servers reach it.

use crate::proxy::{Proxy, Weather};
use crate::redis::{RedisCluster, RedisSentinel, RedisServer};
use anyhow::{Result, ensure};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

/// What servers keep their rooms in.
pub(super) enum Ground {
    /// The disk of one server.
    Disk,
    Alone(RedisServer),
    /// Each server has a wire of its own.
    Wired(RedisServer, Vec<Proxy>),
    /// Watched by Sentinels.
    Watched(Box<RedisSentinel>),
    Cluster(RedisCluster),
}

impl Ground {
    pub(super) async fn alone() -> Result<Self> {
        Ok(Self::Alone(RedisServer::start().await?))
    }

    pub(super) async fn wired() -> Result<Self> {
        let redis = RedisServer::start().await?;
        let target = SocketAddr::from((Ipv4Addr::LOCALHOST, redis.port()));
        let mut wires = Vec::new();
        for _ in 0..SERVERS {
            wires.push(Proxy::start(vec![target]).await?);
        }
        Ok(Self::Wired(redis, wires))
    }

    pub(super) async fn watched() -> Result<Self> {
        Ok(Self::Watched(Box::new(RedisSentinel::start().await?)))
    }

    pub(super) async fn cluster() -> Result<Self> {
        Ok(Self::Cluster(RedisCluster::start().await?))
    }

    pub(super) fn url(&self) -> String {
        match self {
            Self::Disk => String::new(),
            Self::Alone(redis) | Self::Wired(redis, _) => redis.url(),
            Self::Watched(set) => set.url(),
            Self::Cluster(cluster) => cluster.url(),
        }
    }

    /// Where each server reaches Redis, if not all in the same way.
    pub(super) fn wires(&self) -> Vec<String> {
        match self {
            Self::Wired(_, wires) => wires.iter().map(|wire| format!("redis://{}", wire.address)).collect(),
            _ => Vec::new(),
        }
    }

    /// Changes what happens on the wire of one server.
    pub(super) fn weather(&self, server: usize, weather: Weather) {
        if let Self::Wired(_, wires) = self
            && let Some(wire) = wires.get(server)
        {
            wire.set(weather);
        }
    }

    /// Changes what happens on every wire.
    pub(super) fn weather_everywhere(&self, weather: Weather) {
        (0..SERVERS).for_each(|server| self.weather(server, weather));
    }

    /// The one server of Redis that everything depends on.
    pub(super) fn main(&mut self) -> Result<&mut RedisServer> {
        match self {
            Self::Alone(redis) | Self::Wired(redis, _) => Ok(redis),
            Self::Watched(set) => Ok(&mut set.master),
            Self::Disk | Self::Cluster(_) => anyhow::bail!("this ground is for another scenario"),
        }
    }

    /// Waits until a leader has written to a Redis that was empty, or until it should have: once a second it does.
    pub(super) async fn is_written_anew(&mut self) -> Result<()> {
        let redis = self.main()?;
        let asked = Instant::now();
        while asked.elapsed() < REWRITE_MAX {
            if redis.ask::<u64>(&["EXISTS", "fairgate1:{drop}:head"]).await? > 0 {
                break;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Lets the master die whose last second the replica has not seen, and waits until it is back, as a replica.
    pub(super) async fn fail_over(&mut self, with: impl FnOnce()) -> Result<()> {
        let Self::Watched(set) = self else { anyhow::bail!("nobody watches this Redis") };
        set.replica.pause()?;
        tokio::time::sleep(BEHIND).await;
        set.master.kill();
        with();
        set.replica.resume()?;
        let killed = Instant::now();
        // Sentinels break off every connection of a server whose role they change, ours too: then we ask again.
        while !set
            .replica
            .ask::<String>(&["INFO", "replication"])
            .await
            .is_ok_and(|told| told.contains("role:master"))
        {
            ensure!(killed.elapsed() < FAILOVER_MAX, "nobody follows the master");
            tokio::time::sleep(LOOK_EVERY).await;
        }
        // With its only replica promoted there is none left to confirm, so the old master comes back as one.
        set.master.restart().await?;
        let (port, back) = (set.replica.port().to_string(), Instant::now());
        while let Err(error) = set.master.ask::<String>(&["REPLICAOF", "127.0.0.1", &port]).await {
            ensure!(back.elapsed() < FAILOVER_MAX, "the old master takes no order: {error}");
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }
}

pub(super) const SERVERS: usize = 3;
/// So much the replica has not seen: less than the Sentinels take for death.
const BEHIND: Duration = Duration::from_millis(350);
const LOOK_EVERY: Duration = Duration::from_millis(50);
const REWRITE_MAX: Duration = Duration::from_secs(4);
const FAILOVER_MAX: Duration = Duration::from_secs(20);
