//! Redis and Valkey on free loopback ports, in a directory of their own, stopped by guards.

mod cluster;
mod secure;
mod sentinel;

pub use cluster::RedisCluster;
pub use secure::certificate_authority;
pub use sentinel::RedisSentinel;

use crate::stack::process::Process;
use crate::stack::run_dir::RunDir;
use anyhow::{Result, ensure};
use redis::aio::MultiplexedConnection;
use redis::{Client, Cmd, FromRedisValue, Value};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One server, running or killed. It keeps nothing on disk.
#[derive(Debug)]
pub struct RedisServer {
    program: &'static str,
    arguments: Vec<String>,
    port: u16,
    /// Where it speaks TLS, if it does.
    tls_port: Option<u16>,
    process: Option<Process>,
    dir: RunDir,
}

impl RedisServer {
    /// The servers that this machine has: Redis always, Valkey where its package exists.
    pub fn programs() -> impl Iterator<Item = &'static str> {
        ["redis-server", "valkey-server"].into_iter().filter(|program| *program == REDIS || is_there(program))
    }

    /// Starts Redis itself.
    pub async fn start() -> Result<Self> {
        Self::start_program(REDIS, &[]).await
    }

    /// Starts a server of this program with more arguments, and waits until it answers.
    pub async fn start_program(program: &'static str, arguments: &[&str]) -> Result<Self> {
        ensure!(
            is_there(program),
            "`{program}` was not found: run `apt-get install -y redis-server` as root, or `cargo xtask test`, which does"
        );
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let port = free_port()?;
        let dir = RunDir::create("redis")?;
        let mut server = Self { program, arguments, port, tls_port: None, process: None, dir };
        server.restart().await?;
        Ok(server)
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port for whom it tests, and for other servers: that of TLS where it has one.
    fn listens_at(&self) -> u16 {
        self.tls_port.unwrap_or(self.port)
    }

    /// `SIGKILL`; nothing of what it held comes back.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Stops it where it stands, with its connections open.
    pub fn pause(&self) -> Result<()> {
        self.process.as_ref().map_or(Ok(()), Process::pause)
    }

    pub fn resume(&self) -> Result<()> {
        self.process.as_ref().map_or(Ok(()), Process::resume)
    }

    /// Starts it again on the same port, empty.
    pub async fn restart(&mut self) -> Result<()> {
        self.process = None;
        let mut command = Command::new(self.program);
        command.args([
            "--port",
            &self.port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ]);
        command.arg("--dir").arg(self.dir.path()).args(&self.arguments);
        let mut process = Process::start(self.program, &command, &self.dir.path().join("redis.log"))?;
        let started = Instant::now();
        while self.connection().await.is_err() {
            process.check_alive()?;
            ensure!(
                started.elapsed() < START_PATIENCE,
                "{} does not answer:\n{}",
                self.program,
                process.log_tail()
            );
            tokio::time::sleep(ASK_EVERY).await;
        }
        self.process = Some(process);
        Ok(())
    }

    /// A connection of its own, that answers.
    pub async fn connection(&self) -> Result<MultiplexedConnection> {
        let mut connection = Client::open(self.url())?.get_multiplexed_async_connection().await?;
        redis::cmd("PING").query_async::<Value>(&mut connection).await?;
        Ok(connection)
    }

    /// Sends one command over a connection of its own.
    pub async fn ask<T: FromRedisValue>(&self, words: &[&str]) -> Result<T> {
        let mut connection = self.connection().await?;
        let (verb, arguments) = words.split_first().unwrap_or((&"PING", &[]));
        let mut command: Cmd = redis::cmd(verb);
        Ok(command.arg(arguments).query_async(&mut connection).await?)
    }

    /// Keys that would stay for ever.
    pub async fn keys_without_expiry(&self) -> Result<Vec<String>> {
        let mut connection = self.connection().await?;
        let keys: Vec<String> = redis::cmd("KEYS").arg("*").query_async(&mut connection).await?;
        let mut lasting = Vec::new();
        for key in keys {
            let ttl_ms: i64 = redis::cmd("PTTL").arg(&key).query_async(&mut connection).await?;
            if ttl_ms == -1 {
                lasting.push(key);
            }
        }
        Ok(lasting)
    }
}

fn free_port() -> Result<u16> {
    // Above them all there must be room for the cluster's own port.
    loop {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        if port < PORT_MAX {
            return Ok(port);
        }
    }
}

/// As a URL names several servers of this machine.
fn hosts(ports: impl Iterator<Item = u16>) -> String {
    ports.map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
}

fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

const REDIS: &str = "redis-server";
const PORT_MAX: u16 = 55_535;
const ASK_EVERY: Duration = Duration::from_millis(20);
const START_PATIENCE: Duration = Duration::from_secs(20);
