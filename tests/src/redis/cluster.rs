//! A cluster of three masters.

use super::secure::{PASSWORD, USER};
use super::{ASK_EVERY, REDIS, RedisServer, START_PATIENCE, hosts};
use anyhow::{Result, ensure};
use std::time::Instant;

/// Three servers that share the slots evenly.
#[derive(Debug)]
pub struct RedisCluster {
    pub nodes: Vec<RedisServer>,
}

impl RedisCluster {
    /// Starts them and waits until each knows all slots.
    pub async fn start() -> Result<Self> {
        let mut nodes = Vec::new();
        for _ in 0..NODES {
            nodes.push(RedisServer::start_program(REDIS, &["--cluster-enabled", "yes"]).await?);
        }
        Self::join(nodes).await
    }

    /// All of them speak TLS.
    pub async fn start_secure() -> Result<Self> {
        let mut nodes = Vec::new();
        for _ in 0..NODES {
            let arguments = ["--cluster-enabled", "yes", "--tls-cluster", "yes"];
            nodes.push(RedisServer::start_secure(&arguments).await?);
        }
        Self::join(nodes).await
    }

    async fn join(nodes: Vec<RedisServer>) -> Result<Self> {
        let cluster = Self { nodes };
        let [first, others @ ..] = cluster.nodes.as_slice() else { anyhow::bail!("no nodes") };
        for (nth, node) in cluster.nodes.iter().enumerate() {
            let (from, to) = (SLOTS * nth / NODES, SLOTS * (nth + 1) / NODES - 1);
            let _: String =
                node.ask(&["CLUSTER", "ADDSLOTSRANGE", &from.to_string(), &to.to_string()]).await?;
        }
        for node in others {
            let _: String =
                node.ask(&["CLUSTER", "MEET", "127.0.0.1", &first.listens_at().to_string()]).await?;
        }
        let started = Instant::now();
        for node in &cluster.nodes {
            loop {
                let info: String = node.ask(&["CLUSTER", "INFO"]).await?;
                if info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3") {
                    break;
                }
                ensure!(started.elapsed() < START_PATIENCE, "the cluster does not come together: {info}");
                tokio::time::sleep(ASK_EVERY).await;
            }
        }
        Ok(cluster)
    }

    /// Where they listen.
    pub fn url(&self) -> String {
        format!("redis+cluster://{}", hosts(self.nodes.iter().map(RedisServer::port)))
    }

    /// The same by TLS, with a login.
    pub fn secure_url(&self) -> String {
        let hosts = hosts(self.nodes.iter().map(RedisServer::listens_at));
        format!("rediss+cluster://{USER}:{PASSWORD}@{hosts}")
    }
}

const NODES: usize = 3;
const SLOTS: usize = 16_384;
