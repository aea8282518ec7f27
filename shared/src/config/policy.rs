//! `[[policy]]`, `[join]` and `[poll]`: the numbers of limits, and where they apply.

use super::section::{Section, Value};
use super::site::parse_name;
use super::unique::Unique;
use core::time::Duration;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Named, immutable settings of one limiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyConfig {
    /// Name, `[a-z0-9-]{1,32}`, unique in the file; it appears in `RateLimit-Policy`.
    pub name: String,
    /// What the policy counts by.
    pub key: PolicyKey,
    /// Most cost admitted at one instant from rest: 1 to 1,000,000.
    pub burst_capacity: u32,
    /// Cost admitted per [`period`](Self::period): 1 to 1,000,000.
    pub rate: u32,
    /// The time `rate` refers to: 1 ms to one day.
    pub period: Duration,
    /// First 8 bytes of SHA-256 over key and numbers, so that states and denials made under other numbers are told apart.
    pub version: [u8; 8],
}

/// What a policy counts by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyKey {
    /// The client address: IPv4, or the /64 of an IPv6 address.
    Ip,
    /// The signed `device_cookie`.
    Device,
}

/// Limits on joining a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinConfig {
    /// Policies a join must satisfy, all of them, in this order.
    pub limits: Vec<Arc<PolicyConfig>>,
}

/// Budget of one device's polls, counted inside each isolate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollConfig {
    /// Most polls at one instant from rest: 1 to 1,000,000, 20 by default.
    pub burst_capacity: u32,
    /// Polls per [`period`](Self::period): 1 to 1,000,000, 2 by default.
    pub rate: u32,
    /// The time `rate` refers to: 1 ms to one day, 1 s by default.
    pub period: Duration,
}

impl PolicyConfig {
    fn new(name: &str, key: PolicyKey, burst_capacity: u32, rate: u32, period: Duration) -> Self {
        let numbers = format!("{} {burst_capacity} {rate} {}", key.name(), period.as_millis());
        let digest = Sha256::digest(numbers);
        let version = digest.first_chunk().copied().unwrap_or_default();
        Self { name: name.to_owned(), key, burst_capacity, rate, period, version }
    }

    fn read(section: &mut Section<'_>, names: &mut Unique<String>) -> Option<Self> {
        let name = section.required("name", "\"<name>\"");
        let key =
            section.required("key", "\"ip\" or \"device\"").and_then(|value| value.parsed(PolicyKey::parse));
        let burst_capacity = section.number("burst_capacity", COSTS);
        let rate = section.number("rate", COSTS);
        let period_ms = section.number("period_ms", PERIODS_MS);
        let text = name.as_ref().and_then(|value| value.parsed(parse_name))?;
        names.claim(text.clone(), &text, &name?);
        Some(Self::new(&text, key?, burst_capacity, rate, Duration::from_millis(period_ms.into())))
    }
}

impl PolicyKey {
    /// The word for this key in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Device => "device",
        }
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "ip" => Ok(Self::Ip),
            "device" => Ok(Self::Device),
            _ => Err("write \"ip\" or \"device\""),
        }
    }
}

impl PollConfig {
    pub(super) fn read(mut section: Section<'_>) -> Self {
        let poll = Self {
            burst_capacity: section.number_or("burst_capacity", COSTS, 20),
            rate: section.number_or("rate", COSTS, 2),
            period: Duration::from_millis(section.number_or("period_ms", PERIODS_MS, 1000).into()),
        };
        section.finish();
        poll
    }
}

impl JoinConfig {
    /// Without limits of its own a join is limited by the built-in policies, never by none.
    pub(super) fn read(mut section: Section<'_>, policies: &Policies) -> Self {
        let limits = match section.optional("limits") {
            Some(value) => policies.read_limits(&value),
            None => ["join-device", "join-ip"].iter().filter_map(|name| policies.find(name)).collect(),
        };
        section.finish();
        Self { limits }
    }
}

/// The policies of the file, and the built-in ones that it does not replace.
pub(super) struct Policies {
    all: Vec<Arc<PolicyConfig>>,
}

impl Policies {
    pub(super) fn read(root: &mut Section<'_>) -> Self {
        let mut names = Unique::new();
        let mut all = Vec::new();
        for mut section in root.tables("policy", POLICIES_MAX) {
            all.extend(PolicyConfig::read(&mut section, &mut names).map(Arc::new));
            section.finish();
        }
        let second = Duration::from_secs(1);
        for built_in in [
            PolicyConfig::new("join-device", PolicyKey::Device, 10, 1, second),
            PolicyConfig::new("join-ip", PolicyKey::Ip, 300, 100, second),
        ] {
            if !all.iter().any(|policy: &Arc<PolicyConfig>| policy.name == built_in.name) {
                all.push(Arc::new(built_in));
            }
        }
        Self { all }
    }

    /// The policies that an array names.
    pub(super) fn read_limits(&self, value: &Value<'_>) -> Vec<Arc<PolicyConfig>> {
        let mut names = Unique::new();
        let mut limits = Vec::new();
        for item in value.list(LIMITS_MAX) {
            let policy = item.parsed(|name| self.find(name).ok_or_else(|| self.advice()));
            let Some(policy) = policy else { continue };
            if names.claim(policy.name.clone(), &policy.name, &item) {
                limits.push(policy);
            }
        }
        limits
    }

    pub(super) fn into_all(self) -> Vec<Arc<PolicyConfig>> {
        self.all
    }

    fn find(&self, name: &str) -> Option<Arc<PolicyConfig>> {
        self.all.iter().find(|policy| policy.name == name).cloned()
    }

    fn advice(&self) -> String {
        let names: Vec<&str> = self.all.iter().map(|policy| policy.name.as_str()).collect();
        format!("no [[policy]] has this name; known are {}", names.join(", "))
    }
}

const COSTS: core::ops::RangeInclusive<u32> = 1..=1_000_000;
const PERIODS_MS: core::ops::RangeInclusive<u32> = 1..=86_400_000;
const POLICIES_MAX: usize = 256;
const LIMITS_MAX: usize = 8;
