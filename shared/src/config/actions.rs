//! `[actions]` and `[shop.actions]`: lockouts of what members and shops do, in the compact form.
//!
//! A setting is named `Service.Action.Identity`. The shop's list comes first, then the site's setting, then the built-in
//! one, which is off.

use super::policy::{KeyPart, OnStoreFailure, PolicyConfig, PolicyKey, PolicyMode, PolicyWords, lockout_of};
use super::section::{Section, Value};
use super::unique::Unique;
use crate::flat::{self, LiteMap};
use crate::limiter::compact::CompactLockout;
use crate::limiter::compact_list::{CompactList, is_action_name};
use crate::limiter::{Inheritance, Policy};
use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What somebody does at a service: `ShoppingCart.CartsCreate`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActionName {
    /// The service, such as `ShoppingCart`.
    pub service: String,
    /// The action, such as `CartsCreate`.
    pub action: String,
}

impl ActionName {
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let names = text
            .split_once('.')
            .filter(|(service, action)| is_action_name(service) && is_action_name(action));
        let (service, action) = names.ok_or("write Service.Action, such as ShoppingCart.CartsCreate")?;
        Ok(Self { service: service.to_owned(), action: action.to_owned() })
    }
}

impl fmt::Display for ActionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.service, self.action)
    }
}

/// The settings of a site, or of a site with one shop's in their place.
#[derive(Clone, Default)]
pub(super) struct Actions {
    settings: LiteMap<(ActionName, Identity), Arc<PolicyConfig>>,
    /// What a refusal says, by action.
    words: LiteMap<ActionName, PolicyWords>,
}

impl Actions {
    /// The site's: `ShoppingCart.CartsCreate.MemberId = "true|3|1|30"`.
    pub(super) fn read(section: Section<'_>) -> Self {
        let mut actions = Self::default();
        let mut names = Unique::new();
        let mut leaves = section.leaves(SETTINGS_MAX);
        leaves.retain(|(name, value)| !actions.take_words(name, value));
        for (name, value) in leaves {
            let Some(setting) = value.parsed(str::parse::<CompactLockout>) else { continue };
            let parts = name.rsplit_once('.');
            let action = parts.and_then(|(action, _)| ActionName::parse(action).ok());
            let identity = parts.and_then(|(_, identity)| Identity::parse(identity));
            let (Some(action), Some(identity)) = (action, identity) else {
                value.error(format!("name it Service.Action.Identity, with {IDENTITIES}"));
                continue;
            };
            if names.claim(&name, &value) {
                actions.set(action, identity, &setting, &value);
            }
        }
        actions
    }

    /// A shop's, over the site's: `ShoppingCart = "CartsCreate.MemberId=true|3|1|30;…"`.
    pub(super) fn read_shop(&self, section: Section<'_>) -> Self {
        let mut actions = self.clone();
        for (service, value) in section.leaves(SERVICES_MAX) {
            let Some(list) = value.parsed(str::parse::<CompactList>) else { continue };
            if !is_action_name(&service) {
                value.error("name the service by letters and digits, such as ShoppingCart");
                continue;
            }
            for entry in list.entries {
                let Some(identity) = Identity::parse(&entry.identity) else {
                    value.error(format!("{}.{}: an identity is {IDENTITIES}", entry.action, entry.identity));
                    continue;
                };
                let action = ActionName { service: service.clone(), action: entry.action };
                actions.set(action, identity, &entry.setting, &value);
            }
        }
        actions
    }

    /// The policies of an action; the built-in one, which is off, where nothing is set.
    pub(super) fn policies(&self, action: &ActionName) -> Vec<Arc<PolicyConfig>> {
        let of_action = self.settings.iter().filter(|((name, _), _)| name == action);
        let policies: Vec<_> = of_action.map(|(_, policy)| Arc::clone(policy)).collect();
        if !policies.is_empty() {
            return policies;
        }
        let built_in = CompactLockout::BUILT_IN;
        let limiter = built_in.policy().map(Policy::Lockout).ok();
        limiter
            .map(|limiter| Arc::new(policy(action, Identity::MEMBER, limiter, false)))
            .into_iter()
            .collect()
    }

    /// Every action with a setting, each with its policies.
    pub(super) fn all(&self) -> Vec<Arc<PolicyConfig>> {
        self.settings.values().cloned().collect()
    }

    fn set(&mut self, action: ActionName, identity: Identity, setting: &CompactLockout, value: &Value<'_>) {
        let Some(limiter) = lockout_of(setting, value) else { return };
        let mut policy = policy(&action, identity, limiter, setting.enabled);
        policy.words = self.words.get(&action).cloned().unwrap_or_default();
        self.settings.insert((action, identity), Arc::new(policy));
    }

    /// Takes `Service.Action.message_en = "…"`, which holds for a shop's numbers too; whether it was one.
    fn take_words(&mut self, name: &str, value: &Value<'_>) -> bool {
        let Some((action, key)) = name.rsplit_once('.') else { return false };
        let Ok(action) = ActionName::parse(action) else { return false };
        flat::entry(&mut self.words, &action).put(key, value)
    }
}

fn policy(action: &ActionName, identity: Identity, limiter: Policy, is_enabled: bool) -> PolicyConfig {
    PolicyConfig {
        name: format!("{action}.{}", identity.name),
        key: PolicyKey::of(identity.part),
        limiter,
        sku_limiters: BTreeMap::new(),
        mode: if is_enabled { PolicyMode::Enforced } else { PolicyMode::Off },
        inherit: Inheritance::Keep,
        on_store_failure: OnStoreFailure::Local,
        lease: false,
        words: PolicyWords::NONE,
    }
}

/// What an action is counted by, in the words of these settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    name: &'static str,
    part: KeyPart,
}

impl Identity {
    const MEMBER: Self = Self { name: "MemberId", part: KeyPart::Member };

    const ALL: [Self; 6] = [
        Self::MEMBER,
        Self { name: "ShopId", part: KeyPart::Shop },
        Self { name: "DeviceId", part: KeyPart::Device },
        Self { name: "ClientId", part: KeyPart::Client },
        Self { name: "SkuId", part: KeyPart::Sku },
        Self { name: "Ip", part: KeyPart::Ip },
    ];

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|identity| identity.name == text)
    }
}

const IDENTITIES: &str = "MemberId, ShopId, DeviceId, ClientId, SkuId or Ip";
const SETTINGS_MAX: usize = 1_000;
const SERVICES_MAX: usize = 64;
