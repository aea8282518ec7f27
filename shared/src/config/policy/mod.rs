//! `[[policy]]`: named limits, what they count by, and how firmly they are applied.

mod fitness;
mod key;
mod numbers;
mod overrides;
mod registry;
mod wording;

pub(super) use fitness::ListOf;
pub use key::{KeyPart, PolicyKey};
pub use numbers::at_most;
pub(super) use numbers::lockout_of;
pub(super) use overrides::ShopPolicies;
pub(super) use registry::Policies;
pub use wording::PolicyWords;

use super::name::parse_name;
use super::section::Section;
use super::unique::Unique;
use crate::http::sku::Sku;
use crate::limiter::lease::can_be_leased;
use crate::limiter::{Inheritance, Policy};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Named, immutable settings of one limiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyConfig {
    /// Name, `[a-z0-9-]{1,32}`, unique in the file; it appears in `RateLimit-Policy`. A shop's override has the name of
    /// the policy whose numbers it replaces.
    pub name: String,
    /// What the policy counts by.
    pub key: PolicyKey,
    /// The limiter that the numbers make.
    pub limiter: Policy,
    /// SKUs of one shop that have numbers of their own.
    pub sku_limiters: BTreeMap<Sku, Policy>,
    /// How firmly it is applied.
    pub mode: PolicyMode,
    /// What a key brings along when the numbers change.
    pub inherit: Inheritance,
    /// What holds while the home of a key does not answer.
    pub on_store_failure: OnStoreFailure,
    /// `lease = true`: where a key is hot, quota lies with the asking process for a second ahead of use, so that most
    /// requests ask nobody; see [`lease`](crate::limiter::lease). Only for keys that callers share.
    pub lease: bool,
    /// What a buyer reads when it refuses: `message_en`, `message_zh_tw`.
    pub words: PolicyWords,
}

/// How firmly a policy is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyMode {
    /// Not at all: no store is asked.
    Off,
    /// It counts and says who would have been refused, and refuses nobody.
    Shadow,
    /// It refuses.
    #[default]
    Enforced,
}

/// What holds while the home of a key does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnStoreFailure {
    /// A warm limiter in the asking process, at a share that is safe; open where it has none.
    #[default]
    Local,
    /// Requests pass, counted.
    Open,
    /// Requests are refused until the home answers.
    Closed,
}

/// One entry of `limits`: a policy, or several of which the first applies whose key is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitChoice {
    /// At least one. Where no key is known, the last applies, as far as it can.
    pub policies: Vec<Arc<PolicyConfig>>,
}

impl PolicyConfig {
    /// The limiter for a request about `sku`.
    pub fn limiter_for(&self, sku: Option<&Sku>) -> &Policy {
        sku.and_then(|sku| self.sku_limiters.get(sku)).unwrap_or(&self.limiter)
    }

    fn read(section: &mut Section<'_>, names: &mut Unique) -> Option<Self> {
        let name = section.required("name", "\"<name>\"");
        let key = section.required("key", "\"ip\", or [\"device\", \"route\"]");
        let key = key.as_ref().and_then(PolicyKey::read);
        let limiter = numbers::read(section);
        let mode = read_mode(section);
        let inherit = read_inherit(section);
        let on_store_failure = section.optional("on_store_failure");
        let on_store_failure =
            on_store_failure.map_or(Some(OnStoreFailure::Local), |value| value.parsed(OnStoreFailure::parse));
        let words = PolicyWords::read(section);
        let lease = read_lease(section, key.as_ref(), limiter.as_ref().map(|(limiter, _)| limiter));
        let text = name.as_ref().and_then(|value| value.parsed(parse_name))?;
        names.claim(&text, &name?);
        let (limiter, is_enabled) = limiter?;
        Some(Self {
            name: text,
            key: key?,
            limiter,
            sku_limiters: BTreeMap::new(),
            mode: if is_enabled { mode?.unwrap_or_default() } else { PolicyMode::Off },
            inherit: inherit?.unwrap_or_default(),
            on_store_failure: on_store_failure?,
            lease,
            words,
        })
    }
}

impl LimitChoice {
    /// The choice of one policy.
    pub fn of(policy: Arc<PolicyConfig>) -> Self {
        Self { policies: vec![policy] }
    }
}

impl PolicyMode {
    /// The word for this mode in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Shadow => "shadow",
            Self::Enforced => "enforced",
        }
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        let mode = [Self::Off, Self::Shadow, Self::Enforced].into_iter().find(|mode| mode.name() == text);
        mode.ok_or("write off, shadow or enforced")
    }
}

impl OnStoreFailure {
    /// The word for this in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        let all = [Self::Local, Self::Open, Self::Closed];
        all.into_iter().find(|way| way.name() == text).ok_or("write local, open or closed")
    }
}

/// `Some(None)`: no mode is given; `None`: an error was noted.
#[expect(clippy::option_option, reason = "an override without a mode keeps the mode of its policy")]
fn read_mode(section: &mut Section<'_>) -> Option<Option<PolicyMode>> {
    section.optional("mode").map_or(Some(None), |value| value.parsed(PolicyMode::parse).map(Some))
}

/// `Some(None)`: nothing is said; `None`: an error was noted.
#[expect(clippy::option_option, reason = "an override that says nothing keeps what its policy says")]
fn read_inherit(section: &mut Section<'_>) -> Option<Option<Inheritance>> {
    section.optional("inherit").map_or(Some(None), |value| {
        let parsed = value.parsed(|text| match text {
            "keep" => Ok(Inheritance::Keep),
            "proportional" => Ok(Inheritance::Proportional),
            "reset" => Ok(Inheritance::Reset),
            _ => Err("write keep, proportional or reset"),
        });
        parsed.map(Some)
    })
}

/// Whether quota is leased; false where an error was noted.
fn read_lease(section: &mut Section<'_>, key: Option<&PolicyKey>, limiter: Option<&Policy>) -> bool {
    let Some(value) = section.optional("lease") else { return false };
    let is_leased = value.boolean().unwrap_or(false);
    if is_leased && key.is_some_and(PolicyKey::is_personal) {
        value.error("a caller's own quota is not leased; remove lease, or count by shop, sku, route or site");
    }
    if is_leased && limiter.is_some_and(|limiter| !can_be_leased(limiter)) {
        value.error("lockouts, leaky queues and permits are not leased; remove lease");
    }
    is_leased
}
