//! `[[plan]]`, `[[client]]` and `[bypass]`: callers whom the file knows by a secret or by their network.

use super::ShopConfig;
use super::name::parse_name;
use super::networks::NetworkSet;
use super::policy::{LimitChoice, ListOf, Policies};
use super::section::{Section, Value};
use super::site::parse_network;
use super::unique::Unique;
use crate::flat::LiteMap;
use crate::http::client::ClientAddress;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// SHA-256 of a secret. A secret is random and long, so a plain hash does not give it away.
type SecretHash = [u8; 32];

/// A caller with an API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// Name, `[a-z0-9-]{1,32}`, unique in the file: what keys are made of, never the API key.
    pub id: String,
    /// The only shop that it may call; `None`: any.
    pub shop_id: Option<String>,
    /// Name of its plan.
    pub plan: Option<String>,
    /// The plan's limits: they come on top of the route's.
    pub limits: Vec<LimitChoice>,
    /// Whether it passes by all limits.
    pub is_bypassed: bool,
}

/// The callers that the file knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Callers {
    /// API clients in the order of the file.
    pub clients: Vec<ClientConfig>,
    /// Networks whose requests pass by all limits.
    pub bypassed_networks: NetworkSet,
    clients_by_key: BTreeMap<SecretHash, usize>,
    bypass_tokens: Vec<SecretHash>,
    have_plans: bool,
}

/// What a request presents to say who calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credentials<'r> {
    /// The `Authorization` field: an API key may stand behind `Bearer`.
    pub authorization: Option<&'r str>,
    /// The `X-API-Key` field, which comes first.
    pub api_key: Option<&'r str>,
    /// The `Fairgate-Bypass` field: the internal token.
    pub bypass_token: Option<&'r str>,
}

impl Callers {
    /// The client whose API key is presented. The key counts, not how it was presented.
    pub fn client(&self, credentials: &Credentials<'_>) -> Option<&ClientConfig> {
        let bearer = || credentials.authorization.and_then(bearer);
        let key = credentials.api_key.map(str::trim).or_else(bearer)?;
        self.clients.get(*self.clients_by_key.get(&hash(key)?)?)
    }

    /// Whether a request passes by all limits: an internal token, a network or a client that may. No gate opens by it.
    pub fn is_bypassed(&self, credentials: &Credentials<'_>, address: ClientAddress) -> bool {
        let has_token = || {
            let token = credentials.bypass_token.map(str::trim).and_then(hash);
            token.is_some_and(|token| self.bypass_tokens.contains(&token))
        };
        self.bypassed_networks.contains(address.ip())
            || has_token()
            || self.client(credentials).is_some_and(|client| client.is_bypassed)
    }

    /// Whether some API client has limits of its own.
    pub fn have_plans(&self) -> bool {
        self.have_plans
    }

    /// How many internal tokens there are.
    pub fn bypass_tokens(&self) -> usize {
        self.bypass_tokens.len()
    }

    pub(super) fn read(root: &mut Section<'_>, policies: &Policies, shops: &[ShopConfig]) -> Self {
        let plans = read_plans(root, policies);
        let mut callers = Self::default();
        let (mut ids, mut keys) = (Unique::new(), Unique::new());
        for mut section in root.tables("client", CLIENTS_MAX) {
            callers.read_client(&mut section, &plans, shops, &mut ids, &mut keys);
            section.finish();
        }
        callers.have_plans = callers.clients.iter().any(|client| !client.limits.is_empty());
        callers.read_bypass(root.table("bypass"));
        callers
    }

    fn read_client(
        &mut self,
        section: &mut Section<'_>,
        plans: &LiteMap<String, Vec<LimitChoice>>,
        shops: &[ShopConfig],
        ids: &mut Unique,
        keys: &mut Unique,
    ) {
        let id = section.required("id", "\"<name>\"");
        let hashes = section.required("key_sha256", "[\"<SHA-256 of the API key, 64 hexadecimal digits>\"]");
        let shop_id = section.optional("shop").map(|value| {
            let find = |id: &str| shops.iter().any(|shop| shop.id == id).then(|| id.to_owned());
            value.parsed(|id| find(id).ok_or("no [[shop]] has this id"))
        });
        let plan = section.optional("plan").map(|value| {
            value.parsed(|name| {
                let found = plans.get(name).map(|limits| (name.to_owned(), limits.clone()));
                found.ok_or("no [[plan]] has this name")
            })
        });
        for value in hashes.iter().flat_map(|value| value.list(KEYS_MAX)) {
            let Some(hash) = value.parsed(parse_hash) else { continue };
            if keys.claim_shown(base16ct::lower::encode_string(&hash), &"this key", &value) {
                self.clients_by_key.insert(hash, self.clients.len());
            }
        }
        let name = id.as_ref().and_then(|value| value.parsed(parse_name));
        let (Some(value), Some(name)) = (id, name) else { return };
        ids.claim(&name, &value);
        let (plan, limits) = plan.flatten().unzip();
        self.clients.push(ClientConfig {
            id: name,
            shop_id: shop_id.flatten(),
            plan,
            limits: limits.unwrap_or_default(),
            is_bypassed: false,
        });
    }

    fn read_bypass(&mut self, mut section: Section<'_>) {
        let mut networks = Vec::new();
        for item in section.list("networks", NETWORKS_MAX) {
            let Some(network) = item.parsed(parse_network) else { continue };
            if network.prefix_len() == 0 {
                item.error("everybody is in this network, so nobody would be limited; write a smaller one");
            }
            networks.push(network);
        }
        self.bypassed_networks = NetworkSet::new(&networks);
        let tokens = section.list("token_sha256", KEYS_MAX);
        self.bypass_tokens = tokens.iter().filter_map(|item| item.parsed(parse_hash)).collect();
        for item in section.list("clients", CLIENTS_MAX) {
            let find = |id: &str| self.clients.iter().position(|client| client.id == id);
            let index = item.parsed(|id| find(id).ok_or("no [[client]] has this id"));
            if let Some(client) = index.and_then(|index| self.clients.get_mut(index)) {
                client.is_bypassed = true;
            }
        }
        section.finish();
    }
}

fn read_plans(root: &mut Section<'_>, policies: &Policies) -> LiteMap<String, Vec<LimitChoice>> {
    let mut names = Unique::new();
    let mut plans = LiteMap::new();
    for mut section in root.tables("plan", PLANS_MAX) {
        let name = section.required("name", "\"<name>\"");
        let limits = section.required("limits", "[\"<policy that counts by client>\"]");
        let limits = limits.map(|value| read_plan_limits(&value, policies)).unwrap_or_default();
        section.finish();
        let text = name.as_ref().and_then(|value| value.parsed(parse_name));
        let (Some(value), Some(text)) = (name, text) else { continue };
        if names.claim(&text, &value) {
            plans.insert(text, limits);
        }
    }
    plans
}

/// The limits of a plan: each by client, so that its clients never share a count.
fn read_plan_limits(value: &Value<'_>, policies: &Policies) -> Vec<LimitChoice> {
    let limits = policies.read_limits(value, ListOf::Plan);
    if limits.len() > PLAN_LIMITS_MAX {
        value.error(format!("a plan has at most {PLAN_LIMITS_MAX} limits; got {}", limits.len()));
    }
    limits
}

/// RFC 6750's form; the scheme in any case.
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, key) = authorization.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// `None` for a text that no secret is as long as: a megabyte of header costs nothing.
fn hash(secret: &str) -> Option<SecretHash> {
    let is_fit = (1..=SECRET_BYTES_MAX).contains(&secret.len());
    is_fit.then(|| Sha256::digest(secret.as_bytes()).into())
}

fn parse_hash(text: &str) -> Result<SecretHash, &'static str> {
    let bytes = base16ct::mixed::decode_vec(text).ok();
    bytes
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or("write the SHA-256 of the secret, 64 hexadecimal digits")
}

const CLIENTS_MAX: usize = 10_000;
const PLANS_MAX: usize = 64;
const NETWORKS_MAX: usize = 10_000;

/// Keys of one client, and internal tokens: two are in use while one replaces the other.
const KEYS_MAX: usize = 8;

/// Beside the limits of a route that count by client, as many fit one check.
const PLAN_LIMITS_MAX: usize = 4;
const SECRET_BYTES_MAX: usize = 256;
