//! What a decision on Redis costs beside the cheapest thing that Redis does, through the same client and in one run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use queue_server::limits::LimitStore;
use queue_server::limits::redis::RedisLimits;
use redis::aio::MultiplexedConnection;
use shared::limiter::Policy;
use shared::limiter::check::{Charge, CheckRequest};
use shared::limiter::gcra::GcraPolicy;
use shared::limiter::key::Key;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::figure::Figure;

/// One connection that waits for each answer, and fifty of them; to the Redis of `url`, which is ours alone.
pub(crate) fn figures(rounds: usize, url: &str) -> Result<Vec<Figure>> {
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let alone = Callers::connect(url, 1).await?;
        let crowd = Callers::connect(url, CONNECTIONS).await?;
        let mut figures = Vec::new();
        for (callers, connections, at_most) in
            [(&alone, "1 connection", 1.5), (&crowd, "50 connections", 1.8)]
        {
            let name = format!("Lua GCRA against INCR, {connections}");
            figures.push(compare(name, at_most, rounds, callers, [Work::OneKey, Work::Increment]).await?);
            let name = format!("two keys against one on Redis, {connections}");
            figures.push(compare(name, 1.3, rounds, callers, [Work::TwoKeys, Work::OneKey]).await?);
            let name = format!("an empty script against INCR, {connections}");
            figures.push(compare(name, None, rounds, callers, [Work::EmptyScript, Work::Increment]).await?);
        }
        figures.push(alone.keys_without_expiry().await?);
        Ok(figures)
    })
}

/// What a caller does with its connection.
#[derive(Clone, Copy)]
enum Work {
    Increment,
    /// What any script costs: the floor of ours.
    EmptyScript,
    OneKey,
    TwoKeys,
}

/// Tasks with a connection each.
struct Callers(Vec<Arc<Caller>>);

struct Caller {
    bare: MultiplexedConnection,
    limits: RedisLimits,
}

impl Callers {
    async fn connect(url: &str, count: usize) -> Result<Self> {
        let client = redis::Client::open(url)?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        redis::cmd("SCRIPT").arg("LOAD").arg("return 1").query_async::<String>(&mut connection).await?;
        let mut callers = Vec::new();
        for _ in 0..count {
            let limits = RedisLimits::open(url, PATIENCE)?;
            let bare = client.get_multiplexed_async_connection().await?;
            while !limits.is_connected() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            callers.push(Arc::new(Caller { bare, limits }));
        }
        Ok(Self(callers))
    }

    /// After everything else: keys of limits that would stay for ever.
    async fn keys_without_expiry(&self) -> Result<Figure> {
        let caller = self.0.first().context("nobody is connected")?;
        let mut connection = caller.bare.clone();
        let keys: Vec<String> = redis::cmd("KEYS").arg("fairgate1:*").query_async(&mut connection).await?;
        let mut lasting = 0;
        for key in &keys {
            let ttl: i64 = redis::cmd("PTTL").arg(key).query_async(&mut connection).await?;
            lasting += u32::from(ttl == NO_EXPIRY);
        }
        Ok(Figure {
            name: "keys of limits without an expiry".to_owned(),
            unit: "keys",
            at_most: Some(0.0),
            samples: vec![f64::from(lasting)],
            note: format!("of {} that are there", keys.len()),
        })
    }

    /// Microseconds a call.
    async fn run(&self, work: Work) -> Result<f64> {
        let calls = CALLS / self.0.len();
        let started = Instant::now();
        let mut tasks = JoinSet::new();
        for (nth, caller) in self.0.iter().enumerate() {
            let caller = Arc::clone(caller);
            tasks.spawn(async move {
                for call in 0..calls {
                    caller.call(work, (nth * calls + call) % KEYS).await?;
                }
                anyhow::Ok(())
            });
        }
        for done in tasks.join_all().await {
            done?;
        }
        Ok(started.elapsed().as_secs_f64() * 1e6 / f64::from(u32::try_from(calls * self.0.len())?))
    }
}

impl Caller {
    async fn call(&self, work: Work, key: usize) -> Result<()> {
        let charge = |action: &str| -> Result<Charge> {
            // Nothing is ever refused: both sides write at each call.
            let policy = Policy::Gcra(GcraPolicy::new(1_000_000_000, 1_000_000_000, Duration::from_secs(1))?);
            let identity = key.to_be_bytes();
            Ok(Charge::new(policy, Key { service: "shop", action, identity: &identity }.hash()?, 1))
        };
        let charges = match work {
            Work::Increment => {
                let name = format!("bare:{key}");
                redis::cmd("INCR").arg(name).query_async::<i64>(&mut self.bare.clone()).await?;
                return Ok(());
            }
            Work::EmptyScript => {
                let mut script = redis::cmd("EVALSHA");
                script.arg(EMPTY_SHA1).arg(1).arg(format!("bare:{key}")).arg("").arg("").arg("1");
                script.query_async::<i64>(&mut self.bare.clone()).await?;
                return Ok(());
            }
            Work::OneKey => vec![charge("member")?],
            Work::TwoKeys => vec![charge("member")?, charge("route")?],
        };
        let reply = self.limits.check("shop", &CheckRequest::new(charges)?).await?;
        anyhow::ensure!(reply.value.refusal().is_none(), "refused");
        Ok(())
    }
}

/// Both in turn, so that whatever else the machine does hits both; the first round only warms up.
async fn compare(
    name: String,
    at_most: impl Into<Option<f64>>,
    rounds: usize,
    callers: &Callers,
    [measured, against]: [Work; 2],
) -> Result<Figure> {
    let (mut samples, mut note) = (Vec::new(), String::new());
    for round in 0..=rounds {
        let (measured, against) = (callers.run(measured).await?, callers.run(against).await?);
        if round > 0 {
            samples.push(measured / against);
            note = format!("last {measured:.1} µs against {against:.1} µs a call");
        }
    }
    Ok(Figure { name, unit: "ratio", at_most: at_most.into(), samples, note })
}

/// `return 1`.
const EMPTY_SHA1: &str = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
/// What PTTL says of a key that stays.
const NO_EXPIRY: i64 = -1;
const CONNECTIONS: usize = 50;
const CALLS: usize = 5_000;
const KEYS: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(20);
