//! What a new configuration does to the states that the old one left.

use super::{Config, PolicyConfig, PolicyMode};
use crate::limiter::{Inheritance, PolicySettings};
use core::fmt;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// A name for the numbers of a policy: whoever remembers a refusal forgets it when they change. It says nothing about
/// which of two is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyVersion(pub u64);

/// One policy of one shop that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyChange {
    /// The shop.
    pub shop_id: String,
    /// The policy.
    pub policy: String,
    /// What becomes of its keys.
    pub effect: ChangeEffect,
}

/// What becomes of the keys of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeEffect {
    /// It is new, or was off: every key begins as new.
    Begins,
    /// It is gone, or off: its keys are no longer asked for, and what they hold runs out by itself.
    Ends,
    /// It counts by something else, so every key is another one and begins as new.
    Rekeyed,
    /// Its numbers are others: at its next request each key brings along what it has in use, never more than the new
    /// maximum; a lock goes on.
    Kept,
    /// Its numbers are others: the share in use stays.
    Proportional,
    /// Its numbers are others: each key begins as new, locks included.
    Reset,
    /// Only what happens with the decision is another: states stay as they are.
    Untouched,
}

impl PolicyConfig {
    /// The name of these numbers.
    pub fn version(&self) -> PolicyVersion {
        let mut hasher = Sha256::new();
        let mut add = |text: &str| {
            hasher.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
            hasher.update(text);
        };
        add(&self.name);
        add(&self.key.to_string());
        let settings = |policy| format!("{:?}", PolicySettings::from(policy));
        add(&settings(self.limiter));
        for (sku, limiter) in &self.sku_limiters {
            add(sku.as_str());
            add(&settings(*limiter));
        }
        let digest: [u8; 32] = hasher.finalize().into();
        let [first, ..] = digest.as_chunks::<8>().0 else { return PolicyVersion(0) };
        PolicyVersion(u64::from_be_bytes(*first))
    }
}

/// What changes from `old` to `new`, by shop and policy, in their order; nothing for what stays.
pub fn policy_changes(old: &Config, new: &Config) -> Vec<PolicyChange> {
    let (old, new) = (by_name(old), by_name(new));
    let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let change = |name: &&(&str, &str)| {
        let effect = effect(old.get(*name).copied(), new.get(*name).copied())?;
        Some(PolicyChange { shop_id: name.0.to_owned(), policy: name.1.to_owned(), effect })
    };
    names.iter().filter_map(change).collect()
}

fn by_name(config: &Config) -> BTreeMap<(&str, &str), &PolicyConfig> {
    let policies = config.shops.iter().flat_map(|shop| {
        shop.policies.iter().map(move |policy| ((shop.id.as_str(), policy.name.as_str()), policy.as_ref()))
    });
    policies.collect()
}

fn effect(old: Option<&PolicyConfig>, new: Option<&PolicyConfig>) -> Option<ChangeEffect> {
    let counts = |policy: &&PolicyConfig| policy.mode != PolicyMode::Off;
    match (old.filter(counts), new.filter(counts)) {
        (None, None) => None,
        (None, Some(_)) => Some(ChangeEffect::Begins),
        (Some(_), None) => Some(ChangeEffect::Ends),
        (Some(old), Some(new)) if old.key != new.key => Some(ChangeEffect::Rekeyed),
        (Some(old), Some(new)) if old.version() != new.version() => Some(match new.inherit {
            Inheritance::Keep => ChangeEffect::Kept,
            Inheritance::Proportional => ChangeEffect::Proportional,
            Inheritance::Reset => ChangeEffect::Reset,
        }),
        (Some(old), Some(new)) => (old != new).then_some(ChangeEffect::Untouched),
    }
}

impl fmt::Display for PolicyChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effect = match self.effect {
            ChangeEffect::Begins => "begins; every key is new",
            ChangeEffect::Ends => "ends; its keys are no longer asked for",
            ChangeEffect::Rekeyed => "counts by something else; every key is new",
            ChangeEffect::Kept => "has other numbers; what a key has in use stays in use",
            ChangeEffect::Proportional => "has other numbers; the share that a key has in use stays",
            ChangeEffect::Reset => "has other numbers; every key begins as new",
            ChangeEffect::Untouched => "is applied in another way; what was counted stays",
        };
        write!(f, "{}: {} {effect}", self.shop_id, self.policy)
    }
}
