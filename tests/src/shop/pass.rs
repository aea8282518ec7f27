//! How an origin verifies a pass: a JWT library, the published keys, nothing else.

use anyhow::Context;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// The session that a pass proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// `event:epoch:lane:number`.
    pub jti: String,
    /// When the pass runs out, in seconds since 1970.
    pub exp_s: u64,
}

/// Verifies passes with the keys published at one address.
#[derive(Debug)]
pub struct PassVerifier {
    jwks_url: String,
    client: reqwest::Client,
    keys: Mutex<Keys>,
}

#[derive(Debug, Default)]
struct Keys {
    set: Option<JwkSet>,
    fetched_at: Option<Instant>,
}

#[derive(Deserialize)]
struct Claims {
    jti: String,
    event: String,
    exp: u64,
}

impl PassVerifier {
    pub fn new(jwks_url: String) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder().timeout(FETCH_TIMEOUT).build()?;
        Ok(Self { jwks_url, client, keys: Mutex::default() })
    }

    /// The session of `token`, if it is a living pass for `event` of this shop.
    pub async fn verify(&self, token: &str, shop: &str, event: &str) -> anyhow::Result<Session> {
        let kid = decode_header(token)?.kid.context("the pass names no key")?;
        let key = self.key(&kid).await?;
        let mut validation = Validation::new(Algorithm::ES256);
        validation.set_issuer(&["fairgate"]);
        validation.set_audience(&[shop]);
        validation.set_required_spec_claims(&["iss", "aud", "exp"]);
        validation.leeway = 0;
        let claims = decode::<Claims>(token, &key, &validation)?.claims;
        anyhow::ensure!(claims.event == event, "the pass is for another event");
        Ok(Session { jti: claims.jti, exp_s: claims.exp })
    }

    /// The key named `kid`; an unknown one is looked up at most once per [`REFETCH_AFTER`].
    async fn key(&self, kid: &str) -> anyhow::Result<DecodingKey> {
        let mut keys = self.keys.lock().await;
        let known = keys.set.as_ref().and_then(|set| set.find(kid));
        if let Some(jwk) = known {
            return Ok(DecodingKey::from_jwk(jwk)?);
        }
        let fresh = keys.fetched_at.is_some_and(|at| at.elapsed() < REFETCH_AFTER);
        anyhow::ensure!(!fresh, "the key of the pass is unknown");
        keys.fetched_at = Some(Instant::now());
        let reply = self.client.get(&self.jwks_url).send().await?.error_for_status()?;
        keys.set = Some(reply.json().await.context("the published keys cannot be read")?);
        let jwk = keys.set.as_ref().and_then(|set| set.find(kid));
        Ok(DecodingKey::from_jwk(jwk.context("the key of the pass is unknown")?)?)
    }
}

const FETCH_TIMEOUT: Duration = Duration::from_secs(2);
const REFETCH_AFTER: Duration = Duration::from_secs(1);
