//! The way to Redis: one connection that all calls share, a time limit for each, and a new connection when it is lost.

use super::address::{Address, CONNECT_BUDGETS};
use super::eviction;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster_async::ClusterConnection;
use redis::{
    AsyncConnectionConfig, Cmd, ErrorKind, RedisError, RedisFuture, RedisResult, ServerErrorKind, Value,
};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;
use tracing::{info, warn};

/// Clones share the connection.
#[derive(Clone)]
pub(crate) struct Link(Arc<Shared>);

struct Shared {
    address: Address,
    budget: Duration,
    line: RwLock<Line>,
}

/// The connection as it stands.
struct Line {
    /// `None`: a task is at it, and calls fail at once.
    connection: Option<Connection>,
    /// Counts connections, so that a call that fails late breaks no newer one.
    generation: u64,
    /// Calls without an answer since the last one that had one.
    silent_calls: u32,
}

#[derive(Clone)]
enum Connection {
    Single(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// Why a command has no answer.
#[derive(Debug)]
pub(crate) enum LinkError {
    /// No connection, or no answer in time.
    Gone,
    /// Redis refuses.
    Refused(RedisError),
}

impl Link {
    /// Begins to connect, and goes on until it is. `budget` is the time limit of a call.
    pub(crate) fn open(address: Address, budget: Duration) -> Self {
        let line = RwLock::new(Line { connection: None, generation: 0, silent_calls: 0 });
        let opened = Self(Arc::new(Shared { address, budget, line }));
        tokio::spawn(connect(Arc::downgrade(&opened.0)));
        opened
    }

    pub(crate) fn budget(&self) -> Duration {
        self.0.budget
    }

    /// Whether there is a connection.
    pub(crate) fn is_up(&self) -> bool {
        self.0.line.read().unwrap_or_else(PoisonError::into_inner).connection.is_some()
    }

    /// Sends one command. The caller limits the time, and tells [`Link::silent`] when it ran out.
    pub(crate) async fn send(&self, command: &Cmd) -> Result<Value, LinkError> {
        let (connection, generation) = {
            let line = self.0.line.read().unwrap_or_else(PoisonError::into_inner);
            (line.connection.clone(), line.generation)
        };
        let mut connection = connection.ok_or(LinkError::Gone)?;
        match command.query_async(&mut connection).await {
            Ok(value) => {
                self.answered();
                Ok(value)
            }
            Err(error) if is_lost(&error) => {
                self.lose(generation, &error.to_string());
                Err(LinkError::Gone)
            }
            Err(error) => Err(LinkError::Refused(error)),
        }
    }

    /// A call had no answer in time. After some of them in a row the connection counts as lost: a machine that is gone
    /// says nothing, for minutes.
    pub(crate) fn silent(&self) {
        let generation = {
            let mut line = self.0.line.write().unwrap_or_else(PoisonError::into_inner);
            line.silent_calls = line.silent_calls.saturating_add(1);
            (line.silent_calls >= SILENT_CALLS_MAX).then_some(line.generation)
        };
        if let Some(generation) = generation {
            self.lose(generation, "no answer in time");
        }
    }

    fn answered(&self) {
        let is_silent = self.0.line.read().unwrap_or_else(PoisonError::into_inner).silent_calls > 0;
        if is_silent {
            self.0.line.write().unwrap_or_else(PoisonError::into_inner).silent_calls = 0;
        }
    }

    /// Drops the connection of this generation and begins to make another.
    fn lose(&self, generation: u64, why: &str) {
        let mut line = self.0.line.write().unwrap_or_else(PoisonError::into_inner);
        if line.generation != generation || line.connection.is_none() {
            return;
        }
        line.connection = None;
        line.silent_calls = 0;
        drop(line);
        warn!(why, "lost the connection to Redis");
        tokio::spawn(connect(Arc::downgrade(&self.0)));
    }
}

/// Connects, however long it takes: pauses double, and half of each is chance, so that many servers do not come at once.
async fn connect(shared: Weak<Shared>) {
    let mut pause = PAUSE_MIN;
    loop {
        let Some(held) = shared.upgrade() else { return };
        let limit = held.budget * CONNECT_BUDGETS;
        let connected = tokio::time::timeout(limit, held.address.connect()).await;
        match connected {
            Ok(Ok(connection)) => {
                let mut asked = connection.clone();
                {
                    let mut line = held.line.write().unwrap_or_else(PoisonError::into_inner);
                    line.generation += 1;
                    line.connection = Some(connection);
                }
                info!("connected to Redis");
                // Nobody waits for it: in a cluster it asks every master, also one that is away.
                let _ = tokio::time::timeout(limit, eviction::warn_of_it(&mut asked)).await;
                return;
            }
            Ok(Err(error)) => warn!(%error, "cannot connect to Redis"),
            Err(_) => warn!("cannot connect to Redis in time"),
        }
        // The link may be dropped meanwhile, and then nobody waits for it.
        drop(held);
        tokio::time::sleep(pause / 2 + (pause / 2).mul_f64(chance())).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

impl Address {
    async fn connect(&self) -> RedisResult<Connection> {
        // A call has its own time limit; a connection outlives a slow answer.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let mut connection = match self {
            Self::Single(client) => {
                Connection::Single(client.get_multiplexed_async_connection_with_config(&config).await?)
            }
            Self::Sentinel(client) => {
                let client = client.lock().await.async_get_client().await?;
                Connection::Single(client.get_multiplexed_async_connection_with_config(&config).await?)
            }
            Self::Cluster(client) => Connection::Cluster(client.get_async_connection().await?),
        };
        // A port that accepts is no server yet.
        redis::cmd("PING").query_async::<Value>(&mut connection).await?;
        Ok(connection)
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::Single(connection) => connection.req_packed_command(command),
            Self::Cluster(connection) => connection.req_packed_command(command),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a redis::Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::Single(connection) => connection.req_packed_commands(pipeline, offset, count),
            Self::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Single(connection) => connection.get_db(),
            Self::Cluster(connection) => connection.get_db(),
        }
    }
}

/// Whether another connection may help: this one ended, or leads to a server that no longer leads.
fn is_lost(error: &RedisError) -> bool {
    error.is_io_error()
        || error.is_connection_dropped()
        || matches!(error.kind(), ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown))
}

/// Evenly from 0 to 1; the middle where there is no random source.
fn chance() -> f64 {
    let mut byte = [0; 1];
    getrandom::fill(&mut byte).map_or(0.5, |()| f64::from(byte[0]) / 255.0)
}

const SILENT_CALLS_MAX: u32 = 5;
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);
