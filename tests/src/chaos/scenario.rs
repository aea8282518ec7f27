//! What happens to servers and Redis.

use super::crowd::Crowd;
use crate::redis::{RedisSentinel, RedisServer};
use crate::stack::fleet::Fleet;
use anyhow::{Result, ensure};
use fastrand::Rng;
use std::time::{Duration, Instant};

/// One kind of fault, struck again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scenario {
    /// `SIGKILL` of the leader, which comes back.
    KillLeader,
    /// `SIGSTOP` of the leader for longer than its lease.
    StopLeader,
    /// `SIGKILL` of every server, one shortly after the other.
    RestartStorm,
    /// `SIGSTOP` of Redis.
    StopRedis,
    /// Redis comes back empty, under a living leader.
    LoseRedis,
    /// A Sentinel failover under a living leader.
    Failover,
    /// A Sentinel failover, and `SIGKILL` of the leader at the same moment; one replica confirms.
    FailoverWithLeader,
}

/// The Redis of a scenario.
pub(super) enum Ground {
    Alone(RedisServer),
    Watched(Box<RedisSentinel>),
}

impl Ground {
    pub(super) fn url(&self) -> String {
        match self {
            Self::Alone(redis) => redis.url(),
            Self::Watched(set) => set.url(),
        }
    }
}

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::KillLeader,
        Self::StopLeader,
        Self::RestartStorm,
        Self::StopRedis,
        Self::LoseRedis,
        Self::Failover,
        Self::FailoverWithLeader,
    ];

    pub(super) async fn ground(self) -> Result<Ground> {
        Ok(match self {
            Self::Failover | Self::FailoverWithLeader => {
                Ground::Watched(Box::new(RedisSentinel::start().await?))
            }
            _ => Ground::Alone(RedisServer::start().await?),
        })
    }

    pub(super) fn replicas(self) -> u32 {
        u32::from(self == Self::FailoverWithLeader)
    }

    /// Faults in one run; a failover leaves nobody to fail over to.
    pub(super) fn faults(self) -> u32 {
        match self {
            Self::Failover | Self::FailoverWithLeader => 1,
            _ => 3,
        }
    }

    /// One fault, and its end.
    pub(super) async fn strike(
        self,
        ground: &mut Ground,
        fleet: &mut Fleet,
        crowd: &Crowd,
        rng: &mut Rng,
    ) -> Result<()> {
        let leader = fleet.leader_among(|_| true).await?;
        match (self, ground) {
            (Self::KillLeader, _) => {
                fleet.servers[leader].kill();
                crowd.more(MORE, |server| server != fleet.addresses[leader]).await?;
                fleet.servers[leader].restart().await?;
            }
            (Self::StopLeader, _) => {
                fleet.servers[leader].pause()?;
                tokio::time::sleep(Duration::from_millis(rng.u64(1_300..2_500))).await;
                fleet.servers[leader].resume()?;
            }
            (Self::RestartStorm, _) => {
                for nth in 0..fleet.servers.len() {
                    fleet.servers[nth].kill();
                    tokio::time::sleep(Duration::from_millis(rng.u64(50..400))).await;
                    fleet.servers[nth].restart().await?;
                }
            }
            (Self::StopRedis, Ground::Alone(redis)) => {
                redis.pause()?;
                tokio::time::sleep(Duration::from_millis(rng.u64(100..3_000))).await;
                redis.resume()?;
            }
            (Self::LoseRedis, Ground::Alone(redis)) => redis.restart().await?,
            (Self::Failover, Ground::Watched(set)) => set.master.kill(),
            (Self::FailoverWithLeader, Ground::Watched(set)) => {
                set.master.kill();
                fleet.servers[leader].kill();
                follow_again(set).await?;
                fleet.servers[leader].restart().await?;
            }
            (Self::StopRedis | Self::LoseRedis, Ground::Watched(_))
            | (Self::Failover | Self::FailoverWithLeader, Ground::Alone(_)) => {
                anyhow::bail!("this ground is for another scenario");
            }
        }
        crowd.more(MORE, |_| true).await?;
        Ok(())
    }
}

/// With its only replica promoted there is none left to confirm, so the old master comes back as one.
async fn follow_again(set: &mut RedisSentinel) -> Result<()> {
    let killed = Instant::now();
    while !set.replica.ask::<String>(&["INFO", "replication"]).await?.contains("role:master") {
        ensure!(killed.elapsed() < FAILOVER_MAX, "nobody follows the master");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    set.master.restart().await?;
    let port = set.replica.port().to_string();
    let _: String = set.master.ask(&["REPLICAOF", "127.0.0.1", &port]).await?;
    Ok(())
}

/// Acknowledged joins by which a fault counts as over.
const MORE: usize = 50;
const FAILOVER_MAX: Duration = Duration::from_secs(20);
