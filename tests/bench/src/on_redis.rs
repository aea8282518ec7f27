//! What a decision on Redis costs beside the cheapest thing that Redis does, through the same client and in one run.

use std::sync::{Arc, LazyLock};
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

use crate::figure::{Figure, median};

/// One connection that waits for each answer, fifty of them, and fifty callers of one as a server has it; to the Redis of `url`,
/// which is ours alone.
pub(crate) fn figures(rounds: usize, url: &str) -> Result<Vec<Figure>> {
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let alone = Callers::connect(url, 1).await?;
        let crowd = Callers::connect(url, CALLERS).await?;
        let sharing = alone.sharing(CALLERS)?;
        let mut figures = Vec::new();
        for (callers, connections, [one_at_most, two_at_most]) in [
            (&alone, "1 connection", [Some(1.5), Some(1.3)]),
            (&crowd, "50 connections", [Some(1.8), Some(1.3)]),
            (&sharing, "50 callers of 1 connection", [None, None]),
        ] {
            let increment = (callers, Work::Increment);
            let name = format!("Lua GCRA against INCR, {connections}");
            figures.push(compare(name, one_at_most, rounds, [(callers, Work::OneKey), increment]).await?);
            let name = format!("two keys against one on Redis, {connections}");
            let both = [(callers, Work::TwoKeys), (callers, Work::OneKey)];
            figures.push(compare(name, two_at_most, rounds, both).await?);
            for (what, floor) in [
                ("an empty script", Work::EmptyScript),
                ("a script of TIME, GET and SET alone", Work::BareCalls),
            ] {
                let name = format!("{what} against INCR, {connections}");
                figures.push(compare(name, None, rounds, [(callers, floor), increment]).await?);
            }
        }
        let name = "Lua GCRA of 50 callers of 1 store against INCR of 50 connections".to_owned();
        let both = [(&sharing, Work::OneKey), (&crowd, Work::Increment)];
        figures.push(compare(name, Some(1.8), rounds, both).await?);
        figures.push(alone.keys_without_expiry().await?);
        Ok(figures)
    })
}

/// What a caller does with its connection.
#[derive(Clone, Copy)]
enum Work {
    Increment,
    /// What any script costs.
    EmptyScript,
    /// What every decision calls, without deciding: the floor of ours.
    BareCalls,
    OneKey,
    TwoKeys,
}

/// Tasks, each with the connections that it calls by.
struct Callers(Vec<Arc<Caller>>);

struct Caller {
    bare: MultiplexedConnection,
    limits: RedisLimits,
}

impl Callers {
    async fn connect(url: &str, count: usize) -> Result<Self> {
        let client = redis::Client::open(url)?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        for script in ["return 1", BARE_CALLS] {
            redis::cmd("SCRIPT").arg("LOAD").arg(script).query_async::<String>(&mut connection).await?;
        }
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

    /// So many tasks with the connections of the first.
    fn sharing(&self, count: usize) -> Result<Self> {
        let caller = self.0.first().context("nobody is connected")?;
        Ok(Self(vec![Arc::clone(caller); count]))
    }

    /// After everything else: keys of limits that would stay for ever.
    async fn keys_without_expiry(&self) -> Result<Figure> {
        let caller = self.0.first().context("nobody is connected")?;
        for key in 0..KEYS {
            caller.take(GcraPolicy::new(10, 1, Duration::from_hours(1))?, key, &["hour"]).await?;
        }
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
        match work {
            Work::Increment => {
                let name = format!("bare:{key}");
                redis::cmd("INCR").arg(name).query_async::<i64>(&mut self.bare.clone()).await?;
                Ok(())
            }
            Work::EmptyScript | Work::BareCalls => {
                let mut script = redis::cmd("EVALSHA");
                let sha1 = if matches!(work, Work::BareCalls) { bare_calls_sha1() } else { EMPTY_SHA1 };
                script.arg(sha1).arg(1).arg(format!("bare:{key}")).arg("").arg("").arg("1");
                script.query_async::<i64>(&mut self.bare.clone()).await?;
                Ok(())
            }
            // Nothing is ever refused: both sides write at each call.
            Work::OneKey => self.take(GcraPolicy::new(BILLION, BILLION, SECOND)?, key, &["member"]).await,
            Work::TwoKeys => {
                self.take(GcraPolicy::new(BILLION, BILLION, SECOND)?, key, &["member", "route"]).await
            }
        }
    }

    /// One unit of each of these actions.
    async fn take(&self, policy: GcraPolicy, key: usize, actions: &[&str]) -> Result<()> {
        let identity = key.to_be_bytes();
        let charge = |action: &&str| {
            let key = Key { service: "shop", action, identity: &identity };
            anyhow::Ok(Charge::new(Policy::Gcra(policy), key.hash()?, 1))
        };
        let charges = actions.iter().map(charge).collect::<Result<Vec<_>>>()?;
        let reply = self.limits.check("shop", &CheckRequest::new(charges)?).await?;
        anyhow::ensure!(reply.value.refusal().is_none(), "refused");
        Ok(())
    }
}

/// Both in turn, so that whatever else the machine does hits both; the first round only warms up.
async fn compare(
    name: String,
    at_most: Option<f64>,
    rounds: usize,
    [measured, against]: [(&Callers, Work); 2],
) -> Result<Figure> {
    let (mut samples, mut measured_us, mut against_us) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds * SLICES {
        let (measured, against) = (measured.0.run(measured.1).await?, against.0.run(against.1).await?);
        if round > 0 {
            samples.push(measured / against);
            measured_us.push(measured);
            against_us.push(against);
        }
    }
    let note = format!("{:.1} µs against {:.1} µs a call", median(&measured_us), median(&against_us));
    Ok(Figure { name, unit: "ratio", at_most, samples, note })
}

fn bare_calls_sha1() -> &'static str {
    static SHA1: LazyLock<String> = LazyLock::new(|| redis::Script::new(BARE_CALLS).get_hash().to_owned());
    &SHA1
}

const BARE_CALLS: &str =
    "redis.call('TIME') redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], '1', 'PX', 60000) return 1";

/// `return 1`.
const EMPTY_SHA1: &str = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
/// What PTTL says of a key that stays.
const NO_EXPIRY: i64 = -1;
const BILLION: u64 = 1_000_000_000;
const SECOND: Duration = Duration::from_secs(1);
const CALLERS: usize = 50;
/// Short slices in turns, so that whatever else the machine does falls into few pairs.
const SLICES: usize = 5;
const CALLS: usize = 1_000;
const KEYS: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(20);
