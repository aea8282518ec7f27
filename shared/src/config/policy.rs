//! `[[policy]]`, `[join]` and `[poll]`: the numbers of limits, and where they apply.

use super::name::parse_name;
use super::section::{Section, Value};
use super::unique::Unique;
use crate::limiter::Policy;
use crate::limiter::{PolicyError, gcra::GcraPolicy};
use core::time::Duration;
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
    /// The limiter that these numbers make.
    pub limiter: Policy,
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
    /// The limiter that these numbers make.
    pub limiter: Policy,
}

impl PolicyConfig {
    fn new(name: &str, key: PolicyKey, numbers: Numbers) -> Option<Self> {
        let Numbers { burst_capacity, rate, period } = numbers;
        let limiter = numbers.limiter().ok()?;
        Some(Self { name: name.to_owned(), key, burst_capacity, rate, period, limiter })
    }

    fn read(section: &mut Section<'_>, names: &mut Unique<String>) -> Option<Self> {
        let name = section.required("name", "\"<name>\"");
        let key =
            section.required("key", "\"ip\" or \"device\"").and_then(|value| value.parsed(PolicyKey::parse));
        let numbers = Numbers {
            burst_capacity: section.number("burst_capacity", COSTS),
            rate: section.number("rate", COSTS),
            period: Duration::from_millis(section.number("period_ms", PERIODS_MS).into()),
        };
        numbers.note_error(section);
        let text = name.as_ref().and_then(|value| value.parsed(parse_name))?;
        names.claim(text.clone(), &text, &name?);
        Self::new(&text, key?, numbers)
    }
}

/// The numbers of one limiter.
#[derive(Clone, Copy)]
struct Numbers {
    burst_capacity: u32,
    rate: u32,
    period: Duration,
}

impl Numbers {
    fn limiter(self) -> Result<Policy, PolicyError> {
        GcraPolicy::new(self.burst_capacity.into(), self.rate.into(), self.period).map(Policy::Gcra)
    }

    /// The ranges leave no numbers without a limiter; should one widen, the file is refused and no limit is lost.
    fn note_error(self, section: &Section<'_>) {
        if let Err(error) = self.limiter() {
            section.error(error.to_string());
        }
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
    pub(super) fn read(mut section: Section<'_>) -> Option<Self> {
        let numbers = Numbers {
            burst_capacity: section.number_or("burst_capacity", COSTS, 20),
            rate: section.number_or("rate", COSTS, 2),
            period: Duration::from_millis(section.number_or("period_ms", PERIODS_MS, 1000).into()),
        };
        numbers.note_error(&section);
        section.finish();
        let Numbers { burst_capacity, rate, period } = numbers;
        Some(Self { burst_capacity, rate, period, limiter: numbers.limiter().ok()? })
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
        let built_in = |name, key, burst_capacity, rate| {
            PolicyConfig::new(name, key, Numbers { burst_capacity, rate, period: Duration::from_secs(1) })
        };
        let join_device = built_in("join-device", PolicyKey::Device, 10, 1);
        let join_ip = built_in("join-ip", PolicyKey::Ip, 300, 100);
        for built_in in [join_device, join_ip].into_iter().flatten() {
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
