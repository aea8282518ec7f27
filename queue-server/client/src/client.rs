//! Typed calls to the limit service.

use crate::{
    fallback::{Fallback, Standby},
    tls::{self, TlsError},
};
use bytes::Bytes;
use http::{
    Request, StatusCode, Uri,
    header::{AUTHORIZATION, CONTENT_TYPE},
    uri::Scheme,
};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use shared::{
    guard::breaker::Breaker,
    http::reason::Reason,
    limiter::{
        Decision, Policy, PolicyError,
        check::Charge,
        deny_cache::DenyCache,
        gcra::GcraPolicy,
        key::{KeyHash, KeyTooLong, LocalKeys, TableSeed},
    },
    time::{Timestamp, micros},
    wire::limits::{CheckBatch, CheckResult, CheckResults, DecidedBy, LimitCheck, ReceiptsBody},
};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::time::timeout;
use tracing::warn;

/// How to reach the service, and what to do without it.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Where the queue server listens, `http://127.0.0.1:8701`, or what speaks TLS for it, `https://limits.internal.example`.
    pub url: String,
    /// Certificates (PEM) of authorities that are trusted besides the system's: a company's own.
    pub authorities_pem: Vec<u8>,
    /// A bearer key with the role `limits:check`.
    pub key: String,
    /// How long a call may take. A check that waits for a permit may take its wait besides.
    pub time_limit: Duration,
    /// What decides when the service does not answer.
    pub fallback: Fallback,
}

impl ClientOptions {
    /// 250 ms for a call, and open without the service.
    pub fn new(url: impl Into<String>, key: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            authorities_pem: Vec::new(),
            key: key.into(),
            time_limit: Duration::from_millis(250),
            fallback: Fallback::Open,
        }
    }
}

/// Asks the limit service.
pub struct Client {
    http: tls::HttpClient,
    url: Uri,
    /// The field `Authorization`.
    bearer: String,
    time_limit: Duration,
    /// Nothing of what they make leaves this process.
    keys: LocalKeys,
    standby: Standby,
    refused: Mutex<Refused>,
    breaker: Mutex<Breaker>,
    started: (Timestamp, Instant),
}

/// Refusals that still stand, and what they were called.
struct Refused {
    cache: DenyCache,
    names: BTreeMap<KeyHash, (Reason, Option<String>)>,
}

/// Options that no client can be made from.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("{0:?} is not the address of a server, such as http://127.0.0.1:8701")]
    Url(String),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("the keys of checks cannot be made: {0}")]
    Keys(#[from] KeyTooLong),
    #[error("the fallback's numbers are wrong: {0}")]
    Fallback(#[from] PolicyError),
    #[error("the random source of the system failed")]
    Random,
}

/// Why a call has no answer. A refused check is an answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The call is wrong: an unknown policy, a key without the role, a receipt that was spent.
    #[error("the limit service refuses the call: {code} ({detail})")]
    Refused { code: String, detail: String },
    /// No answer, or none that can be read.
    #[error("the limit service does not answer")]
    Away,
}

impl Client {
    pub fn new(options: ClientOptions) -> Result<Self, SetupError> {
        let ClientOptions { url, authorities_pem, key, time_limit, fallback } = options;
        let parsed = url.parse::<Uri>().ok().filter(|parsed| {
            [Some(&Scheme::HTTP), Some(&Scheme::HTTPS)].contains(&parsed.scheme())
                && parsed.authority().is_some()
        });
        let parsed = parsed.ok_or(SetupError::Url(url))?;
        let mut seed = [0; 16];
        getrandom::fill(&mut seed).map_err(|_| SetupError::Random)?;
        let seed = TableSeed(seed);
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            http: tls::client_trusting(&authorities_pem)?,
            url: parsed,
            bearer: format!("Bearer {key}"),
            time_limit,
            keys: LocalKeys::new(seed, "client", "check")?,
            standby: Standby::new(fallback, seed)?,
            refused: Mutex::new(Refused {
                cache: DenyCache::new(REFUSED_SETS, seed),
                names: BTreeMap::new(),
            }),
            breaker: Mutex::default(),
            started: (Timestamp::default().saturating_add(wall), Instant::now()),
        })
    }

    /// Takes what the request costs, or says for how long not to. Without the service the fallback decides.
    pub async fn check(&self, check: &LimitCheck) -> Result<CheckResult, ClientError> {
        let charge = stand_in(self.keys, check)?;
        if let Some(known) = self.known_refusal(&charge) {
            return Ok(known);
        }
        let waits = check.wait.map_or(Duration::ZERO, |wait| Duration::from_millis(wait.ms));
        let batch = CheckBatch { checks: vec![check.clone()] };
        match self.guarded("/v1/limits/check", &batch, self.time_limit.saturating_add(waits)).await {
            Ok(CheckResults { mut results }) => {
                let result = results.pop().filter(|_| results.is_empty()).ok_or(ClientError::Away)?;
                self.remember(&charge, &result);
                Ok(result)
            }
            Err(ClientError::Away) => Ok(self.standby.decide(charge.key, charge.cost, self.now())),
            Err(error) => Err(error),
        }
    }

    /// What a check would say.
    pub async fn peek(&self, check: &LimitCheck) -> Result<CheckResult, ClientError> {
        let batch = CheckBatch { checks: vec![check.clone()] };
        let CheckResults { mut results } = self.call("/v1/limits/peek", &batch, self.time_limit).await?;
        results.pop().ok_or(ClientError::Away)
    }

    /// Gives back what a check took: the work was not done after all. At most 64 receipts.
    pub async fn refund(&self, receipts: &[String]) -> Result<(), ClientError> {
        let body = ReceiptsBody { receipts: receipts.to_vec() };
        self.call::<Nothing>("/v1/limits/refund", &body, self.time_limit).await.map(drop)
    }

    /// Gives back the permits of a check: the work is done. At most 64 receipts.
    pub async fn give(&self, receipts: &[String]) -> Result<(), ClientError> {
        let body = ReceiptsBody { receipts: receipts.to_vec() };
        self.call::<Nothing>("/v1/limits/give", &body, self.time_limit).await.map(drop)
    }

    /// A call that is not made while the breaker is open.
    async fn guarded<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        time_limit: Duration,
    ) -> Result<T, ClientError> {
        let permission = lock(&self.breaker).begin(self.now()).ok_or(ClientError::Away)?;
        let answer = self.call(path, body, time_limit).await;
        let is_good = !matches!(answer, Err(ClientError::Away));
        lock(&self.breaker).end(permission, is_good, self.now());
        answer
    }

    async fn call<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        time_limit: Duration,
    ) -> Result<T, ClientError> {
        let mut parts = self.url.clone().into_parts();
        parts.path_and_query = path.parse().ok();
        let uri = Uri::from_parts(parts).map_err(|error| away(&error))?;
        let json = serde_json::to_vec(body).map_err(|error| away(&error))?;
        let request = Request::post(uri)
            .header(AUTHORIZATION, &self.bearer)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(json))
            .map_err(|error| away(&error))?;
        let answered = timeout(time_limit, self.answer(request)).await;
        let (status, bytes) = answered.map_err(|late| away(&late))??;
        if status.is_success() {
            let text: &[u8] = if status == StatusCode::NO_CONTENT { b"null" } else { &bytes };
            return serde_json::from_slice(text).map_err(|_| ClientError::Away);
        }
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Err(ClientError::Away);
        }
        let problem: Problem = serde_json::from_slice(&bytes).unwrap_or_default();
        Err(ClientError::Refused { code: problem.code, detail: problem.detail })
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes), ClientError> {
        let response = self.http.request(request).await.map_err(|error: legacy::Error| away(&error))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
        Ok((status, body.map_err(|error| away(&error))?.to_bytes()))
    }

    /// The refusal that still stands for this check.
    fn known_refusal(&self, charge: &Charge) -> Option<CheckResult> {
        let now = self.now();
        let refused = lock(&self.refused);
        let Decision::Denied { retry_after, .. } = refused.cache.lookup(charge, now)? else { return None };
        let (code, policy) = refused.names.get(&charge.key).cloned().unwrap_or((Reason::RateLimited, None));
        Some(CheckResult {
            allowed: false,
            code: Some(code),
            policy,
            retry_after_us: retry_after.map(micros),
            remember_us: 0,
            delay_us: 0,
            decided_at_us: now.as_micros(),
            decided_by: DecidedBy::Store,
            receipt: None,
            holds_permit: false,
            rate_limit: String::new(),
            rate_limit_policy: String::new(),
            limits: Vec::new(),
            passed_over: Vec::new(),
        })
    }

    fn remember(&self, charge: &Charge, result: &CheckResult) {
        let now = self.now();
        if result.allowed {
            self.standby.warm(charge.key, charge.cost, now);
            return;
        }
        let Some(code) = result.code.filter(|_| result.remember_us > 0) else { return };
        let retry_after = result.retry_after_us.map(Duration::from_micros);
        let reset_after = retry_after.unwrap_or_default();
        let mut refused = lock(&self.refused);
        refused.cache.remember(charge, &Decision::Denied { remaining: 0, retry_after, reset_after }, now);
        // Without its name a refusal is still a refusal, so the names may go when there are too many.
        if refused.names.len() >= REFUSED_SETS {
            refused.names.clear();
        }
        refused.names.insert(charge.key, (code, result.policy.clone()));
    }

    /// Wall time at the start plus monotonic time since.
    fn now(&self) -> Timestamp {
        let (at, start) = self.started;
        at.saturating_add(start.elapsed())
    }
}

/// One check as the cache and the local limiter know it: everything that the decision depends on is in its key.
fn stand_in(keys: LocalKeys, check: &LimitCheck) -> Result<Charge, ClientError> {
    let misfit =
        |detail: &str| ClientError::Refused { code: "BODY_INVALID".to_owned(), detail: detail.to_owned() };
    let asked = (&check.shop, &check.route, &check.policies, &check.keys, &check.holder);
    let bytes = serde_json::to_vec(&asked).map_err(|_| misfit("the check cannot be written"))?;
    let mut digest = KeyHash([0; 16]);
    for chunk in bytes.chunks(CHUNK_BYTES) {
        let identity = [digest.0.as_slice(), chunk].concat();
        digest = keys.hash(&identity).map_err(|_| misfit("the check cannot be hashed"))?;
    }
    let policy = GcraPolicy::new(1, 1, Duration::from_secs(1)).map(Policy::Gcra);
    Ok(Charge::new(policy.map_err(|_| misfit("no stand-in"))?, digest, check.cost))
}

fn away(error: &dyn std::fmt::Display) -> ClientError {
    warn!(%error, "the limit service does not answer");
    ClientError::Away
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The body of an answer that has none.
#[derive(Deserialize)]
struct Nothing;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Problem {
    code: String,
    detail: String,
}

/// A batch of the most checks, with every limit told.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Four refusals each.
const REFUSED_SETS: usize = 4_096;

const CHUNK_BYTES: usize = 128;
