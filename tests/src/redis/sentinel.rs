//! A master with a replica, watched by three Sentinels.

use super::secure::{PASSWORD, USER, tls_arguments};
use super::{ASK_EVERY, REDIS, RedisServer, START_PATIENCE, free_port, hosts};
use crate::stack::process::Process;
use crate::stack::run_dir::RunDir;
use anyhow::{Result, ensure};
use redis::{Client, Value};
use std::process::Command;
use std::time::Instant;

/// Drop order: the Sentinels go first, so that they see nobody die.
#[derive(Debug)]
pub struct RedisSentinel {
    sentinels: Vec<Sentinel>,
    is_secure: bool,
    pub master: RedisServer,
    pub replica: RedisServer,
    dir: RunDir,
}

#[derive(Debug)]
struct Sentinel {
    _process: Process,
    /// For the harness.
    port: u16,
    tls_port: Option<u16>,
}

impl RedisSentinel {
    /// Starts them and waits until every Sentinel knows the replica and the others.
    pub async fn start() -> Result<Self> {
        let master = RedisServer::start_program(REDIS, &AT_ONCE).await?;
        let port = master.port().to_string();
        let replica = RedisServer::start_program(REDIS, &["--replicaof", "127.0.0.1", &port]).await?;
        Self::watch(master, replica, false).await
    }

    /// All of them speak TLS, and the Sentinels have a password of their own.
    pub async fn start_secure() -> Result<Self> {
        let master = RedisServer::start_secure(&AT_ONCE).await?;
        let port = master.listens_at().to_string();
        let replica = RedisServer::start_secure(&["--replicaof", "127.0.0.1", &port]).await?;
        Self::watch(master, replica, true).await
    }

    async fn watch(master: RedisServer, replica: RedisServer, is_secure: bool) -> Result<Self> {
        let dir = RunDir::create("sentinel")?;
        let mut set = Self { sentinels: Vec::new(), is_secure, master, replica, dir };
        for nth in 0..SENTINELS {
            let sentinel = set.start_sentinel(nth)?;
            set.sentinels.push(sentinel);
        }
        set.wait_until_all_are_known().await?;
        Ok(set)
    }

    fn start_sentinel(&self, nth: usize) -> Result<Sentinel> {
        let (port, dir) = (free_port()?, self.dir.path());
        let tls_port = if self.is_secure { Some(free_port()?) } else { None };
        let mut lines = vec![
            format!("port {port}"),
            "bind 127.0.0.1".to_owned(),
            format!("dir {}", dir.display()),
            format!("sentinel monitor {NAME} 127.0.0.1 {} 2", self.master.listens_at()),
            format!("sentinel down-after-milliseconds {NAME} 500"),
            format!("sentinel failover-timeout {NAME} 2000"),
        ];
        if let Some(port) = tls_port {
            lines.push(format!("requirepass {PASSWORD_OF_SENTINELS}"));
            let tls = tls_arguments(port);
            lines.extend(tls.chunks(2).map(|pair| pair.join(" ").trim_start_matches('-').to_owned()));
        }
        let file = dir.join(format!("sentinel-{nth}.conf"));
        std::fs::write(&file, lines.join("\n"))?;
        let mut command = Command::new(REDIS);
        command.arg(&file).arg("--sentinel");
        let log = dir.join(format!("sentinel-{nth}.log"));
        Ok(Sentinel { _process: Process::start("a Sentinel", &command, &log)?, port, tls_port })
    }

    /// Where the Sentinels listen, and what they call the master.
    pub fn url(&self) -> String {
        format!("redis+sentinel://{}/{NAME}", hosts(self.sentinels.iter().map(|sentinel| sentinel.port)))
    }

    /// The same by TLS, with the login at the servers and that at the Sentinels.
    pub fn secure_url(&self) -> String {
        let hosts = hosts(self.sentinels.iter().filter_map(|sentinel| sentinel.tls_port));
        format!("rediss+sentinel://{USER}:{PASSWORD}@{hosts}/{NAME}?sentinels=:{PASSWORD_OF_SENTINELS}")
    }

    async fn wait_until_all_are_known(&self) -> Result<()> {
        let started = Instant::now();
        let login = if self.is_secure { format!(":{PASSWORD_OF_SENTINELS}@") } else { String::new() };
        for sentinel in &self.sentinels {
            let url = format!("redis://{login}127.0.0.1:{}", sentinel.port);
            while !knows_all(&url).await.unwrap_or(false) {
                ensure!(started.elapsed() < START_PATIENCE, "the Sentinels do not find each other");
                tokio::time::sleep(ASK_EVERY).await;
            }
        }
        Ok(())
    }
}

/// Whether this Sentinel counts one replica and two other Sentinels.
async fn knows_all(url: &str) -> Result<bool> {
    let client = Client::open(url)?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    let master: Vec<Value> =
        redis::cmd("SENTINEL").arg("MASTER").arg(NAME).query_async(&mut connection).await?;
    let words: Vec<String> = master.into_iter().map(redis::from_redis_value).collect::<Result<_, _>>()?;
    let field =
        |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1)).cloned();
    Ok(field("num-slaves").as_deref() == Some("1") && field("num-other-sentinels").as_deref() == Some("2"))
}

const AT_ONCE: [&str; 2] = ["--repl-diskless-sync-delay", "0"];
const SENTINELS: usize = 3;
const PASSWORD_OF_SENTINELS: &str = "watch";
const NAME: &str = "main";
