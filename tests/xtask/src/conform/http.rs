//! The limit service over HTTP: what a service in any language sees of it, with a clock that the vectors move.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use conform::native::charges::Layers;
use conform::reply::{Answer, Hello, Reply};
use conform::vector::{Call, Case, LIMITERS, Op, Vector};
use queue_server::access::{AccessKeys, Role, Shops};
use queue_server::app::App;
use queue_server::clock::Clock;
use queue_server::document::{ConfigDocument, LiveDocument};
use queue_server::keys::{PassKey, PassSigner};
use queue_server::limits::{Home, Limits, Live, ProcessStore};
use queue_server::members::Members;
use queue_server::metrics::Metrics;
use queue_server::origins::Origins;
use queue_server::rooms::Rooms;
use queue_server::{http, listen};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use shared::config::Config;
use shared::limiter::key::TableSeed;
use shared::limiter::{Policy, PolicySettings};
use shared::time::Timestamp;
use shared::token::{MasterKeys, ServerKeys};
use shared::wire::limits::{CheckResult, CheckResults};
use tokio::net::TcpListener;

/// What the service cannot be asked over HTTP.
#[derive(Debug)]
struct Inexpressible(String);

/// The service, and a caller with its keys.
struct Caller {
    client: reqwest::Client,
    url: String,
    check_key: String,
    admin_key: String,
    micros: Arc<AtomicU64>,
}

/// One case under way.
struct Asking<'a> {
    caller: &'a Caller,
    case: &'a Case,
    layers: Layers,
    /// What is in force for each layer, so that only changes are sent.
    told: Vec<(Policy, Value)>,
    taken: Vec<Taken>,
}

/// A check that passed.
struct Taken {
    keys: Value,
    cost: u64,
    at_us: u64,
    holder: Option<String>,
    receipt: String,
}

pub(super) fn ask(vectors: &[Vector]) -> Result<(Hello, Vec<Reply>)> {
    let replies = tokio::runtime::Runtime::new()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let caller = start(listener)?;
        let mut replies = Vec::new();
        for vector in vectors {
            replies.push(caller.reply(&vector.case()).await);
        }
        anyhow::Ok(replies)
    })?;
    Ok((super::own("http"), replies))
}

/// A whole server without a room. It ends with the runtime.
fn start(listener: TcpListener) -> Result<Caller> {
    let config = Config::parse("fairgate.toml", CONFIG).map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let (clock, micros) = Clock::manual(Timestamp::default());
    let metrics = Arc::new(Metrics::new());
    let keys = ServerKeys::new(&MasterKeys::first([7; 32]));
    let mut access = AccessKeys::default();
    let mut key = |role: Role| access.create(role.name().to_owned(), BTreeSet::from([role]), Shops::All);
    let (check_key, admin_key) = (key(Role::LimitsCheck)?, key(Role::LimitsAdmin)?);
    let store = Arc::new(ProcessStore::new(KEYS_MAX, TableSeed([0; 16]), clock.clone()));
    let home = Home::local(store, clock.clone());
    let live = Live::new(home.store(), config.clone(), access, Vec::new(), None)?;
    let limits = Limits::new(live, home, keys.clone(), Arc::clone(&metrics));
    let origins = Origins::new(&config, clock.now());
    let app = App {
        keys,
        passes: PassSigner::new(&[PassKey::generate()?])?,
        config,
        document: LiveDocument::new(ConfigDocument::new(String::new())),
        clock,
        rooms: Rooms::new(),
        origins,
        peers: None,
        limits,
        members: Members::default(),
        metrics,
    };
    let url = format!("http://{}", listener.local_addr()?);
    let router = http::router(Arc::new(app));
    tokio::spawn(listen::serve(
        listener,
        router,
        listen::ConnectionBounds::default(),
        std::future::pending(),
    ));
    let client = reqwest::Client::builder().timeout(PATIENCE).build()?;
    Ok(Caller { client, url, check_key, admin_key, micros })
}

impl Caller {
    async fn reply(&self, case: &Case) -> Reply {
        if !LIMITERS.contains(&case.limiter.as_str()) {
            return Reply::UnknownLimiter(case.limiter.clone());
        }
        let layers = match Layers::of(case) {
            Ok(layers) => layers,
            Err(reason) => return Reply::Broken(reason),
        };
        let mut asking = Asking { caller: self, case, layers, told: Vec::new(), taken: Vec::new() };
        let mut answers = Vec::new();
        for call in &case.steps {
            match asking.answer(call).await {
                Ok(Ok(answer)) => answers.push(answer),
                Ok(Err(Inexpressible(reason))) => return Reply::Cannot(reason),
                Err(error) => return Reply::Broken(format!("{error:#}")),
            }
        }
        Reply::Answers(answers)
    }

    fn request(&self, method: Method, path: &str, key: &str, body: &Value) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url)).bearer_auth(key).json(body)
    }

    async fn post(&self, path: &str, key: &str, body: &Value) -> Result<Response> {
        let response = self.request(Method::POST, path, key, body).send().await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        anyhow::bail!("{path}: {status}: {}", response.text().await?)
    }
}

impl Asking<'_> {
    async fn answer(&mut self, call: &Call) -> Result<Result<Answer, Inexpressible>> {
        self.layers.change(call).map_err(anyhow::Error::msg)?;
        self.caller.micros.store(call.t_us, Ordering::SeqCst);
        if let Err(refused) = self.tell_policies(call).await? {
            return Ok(Err(refused));
        }
        match call.op {
            Op::Take | Op::Peek => {}
            Op::Refund => {
                let taken_us = call.taken_us.unwrap_or(call.t_us);
                let keys = self.keys(call);
                let found = self.taken.iter().position(|taken| {
                    taken.at_us == taken_us && taken.cost == call.cost && taken.keys == keys
                });
                let Some(found) = found else { return Ok(Err(Inexpressible(NO_RECEIPT.to_owned()))) };
                let receipts = json!({"receipts": [self.taken.remove(found).receipt]});
                self.caller.post("/v1/limits/refund", &self.caller.check_key, &receipts).await?;
            }
            Op::Give => {
                let keys = self.keys(call);
                let is_held = |taken: &&Taken| taken.holder == call.holder && taken.keys == keys;
                let receipts: Vec<&str> =
                    self.taken.iter().filter(is_held).map(|taken| taken.receipt.as_str()).collect();
                // Who holds nothing has no receipt to give.
                if !receipts.is_empty() {
                    let body = json!({"receipts": receipts});
                    self.caller.post("/v1/limits/give", &self.caller.check_key, &body).await?;
                }
            }
            Op::SetPolicy => self.carry_over(call).await?,
        }
        self.ask(call).await.map(Ok)
    }

    /// Puts the policies of a call in force where they are not yet.
    async fn tell_policies(&mut self, call: &Call) -> Result<Result<(), Inexpressible>> {
        let policies: Vec<Policy> = self.layers.policies().copied().collect();
        ensure!(policies.len() <= LAYERS.len(), "more layers than this target has parts of keys for");
        for (index, policy) in policies.into_iter().enumerate() {
            let inherit = json!(call.inherit.as_deref().unwrap_or("keep"));
            if self.told.get(index) == Some(&(policy, inherit.clone())) {
                continue;
            }
            let path = format!("/v1/shops/{SHOP}/policies/layer-{index}");
            let body = json!({"settings": PolicySettings::from(policy), "inherit": inherit});
            let response =
                self.caller.request(Method::PUT, &path, &self.caller.admin_key, &body).send().await?;
            match response.status() {
                StatusCode::OK => {}
                StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY if policy.quota() == 0 => {
                    return Ok(Err(Inexpressible(NOBODY.to_owned())));
                }
                status => anyhow::bail!("{path}: {status}: {}", response.text().await?),
            }
            self.told.truncate(index);
            self.told.push((policy, inherit));
        }
        Ok(Ok(()))
    }

    /// The service learns of a change from the next charge; the same numbers again are no change, so whoever wants keys as new
    /// says so.
    async fn carry_over(&self, call: &Call) -> Result<()> {
        let is_reset = call.inherit.as_deref() == Some("reset");
        for index in 0..self.layers.policies().count() {
            let policy = format!("layer-{index}");
            let mut body = json!({"shop": SHOP, "policy": policy, "keys": self.keys(call)});
            if !is_reset {
                body["cost"] = json!(0);
            }
            let path = if is_reset { "/v1/limits/reset" } else { "/v1/limits/replenish" };
            self.caller.post(path, &self.caller.admin_key, &body).await?;
        }
        Ok(())
    }

    /// Takes or looks, and tells what the service says of it.
    async fn ask(&mut self, call: &Call) -> Result<Answer> {
        let takes = call.op == Op::Take;
        let policies: Vec<String> =
            (0..self.layers.policies().count()).map(|index| format!("layer-{index}")).collect();
        let mut check = json!({
            "shop": SHOP, "policies": policies, "keys": self.keys(call), "cost": if takes { call.cost } else { 0 },
        });
        if let Some(holder) = &call.holder {
            check["holder"] = json!(holder);
        }
        let path = if takes { "/v1/limits/check" } else { "/v1/limits/peek" };
        let key = &self.caller.check_key;
        let results: CheckResults =
            self.caller.post(path, key, &json!({"checks": [check]})).await?.json().await?;
        let [result] = <[CheckResult; 1]>::try_from(results.results).ok().context("not one result")?;
        // The seconds stand in a field of a refusal, which a single check has.
        let seconds = if result.allowed {
            None
        } else {
            let refusal = self.caller.request(Method::POST, "/v1/limits/peek", key, &check).send().await?;
            ensure!(refusal.status().is_client_error(), "{} for what a batch refuses", refusal.status());
            refusal
                .headers()
                .get("retry-after")
                .map(|value| value.to_str())
                .transpose()?
                .map(str::parse)
                .transpose()?
        };
        let answer = self.told_of(&result, seconds);
        if let (true, Some(receipt)) = (takes, result.receipt) {
            let (cost, holder) = (call.cost, call.holder.clone());
            self.taken.push(Taken { keys: self.keys(call), cost, at_us: call.t_us, holder, receipt });
        }
        Ok(answer)
    }

    fn told_of(&self, result: &CheckResult, seconds: Option<u64>) -> Answer {
        let names = self.layers.names();
        let bound_by =
            result.policy.as_deref().and_then(|policy| policy.strip_prefix("layer-")?.parse::<usize>().ok());
        let wait = if result.allowed { Some(0) } else { result.retry_after_us };
        [
            ("ok", json!(result.allowed)),
            ("remaining", json!(result.limits.iter().map(|limit| limit.remaining).min())),
            ("retry_after_us", json!(wait)),
            ("retry_after_s", json!(seconds)),
            ("reset_after_us", json!(result.limits.iter().map(|limit| limit.reset_after_us).max())),
            ("delay_us", json!(result.allowed.then_some(result.delay_us))),
            ("bound_by", json!(bound_by.and_then(|index| names.get(index)))),
        ]
        .into_iter()
        .map(|(field, value)| (field.to_owned(), value))
        .collect()
    }

    /// Parts of keys that no other case has.
    fn keys(&self, call: &Call) -> Value {
        let key = |(name, part): (&str, &&str)| {
            ((*part).to_owned(), json!(format!("{}/{}", self.case.name, call.key(name))))
        };
        Value::Object(self.layers.names().into_iter().zip(&LAYERS).map(key).collect())
    }
}

const SHOP: &str = "conform";
/// What each layer counts by, in the order in which the service asks.
const LAYERS: [&str; 2] = ["client", "member"];
const KEYS_MAX: usize = 100_000;
const PATIENCE: Duration = Duration::from_secs(10);

const NO_RECEIPT: &str = "a receipt gives back what one check took, whole and once";
const NOBODY: &str = "a policy under which nobody could ever pass is refused where it is written";

const CONFIG: &str = r#"
[site]
public_url = "http://localhost:8700"

[edge]
queue_server = "http://127.0.0.1:8701"

[[shop]]
id = "conform"
hosts = ["localhost:8700"]
origin = "http://127.0.0.1:8702"

[[policy]]
name = "layer-0"
key = "client"
burst_capacity = 1
rate = 1
period_s = 1

[[policy]]
name = "layer-1"
key = "member"
burst_capacity = 1
rate = 1
period_s = 1
"#;
