//! The policies of the file by name, and the lists that name them.

use super::fitness::{ListOf, refuse_unfit};
use super::{KeyPart, LimitChoice, OnStoreFailure, PolicyConfig, PolicyKey, PolicyMode, PolicyWords};
use crate::config::section::{Section, Value};
use crate::config::unique::Unique;
use crate::limiter::gcra::GcraPolicy;
use crate::limiter::{Cost, Inheritance, Policy};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The policies of the file, and the built-in ones that it does not replace.
#[derive(Clone)]
pub(in crate::config) struct Policies {
    all: Vec<Arc<PolicyConfig>>,
}

impl Policies {
    pub(in crate::config) fn read(root: &mut Section<'_>) -> Self {
        let mut names = Unique::new();
        let mut all = Vec::new();
        for mut section in root.tables("policy", POLICIES_MAX) {
            all.extend(PolicyConfig::read(&mut section, &mut names).map(Arc::new));
            section.finish();
        }
        let join_device = built_in("join-device", KeyPart::Device, 10, 1);
        let join_ip = built_in("join-ip", KeyPart::Ip, 300, 100);
        for built_in in [join_device, join_ip].into_iter().flatten() {
            if !all.iter().any(|policy: &Arc<PolicyConfig>| policy.name == built_in.name) {
                all.push(Arc::new(built_in));
            }
        }
        Self { all }
    }

    /// The limits that an array names: policies, and arrays of those of which the first applies.
    pub(in crate::config) fn read_limits(&self, value: &Value<'_>, list: ListOf) -> Vec<LimitChoice> {
        let mut names = Unique::new();
        let mut limits = Vec::new();
        for item in value.list(LIMITS_MAX) {
            let members = if item.is_list() { item.list(CHOICES_MAX) } else { vec![item.clone()] };
            if members.is_empty() {
                item.error("name at least one policy");
            }
            let mut policies = Vec::new();
            for member in members {
                let policy = member.parsed(|name| self.find(name).ok_or_else(|| self.advice()));
                let Some(policy) = policy else { continue };
                if names.claim(&policy.name, &member) {
                    policies.push(policy);
                }
            }
            if !policies.is_empty() {
                limits.push(LimitChoice { policies });
            }
        }
        refuse_unfit(value, &limits, list);
        limits
    }

    pub(in crate::config) fn into_all(self) -> Vec<Arc<PolicyConfig>> {
        self.all
    }

    pub(in crate::config) fn find(&self, name: &str) -> Option<Arc<PolicyConfig>> {
        self.all.iter().find(|policy| policy.name == name).cloned()
    }

    /// The policy of this name, to be changed here only.
    pub(in crate::config) fn find_mut(&mut self, name: &str) -> Option<&mut PolicyConfig> {
        self.all.iter_mut().find(|policy| policy.name == name).map(Arc::make_mut)
    }

    fn advice(&self) -> String {
        let names: Vec<&str> = self.all.iter().map(|policy| policy.name.as_str()).collect();
        format!("no [[policy]] has this name; known are {}", names.join(", "))
    }
}

/// A policy that admits `rate` a second; `None` for no rate here.
fn built_in(name: &str, part: KeyPart, burst_capacity: Cost, rate: u64) -> Option<PolicyConfig> {
    Some(PolicyConfig {
        name: name.to_owned(),
        key: PolicyKey::of(part),
        limiter: GcraPolicy::new(burst_capacity, rate, Duration::from_secs(1)).map(Policy::Gcra).ok()?,
        sku_limiters: BTreeMap::new(),
        mode: PolicyMode::Enforced,
        inherit: Inheritance::Keep,
        on_store_failure: OnStoreFailure::Local,
        lease: false,
        words: PolicyWords::NONE,
    })
}

const POLICIES_MAX: usize = 256;
const LIMITS_MAX: usize = 8;

/// Policies of which one applies.
const CHOICES_MAX: usize = 4;
