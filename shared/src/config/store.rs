//! `[store]`: where the rooms are kept.

use super::name::parse_name;
use super::section::{Section, Value};
use core::time::Duration;

/// Where the rooms are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreConfig {
    /// On disk in the data directory of one server: the default.
    Embedded,
    /// In Redis or Valkey, for several servers.
    Redis(RedisConfig),
}

/// Records in Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisConfig {
    /// Where it is, without a login: edges read this file. `None`: the queue server is told otherwise.
    pub url: Option<String>,
    /// What stands before every key; `fairgate` by default.
    pub prefix: String,
    /// Replicas that must have a change before its answer leaves; 0 by default.
    pub replicas: u32,
    /// Time limit of a commit; 50 ms by default.
    pub budget: Duration,
}

impl StoreConfig {
    pub(super) fn read(mut section: Section<'_>) -> Option<Self> {
        let kind = section.optional("kind").map_or(Some(false), |value| value.parsed(parse_kind));
        let url = section.optional("url").map(|value| read_url(&value));
        let prefix = section.optional("prefix").map(|value| value.parsed(parse_name));
        let is_of_redis = section.first_of(["url", "prefix", "replicas", "budget_ms"]);
        let replicas = section.number_or("replicas", 0..=8, 0);
        let budget_ms = section.number_or("budget_ms", 1..=1000, 50);
        let is_redis = kind?;
        if let Some(key) = is_of_redis.filter(|_| !is_redis) {
            section.error(format!("an embedded store has no {key}; write kind = \"redis\", or leave it out"));
        }
        section.finish();
        let url = match url {
            Some(url) => Some(url?),
            None => None,
        };
        let prefix = prefix.unwrap_or_else(|| Some("fairgate".to_owned()))?;
        let budget = Duration::from_millis(budget_ms.into());
        Some(if is_redis {
            Self::Redis(RedisConfig { url, prefix, replicas, budget })
        } else {
            Self::Embedded
        })
    }
}

/// Whether it is Redis.
fn parse_kind(text: &str) -> Result<bool, &'static str> {
    match text {
        "embedded" => Ok(false),
        "redis" => Ok(true),
        _ => Err("write \"embedded\" or \"redis\""),
    }
}

/// Its error does not repeat the text, which may hold a password.
fn read_url(value: &Value<'_>) -> Option<String> {
    let text = value.text()?;
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    if rest.contains('@') {
        value.error("edges read this file; give a URL with a login by FAIRGATE_STORE_URL");
        return None;
    }
    if rest.is_empty() || !(text.starts_with("redis") || text.starts_with("valkey")) {
        value.error("write redis://<host>:<port>");
        return None;
    }
    Some(text.to_owned())
}
