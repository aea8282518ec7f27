//! Changes of limits that come while a site runs: a shop's own settings of a policy, told by its operator.

use super::{Config, KeyPart, LimitChoice, PolicyConfig, PolicyMode};
use crate::limiter::{Inheritance, Policy};
use std::sync::Arc;

/// A shop's own settings of one policy; they count as if the shop's part of the file said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyOverride {
    /// The shop's id.
    pub shop: String,
    /// Name of the policy.
    pub policy: String,
    /// Its limiter in this shop.
    pub limiter: Policy,
    /// How firmly it is applied; `None`: as the file says.
    pub mode: Option<PolicyMode>,
    /// What a key brings along; `None`: as the file says.
    pub inherit: Option<Inheritance>,
}

/// Why a shop cannot have its own settings of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// The file has no shop of this name.
    #[error("no shop has this name")]
    NoSuchShop,
    /// The file has no policy of this name.
    #[error("no policy has this name")]
    NoSuchPolicy,
    /// The policy counts over all shops.
    #[error("this policy counts over all shops, so none of them has settings of its own")]
    OfTheWholeSite,
}

impl Config {
    /// Puts a shop's own settings in force wherever the policy limits one of its requests.
    ///
    /// # Errors
    /// [`OverrideError`]; then nothing was changed.
    pub fn apply(&mut self, own: &PolicyOverride) -> Result<(), OverrideError> {
        let shop = self.shops.iter_mut().find(|shop| shop.id == own.shop).ok_or(OverrideError::NoSuchShop)?;
        let policy = shop.policies.iter_mut().find(|policy| policy.name == own.policy);
        let policy = policy.ok_or(OverrideError::NoSuchPolicy)?;
        if policy.key.has(KeyPart::Site) {
            return Err(OverrideError::OfTheWholeSite);
        }
        let changed = Arc::new(PolicyConfig {
            limiter: own.limiter,
            mode: own.mode.unwrap_or(policy.mode),
            inherit: own.inherit.unwrap_or(policy.inherit),
            ..PolicyConfig::clone(policy)
        });
        *policy = Arc::clone(&changed);
        replace(&mut shop.limits, &changed);
        for route in &mut shop.routes {
            replace(&mut route.limits, &changed);
        }
        Ok(())
    }
}

fn replace(limits: &mut [LimitChoice], changed: &Arc<PolicyConfig>) {
    for policy in limits.iter_mut().flat_map(|choice| &mut choice.policies) {
        if policy.name == changed.name {
            *policy = Arc::clone(changed);
        }
    }
}
