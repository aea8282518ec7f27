//! A server without a socket, and callers with keys.

use async_trait::async_trait;
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    http::{HeaderMap, Request, StatusCode},
};
use queue_server::{
    access::{AccessKeys, Role, Shops},
    app::App,
    clock::Clock,
    document::{ConfigDocument, LiveDocument},
    http,
    keys::{PassKey, PassSigner},
    limits::{Answer, Home, LimitStore, LimitStoreError, Limits, Live, ProcessStore},
    members::Members,
    metrics::Metrics,
    origins::Origins,
    rooms::Rooms,
};
use serde_json::{Value, json};
use shared::{
    config::Config,
    limiter::{
        Policy,
        check::{Charge, CheckReply, CheckRequest},
        concurrency::Holder,
        key::TableSeed,
        table::KeyState,
    },
    time::Timestamp,
    token::{MasterKeys, ServerKeys},
};
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};
use tower::ServiceExt;

pub(crate) const CONFIG: &str = include_str!("fairgate.toml");

pub(crate) struct Server {
    pub(crate) app: Arc<App>,
    pub(crate) router: Router,
    pub(crate) check_key: String,
    pub(crate) admin_key: String,
    pub(crate) read_key: String,
    hand: Arc<AtomicU64>,
}

pub(crate) const START_MS: u64 = 1_796_000_000_000;

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(CONFIG, Home::local)
    }

    pub(crate) fn with(config: &str, home: impl FnOnce(Arc<ProcessStore>, Clock) -> Home) -> Self {
        let config = Config::parse("fairgate.toml", config).unwrap();
        let (clock, hand) = Clock::manual(Timestamp::from_millis(START_MS));
        let metrics = Arc::new(Metrics::new());
        let keys = ServerKeys::new(&MasterKeys::first([7; 32]));
        let mut access = AccessKeys::default();
        let mut key = |role: Role, shop: &str| {
            let shops = Shops::Named(BTreeSet::from([shop.to_owned()]));
            access.create(role.name().to_owned(), BTreeSet::from([role]), shops).unwrap()
        };
        let check_key = key(Role::LimitsCheck, "alpha");
        let admin_key = key(Role::LimitsAdmin, "alpha");
        let read_key = key(Role::Read, "alpha");
        let local = Arc::new(ProcessStore::new(10_000, TableSeed([3; 16]), clock.clone()));
        let home = home(local, clock.clone());
        let live = Live::new(home.store(), config.clone(), access, Vec::new(), None).unwrap();
        let limits = Limits::new(live, home, keys.clone(), Arc::clone(&metrics));
        let origins = Origins::new(&config, clock.now());
        let app = Arc::new(App {
            keys,
            passes: PassSigner::new(&[PassKey::generate().unwrap()]).unwrap(),
            members: Members::new(&config).unwrap(),
            config,
            document: LiveDocument::new(ConfigDocument::new(String::new())),
            clock,
            rooms: Rooms::new(),
            peers: None,
            origins,
            limits,
            metrics,
        });
        Self { router: http::router(Arc::clone(&app)), app, check_key, admin_key, read_key, hand }
    }

    pub(crate) fn advance_ms(&self, millis: u64) {
        self.hand.fetch_add(millis * 1_000, Ordering::SeqCst);
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        Reply { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn call(&self, key: &str, method: &str, path: &str, body: Option<Value>) -> Reply {
        let request =
            Request::builder().method(method).uri(path).header("authorization", format!("Bearer {key}"));
        let request = match body {
            Some(body) => {
                request.header("content-type", "application/json").body(Body::from(body.to_string()))
            }
            None => request.body(Body::empty()),
        };
        self.send(request.unwrap()).await
    }

    /// One check, answered by status and fields.
    pub(crate) async fn check(&self, body: Value) -> Reply {
        self.call(&self.check_key, "POST", "/v1/limits/check", Some(body)).await
    }

    /// Several checks; their results.
    pub(crate) async fn check_all(&self, checks: Vec<Value>) -> Vec<Value> {
        let reply = self.check(json!({ "checks": checks })).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()["results"].as_array().unwrap().clone()
    }

    /// Whether one request of `device` passes the policy of that name.
    pub(crate) async fn passes(&self, policy: &str, device: &str, cost: u64) -> bool {
        let results = self.check_all(vec![of_device(policy, device, cost)]).await;
        results[0]["allowed"].as_bool().unwrap()
    }

    pub(crate) async fn metrics(&self) -> String {
        self.call("", "GET", "/metrics", None).await.text().to_owned()
    }
}

/// A check of one policy that counts by device.
pub(crate) fn of_device(policy: &str, device: &str, cost: u64) -> Value {
    json!({ "shop": "alpha", "policies": [policy], "keys": { "device": device }, "cost": cost })
}

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    pub(crate) fn assert_refused(&self, status: u16, code: &str) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.text());
        let problem = self.json();
        assert_eq!((self.status.as_u16(), problem["code"].as_str()), (status, Some(code)), "{}", self.text());
        assert_eq!(problem["requestId"].as_str(), self.header("fairgate-request-id"));
        let retry_after = self.header("retry-after").map(|seconds| seconds.parse::<u64>().unwrap());
        assert_eq!(problem["retryAfterSeconds"].as_u64(), retry_after);
        assert_ne!(retry_after, Some(0));
    }
}

/// A store that can be broken.
pub(crate) struct Breakable {
    pub(crate) inner: ProcessStore,
    pub(crate) fault: Mutex<Option<Fault>>,
    pub(crate) calls: AtomicU32,
}

#[derive(Clone, Debug)]
pub(crate) enum Fault {
    Error(LimitStoreError),
    /// Never answers.
    BlackHole,
}

impl Breakable {
    pub(crate) fn new(clock: Clock) -> Arc<Self> {
        let inner = ProcessStore::new(10_000, TableSeed([4; 16]), clock);
        Arc::new(Self { inner, fault: Mutex::new(None), calls: AtomicU32::new(0) })
    }

    pub(crate) fn break_with(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }

    async fn ready(&self) -> Result<(), LimitStoreError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let fault = self.fault.lock().unwrap().clone();
        match fault {
            None => Ok(()),
            Some(Fault::Error(error)) => Err(error),
            Some(Fault::BlackHole) => std::future::pending().await,
        }
    }
}

#[async_trait]
impl LimitStore for Breakable {
    fn accepts(&self, policy: &Policy) -> Result<(), String> {
        self.inner.accepts(policy)
    }

    async fn check(&self, shop: &str, request: &CheckRequest) -> Answer<CheckReply> {
        self.ready().await?;
        self.inner.check(shop, request).await
    }

    async fn peek(&self, shop: &str, request: &CheckRequest) -> Answer<CheckReply> {
        self.ready().await?;
        self.inner.peek(shop, request).await
    }

    async fn refund(&self, shop: &str, charges: &[Charge], taken_at: Timestamp) -> Answer<()> {
        self.ready().await?;
        self.inner.refund(shop, charges, taken_at).await
    }

    async fn replenish(&self, shop: &str, charge: &Charge) -> Answer<()> {
        self.ready().await?;
        self.inner.replenish(shop, charge).await
    }

    async fn reset(&self, shop: &str, charge: &Charge) -> Answer<()> {
        self.ready().await?;
        self.inner.reset(shop, charge).await
    }

    async fn give(&self, shop: &str, charge: &Charge, holder: Holder) -> Answer<()> {
        self.ready().await?;
        self.inner.give(shop, charge, holder).await
    }

    async fn state(&self, shop: &str, charge: &Charge) -> Answer<Option<KeyState>> {
        self.ready().await?;
        self.inner.state(shop, charge).await
    }
}
