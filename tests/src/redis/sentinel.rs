//! A master with a replica, watched by three Sentinels.

use super::{ASK_EVERY, REDIS, RedisServer, START_PATIENCE, free_port};
use crate::stack::process::Process;
use crate::stack::run_dir::RunDir;
use anyhow::{Result, ensure};
use redis::{Client, Value};
use std::process::Command;
use std::time::Instant;

/// Drop order: the Sentinels go first, so that they see nobody die.
#[derive(Debug)]
pub struct RedisSentinel {
    _sentinels: Vec<Process>,
    ports: Vec<u16>,
    pub master: RedisServer,
    pub replica: RedisServer,
    _dir: RunDir,
}

impl RedisSentinel {
    /// Starts them and waits until every Sentinel knows the replica and the others.
    pub async fn start() -> Result<Self> {
        let master = RedisServer::start_program(REDIS, &["--repl-diskless-sync-delay", "0"]).await?;
        let port = master.port().to_string();
        let replica = RedisServer::start_program(REDIS, &["--replicaof", "127.0.0.1", &port]).await?;
        let dir = RunDir::create("sentinel")?;
        let (mut sentinels, mut ports) = (Vec::new(), Vec::new());
        for nth in 0..SENTINELS {
            let port = free_port()?;
            let file = dir.path().join(format!("sentinel-{nth}.conf"));
            let watched = format!("sentinel monitor {NAME} 127.0.0.1 {} 2\n", master.port());
            let patience = format!(
                "sentinel down-after-milliseconds {NAME} 500\nsentinel failover-timeout {NAME} 2000\n"
            );
            std::fs::write(
                &file,
                format!("port {port}\nbind 127.0.0.1\ndir {}\n{watched}{patience}", dir.path().display()),
            )?;
            let mut command = Command::new(REDIS);
            command.arg(&file).arg("--sentinel");
            sentinels.push(Process::start(
                "a Sentinel",
                &command,
                &dir.path().join(format!("sentinel-{nth}.log")),
            )?);
            ports.push(port);
        }
        let set = Self { _sentinels: sentinels, ports, master, replica, _dir: dir };
        set.wait_until_all_are_known().await?;
        Ok(set)
    }

    /// Where the Sentinels listen, and what they call the master.
    pub fn url(&self) -> String {
        let hosts: Vec<String> = self.ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        format!("redis+sentinel://{}/{NAME}", hosts.join(","))
    }

    async fn wait_until_all_are_known(&self) -> Result<()> {
        let started = Instant::now();
        for port in &self.ports {
            while !knows_all(*port).await.unwrap_or(false) {
                ensure!(started.elapsed() < START_PATIENCE, "the Sentinels do not find each other");
                tokio::time::sleep(ASK_EVERY).await;
            }
        }
        Ok(())
    }
}

/// Whether this Sentinel counts one replica and two other Sentinels.
async fn knows_all(port: u16) -> Result<bool> {
    let client = Client::open(format!("redis://127.0.0.1:{port}"))?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    let master: Vec<Value> =
        redis::cmd("SENTINEL").arg("MASTER").arg(NAME).query_async(&mut connection).await?;
    let words: Vec<String> = master.into_iter().map(redis::from_redis_value).collect::<Result<_, _>>()?;
    let field =
        |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1)).cloned();
    Ok(field("num-slaves").as_deref() == Some("1") && field("num-other-sentinels").as_deref() == Some("2"))
}

const SENTINELS: usize = 3;
const NAME: &str = "main";
