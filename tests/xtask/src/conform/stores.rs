//! The stores of the limit service, each with a clock that the vectors move.

use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use conform::native::charges::Layers;
use conform::native::holder_of;
use conform::reply::{Answer, Hello, Reply};
use conform::vector::{Call, Case, LIMITERS, Op, Vector};
use queue_server::clock::Clock;
use queue_server::limits::redis::{RedisLimits, ScriptClock};
use queue_server::limits::{LimitStore, LimitStoreError, ProcessStore};
use shared::limiter::check::CheckRequest;
use shared::limiter::key::TableSeed;
use shared::time::Timestamp;
use tests::stack::free_addresses;
use tests::stack::process::Process;
use tests::stack::run_dir::RunDir;

/// A store, and the clock under it.
trait Home {
    fn store(&self) -> &dyn LimitStore;

    fn go_to(&mut self, now: Timestamp);
}

/// In the process of the service.
struct InProcess {
    store: ProcessStore,
    micros: Arc<AtomicU64>,
}

/// On a Redis of our own.
struct OnRedis {
    store: RedisLimits,
    ahead: Duration,
}

pub(super) fn ask_process(vectors: &[Vector]) -> Result<(Hello, Vec<Reply>)> {
    let (clock, micros) = Clock::manual(Timestamp::default());
    let store = ProcessStore::new(KEYS_MAX, TableSeed([0; 16]), clock);
    let mut home = InProcess { store, micros };
    let replies = runtime()?.block_on(replies(&mut home, vectors));
    Ok((super::own("process"), replies))
}

/// Starts `program`, a server that speaks Redis' protocol, and asks our scripts on it.
pub(super) fn ask_redis(program: &str, vectors: &[Vector]) -> Result<(Hello, Vec<Reply>)> {
    let dir = RunDir::create("conform-redis")?;
    let [address] = free_addresses()?;
    let mut command = Command::new(program);
    command.args([
        "--bind",
        "127.0.0.1",
        "--port",
        &address.port().to_string(),
        "--save",
        "",
        "--appendonly",
        "no",
    ]);
    command.arg("--dir").arg(dir.path());
    let mut server = Process::start(program, &command, &dir.path().join("redis.log"))?;
    let ahead = SystemTime::now().duration_since(UNIX_EPOCH)? + HOUR;
    let replies = runtime()?.block_on(async {
        listening(address, &mut server)?;
        let store = RedisLimits::open(&format!("redis://{address}"), BUDGET).context("no address")?;
        let mut home = OnRedis { store, ahead };
        home.connected().await?;
        Ok::<_, anyhow::Error>(replies(&mut home, vectors).await)
    })?;
    let target = if program.starts_with("valkey") { "valkey" } else { "redis" };
    Ok((Hello { version: version(program)?, ..super::own(target) }, replies))
}

async fn replies(home: &mut impl Home, vectors: &[Vector]) -> Vec<Reply> {
    let mut replies = Vec::new();
    for vector in vectors {
        replies.push(reply(home, &vector.case()).await);
    }
    replies
}

async fn reply(home: &mut impl Home, case: &Case) -> Reply {
    if !LIMITERS.contains(&case.limiter.as_str()) {
        return Reply::UnknownLimiter(case.limiter.clone());
    }
    let mut layers = match Layers::of(case) {
        Ok(layers) => layers,
        Err(reason) => return Reply::Broken(reason),
    };
    let mut answers = Vec::new();
    for call in &case.steps {
        if let Err(reason) = layers.change(call) {
            return Reply::Broken(reason);
        }
        if let Some(reason) = layers.policies().find_map(|policy| home.store().accepts(policy).err()) {
            return Reply::Cannot(reason);
        }
        home.go_to(Timestamp::from_micros(call.t_us));
        match answer(home.store(), &layers, call).await {
            Ok(answer) => answers.push(answer),
            Err(error) => return Reply::Broken(format!("{error:#}")),
        }
    }
    Reply::Answers(answers)
}

async fn answer(store: &dyn LimitStore, layers: &Layers, call: &Call) -> Result<Answer> {
    let holder = call.holder.as_deref().map(holder_of);
    let taken = layers.charges(call, call.cost).map_err(anyhow::Error::msg)?;
    let looked = layers.charges(call, 0).map_err(anyhow::Error::msg)?;
    let request = |charges| {
        CheckRequest::new(charges).map(|request| holder.into_iter().fold(request, CheckRequest::held_by))
    };
    if call.op == Op::Take {
        return Ok(layers.tell(&store.check(SHOP, &request(taken)?).await?.value));
    }
    match call.op {
        Op::Take | Op::Peek => {}
        Op::Refund => {
            let taken_at = Timestamp::from_micros(call.taken_us.unwrap_or(call.t_us));
            store.refund(SHOP, &taken, taken_at).await?;
        }
        Op::Give => {
            let holder = holder.context("nobody gives")?;
            each(&looked, |charge| store.give(SHOP, charge, holder)).await?;
        }
        // To a store, the same numbers again are no change: whoever wants keys as new says so.
        Op::SetPolicy if call.inherit.as_deref() == Some("reset") => {
            each(&looked, |charge| store.reset(SHOP, charge)).await?;
        }
        // A store learns of a change from the next charge, and peeks store nothing: this one gives back nothing.
        Op::SetPolicy => each(&looked, |charge| store.replenish(SHOP, charge)).await?,
    }
    Ok(layers.tell(&store.peek(SHOP, &request(looked)?).await?.value))
}

async fn each<'a, T, A>(charges: &'a [T], call: impl Fn(&'a T) -> A) -> Result<(), LimitStoreError>
where
    A: Future<Output = queue_server::limits::Answer<()>>,
{
    for charge in charges {
        call(charge).await?;
    }
    Ok(())
}

impl Home for InProcess {
    fn store(&self) -> &dyn LimitStore {
        &self.store
    }

    fn go_to(&mut self, now: Timestamp) {
        self.micros.store(now.as_micros(), Ordering::SeqCst);
    }
}

impl Home for OnRedis {
    fn store(&self) -> &dyn LimitStore {
        &self.store
    }

    fn go_to(&mut self, now: Timestamp) {
        self.store.tell(ScriptClock::Told { now, ahead: self.ahead });
    }
}

impl OnRedis {
    async fn connected(&self) -> Result<()> {
        let start = Instant::now();
        while !self.store.is_connected() {
            ensure!(start.elapsed() < PATIENCE, "no connection to Redis");
            tokio::time::sleep(ASK_EVERY).await;
        }
        Ok(())
    }
}

/// Waits until the port is open.
fn listening(address: SocketAddr, server: &mut Process) -> Result<()> {
    let start = Instant::now();
    while TcpStream::connect(address).is_err() {
        server.check_alive()?;
        ensure!(start.elapsed() < PATIENCE, "Redis does not listen:\n{}", server.log_tail());
        std::thread::sleep(ASK_EVERY);
    }
    Ok(())
}

/// What `redis-server --version` says: `Redis server v=7.0.15 sha=…`, `Server v=8.1.0 …`.
fn version(program: &str) -> Result<String> {
    let output = Command::new(program).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().find_map(|word| word.strip_prefix("v="));
    Ok(version.unwrap_or_default().to_owned())
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Runtime::new()?)
}

const SHOP: &str = "conform";
const KEYS_MAX: usize = 100_000;
/// Of one call: nobody waits for these answers.
const BUDGET: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(10);
const ASK_EVERY: Duration = Duration::from_millis(20);
const HOUR: Duration = Duration::from_secs(3600);
