//! What happens to servers, disks, wires, clocks, keys and Redis.

use super::crowd::Crowd;
use super::ground::{Ground, SERVERS};
use crate::proxy::Weather;
use crate::stack::fleet::{Build, Fleet, FleetSetup};
use anyhow::{Context, Result};
use fastrand::Rng;
use std::time::Duration;
use tokio::time::sleep;

/// One kind of fault, struck again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scenario {
    /// `SIGKILL` of the leader, which comes back.
    KillLeader,
    /// `SIGSTOP` of the leader for longer than its lease.
    StopLeader,
    /// `SIGKILL` of every server, one shortly after the other.
    RestartStorm,
    /// `SIGTERM` of every server, one after the other, as a new version is rolled out.
    RollingRestart,
    /// The keys are rotated in two steps, with all servers restarted in each.
    RotateKeys,
    /// Servers come back with clocks up to an hour ahead or behind, and lead.
    SkewedClocks,
    /// `SIGSTOP` of Redis.
    StopRedis,
    /// Redis comes back empty, under a living leader that dies soon afterwards.
    LoseRedis,
    /// The leader reaches Redis no more, and clients reach the leader.
    PartitionLeader,
    /// Everything takes longer on the way to Redis, about as long as a commit may take.
    SlowRedis,
    /// A Sentinel failover under a living leader.
    Failover,
    /// A Sentinel failover to a replica that is behind, and `SIGKILL` of the leader at the same moment; one replica confirms.
    FailoverWithLeader,
    /// On a cluster: the leader dies, or a node of the cluster stops.
    Cluster,
    /// One server with its own disk: `SIGKILL`.
    KillAlone,
    /// One server with its own disk: no file grows any more.
    DiskFull,
    /// Buyers come through an edge, which dies, or a server behind it.
    Edge,
}

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::KillLeader,
        Self::StopLeader,
        Self::RestartStorm,
        Self::RollingRestart,
        Self::RotateKeys,
        Self::SkewedClocks,
        Self::StopRedis,
        Self::LoseRedis,
        Self::PartitionLeader,
        Self::SlowRedis,
        Self::Failover,
        Self::FailoverWithLeader,
        Self::Cluster,
        Self::KillAlone,
        Self::DiskFull,
        Self::Edge,
    ];

    /// Whether it needs programs with planted faults, to shift their clocks.
    pub fn is_skewed(self) -> bool {
        self == Self::SkewedClocks
    }

    /// Whether it needs the Worker.
    pub fn has_edge(self) -> bool {
        self == Self::Edge
    }

    pub(super) async fn ground(self) -> Result<Ground> {
        match self {
            Self::KillAlone | Self::DiskFull => Ok(Ground::Disk),
            Self::PartitionLeader | Self::SlowRedis => Ground::wired().await,
            Self::Failover | Self::FailoverWithLeader => Ground::watched().await,
            Self::Cluster => Ground::cluster().await,
            _ => Ground::alone().await,
        }
    }

    pub(super) fn prepare(self, ground: &Ground, setup: &mut FleetSetup) {
        let is_alone = matches!(ground, Ground::Disk);
        setup.embedded = is_alone;
        setup.servers = if is_alone { 1 } else { SERVERS };
        setup.wires = ground.wires();
        setup.replicas = u32::from(self == Self::FailoverWithLeader);
        setup.build = if self.is_skewed() { Build::Planted } else { Build::Tested };
        setup.edge = self.has_edge();
    }

    /// Faults in one run; a failover leaves nobody to fail over to, and no more than two keys live at once.
    pub(super) fn faults(self) -> u32 {
        match self {
            Self::Failover | Self::FailoverWithLeader | Self::RotateKeys => 1,
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
        match self {
            Self::StopRedis
            | Self::LoseRedis
            | Self::PartitionLeader
            | Self::SlowRedis
            | Self::Failover
            | Self::FailoverWithLeader
            | Self::Cluster => self.strike_redis(ground, fleet, crowd, rng).await?,
            _ => self.strike_servers(fleet, crowd, rng).await?,
        }
        crowd.more(MORE, |_| true).await?;
        Ok(())
    }

    /// What happens to servers, their disks, clocks and keys, and to the edge.
    async fn strike_servers(self, fleet: &mut Fleet, crowd: &Crowd, rng: &mut Rng) -> Result<()> {
        match self {
            Self::KillLeader => kill_leader(fleet, crowd).await?,
            Self::StopLeader => stop_leader(fleet, rng).await?,
            Self::RestartStorm => {
                for nth in 0..fleet.servers.len() {
                    fleet.servers[nth].kill();
                    pause(rng, 50..400).await;
                    fleet.servers[nth].restart().await?;
                }
            }
            Self::RollingRestart => {
                for server in &mut fleet.servers {
                    server.stop().await?;
                    server.restart().await?;
                }
            }
            Self::RotateKeys => {
                fleet.rotate_keys().await?;
                crowd.more(MORE, |_| true).await?;
                fleet.rotate_keys().await?;
            }
            Self::SkewedClocks => {
                let leader = fleet.leader_among(|_| true).await?;
                fleet.servers[leader].kill();
                fleet.servers[leader].shift_clock(rng.i64(-SKEW_MAX_S..=SKEW_MAX_S));
                crowd.more(MORE, |server| server != fleet.addresses[leader]).await?;
                fleet.servers[leader].restart().await?;
            }
            Self::KillAlone => {
                fleet.servers[0].kill();
                pause(rng, 0..300).await;
                fleet.servers[0].restart().await?;
            }
            Self::DiskFull => {
                fleet.servers[0].fill_disk(true)?;
                pause(rng, 300..2_000).await;
                fleet.servers[0].fill_disk(false)?;
            }
            Self::Edge => match rng.u8(0..3) {
                0 => kill_leader(fleet, crowd).await?,
                1 => stop_leader(fleet, rng).await?,
                _ => fleet.edge.as_mut().context("no edge")?.0.restart().await?,
            },
            _ => anyhow::bail!("this is no fault of servers"),
        }
        Ok(())
    }

    /// What happens to Redis and on the way to it.
    async fn strike_redis(
        self,
        ground: &mut Ground,
        fleet: &mut Fleet,
        crowd: &Crowd,
        rng: &mut Rng,
    ) -> Result<()> {
        match self {
            Self::StopRedis => {
                ground.main()?.pause()?;
                pause(rng, 100..3_000).await;
                ground.main()?.resume()?;
            }
            Self::LoseRedis => {
                ground.main()?.restart().await?;
                ground.is_written_anew().await?;
                kill_leader(fleet, crowd).await?;
            }
            Self::PartitionLeader => {
                let leader = fleet.leader_among(|_| true).await?;
                ground.weather(leader, Weather::Cut);
                let parted = fleet.addresses[leader];
                let others = crowd.more(MORE, |server| server != parted).await;
                pause(rng, 0..1_000).await;
                ground.weather(leader, Weather::Fair);
                others?;
            }
            Self::SlowRedis => {
                ground.weather_everywhere(Weather::Slow(Duration::from_millis(rng.u64(5..40))));
                pause(rng, 1_000..3_000).await;
                ground.weather_everywhere(Weather::Fair);
            }
            Self::Failover => ground.main()?.kill(),
            Self::FailoverWithLeader => {
                let leader = fleet.leader_among(|_| true).await?;
                ground.fail_over(|| fleet.servers[leader].kill()).await?;
                fleet.servers[leader].restart().await?;
            }
            Self::Cluster if rng.bool() => kill_leader(fleet, crowd).await?,
            Self::Cluster => {
                let Ground::Cluster(cluster) = ground else { anyhow::bail!("no cluster") };
                let node = rng.choice(&cluster.nodes).context("no nodes")?;
                node.pause()?;
                pause(rng, 100..3_000).await;
                node.resume()?;
            }
            _ => anyhow::bail!("this is no fault of Redis"),
        }
        Ok(())
    }
}

async fn kill_leader(fleet: &mut Fleet, crowd: &Crowd) -> Result<()> {
    let leader = fleet.leader_among(|_| true).await?;
    fleet.servers[leader].kill();
    crowd.more(MORE, |server| server != fleet.addresses[leader]).await?;
    fleet.servers[leader].restart().await
}

async fn stop_leader(fleet: &mut Fleet, rng: &mut Rng) -> Result<()> {
    let leader = fleet.leader_among(|_| true).await?;
    fleet.servers[leader].pause()?;
    pause(rng, 1_300..2_500).await;
    fleet.servers[leader].resume()
}

async fn pause(rng: &mut Rng, ms: std::ops::Range<u64>) {
    sleep(Duration::from_millis(rng.u64(ms))).await;
}

/// Acknowledged joins by which a fault counts as over.
const MORE: usize = 50;
const SKEW_MAX_S: i64 = 3_600;
