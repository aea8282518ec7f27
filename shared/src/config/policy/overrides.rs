//! `[[shop.policy]]`: a shop's own numbers, and what limits its routes.

use super::fitness::{ListOf, refuse_unfit};
use super::{KeyPart, LimitChoice, Policies, PolicyConfig, PolicyMode, numbers, read_inherit, read_mode};
use crate::config::actions::{ActionName, Actions};
use crate::config::section::{Section, Value};
use crate::config::unique::Unique;
use crate::http::sku::Sku;
use std::sync::Arc;

/// The policies as one shop has them.
pub(in crate::config) struct ShopPolicies {
    policies: Policies,
    actions: Actions,
}

impl ShopPolicies {
    /// Reads the overrides of a shop, each for all of a policy's keys or for one SKU.
    pub(in crate::config) fn read(shop: &mut Section<'_>, policies: &Policies, actions: &Actions) -> Self {
        let actions = actions.read_shop(shop.table("actions"));
        let mut own = Self { policies: policies.clone(), actions };
        let mut names = Unique::new();
        for mut section in shop.tables("policy", OVERRIDES_MAX) {
            own.read_override(&mut section, &mut names);
            section.finish();
        }
        own
    }

    /// Every policy as the shop has it.
    pub(in crate::config) fn into_all(self) -> Vec<Arc<PolicyConfig>> {
        let mut all = self.policies.into_all();
        all.extend(self.actions.all());
        all
    }

    /// The limits of the whole shop: the site's, then its own.
    pub(in crate::config) fn read_limits(
        &self,
        shop: &mut Section<'_>,
        site_limits: &[LimitChoice],
    ) -> Vec<LimitChoice> {
        let inherited: Vec<LimitChoice> = site_limits.iter().map(|choice| self.own(choice)).collect();
        let Some(value) = shop.optional("limits") else { return inherited };
        let own = self.policies.read_limits(&value, ListOf::Shop);
        together(&value, &inherited, own)
    }

    /// The limits of a route: the shop's, its own, and those of its action.
    pub(in crate::config) fn route_limits(
        &self,
        limits: Option<&Value<'_>>,
        action: Option<(&ActionName, &Value<'_>)>,
        shop_limits: &[LimitChoice],
        list: ListOf,
    ) -> Vec<LimitChoice> {
        let own = limits.map(|value| self.policies.read_limits(value, list)).unwrap_or_default();
        let of_action = action.map(|(name, value)| {
            let choices: Vec<_> = self.actions.policies(name).into_iter().map(LimitChoice::of).collect();
            refuse_unfit(value, &choices, list);
            choices
        });
        let own = own.into_iter().chain(of_action.unwrap_or_default()).collect();
        match limits.or(action.map(|(_, value)| value)) {
            Some(value) => together(value, shop_limits, own),
            None => shop_limits.to_vec(),
        }
    }

    fn read_override(&mut self, section: &mut Section<'_>, names: &mut Unique) {
        let name = section.required("name", "\"<name of a [[policy]]>\"");
        let sku = section
            .optional("sku")
            .map(|value| value.parsed(|text| Sku::parse(text).map_err(|_| "not a SKU")));
        let limiter = numbers::read(section);
        let (mode, inherit) = (read_mode(section), read_inherit(section));
        let Some(name) = name else { return };
        let policy = name.parsed(|text| self.policies.find(text).ok_or("no [[policy]] has this name"));
        let (Some(policy), Some((limiter, is_enabled)), Some(mode), Some(inherit)) =
            (policy, limiter, mode, inherit)
        else {
            return;
        };
        // Not held beyond this, or each of ten thousand overrides would copy all before it.
        let (policy_name, key) = (policy.name.clone(), policy.key.clone());
        drop(policy);
        let sku = match sku {
            None => None,
            Some(None) => return,
            Some(sku) => sku,
        };
        let of_sku = sku.as_ref().map_or("", Sku::as_str);
        names.claim_shown(format!("{policy_name} {of_sku}"), &policy_name, &name);
        if key.has(KeyPart::Site) {
            name.error("this policy counts over all shops, so none of them has numbers of its own");
        }
        let Some(own) = self.policies.find_mut(&policy_name) else { return };
        match sku {
            Some(_) if !key.has(KeyPart::Sku) => {
                name.error("this policy does not count by SKU; remove sku");
            }
            Some(_) if mode.is_some() || inherit.is_some() || !is_enabled => {
                section.error("mode and inherit hold for the whole policy; write them without sku");
            }
            Some(sku) => {
                own.sku_limiters.insert(sku, limiter);
            }
            None => {
                own.limiter = limiter;
                own.inherit = inherit.unwrap_or(own.inherit);
                own.mode = if is_enabled { mode.unwrap_or(own.mode) } else { PolicyMode::Off };
            }
        }
    }

    /// The same choice with this shop's numbers.
    fn own(&self, choice: &LimitChoice) -> LimitChoice {
        let own =
            |policy: &Arc<PolicyConfig>| self.policies.find(&policy.name).unwrap_or_else(|| policy.clone());
        LimitChoice { policies: choice.policies.iter().map(own).collect() }
    }
}

/// All limits of a request, none twice, and no more than one check holds.
fn together(value: &Value<'_>, inherited: &[LimitChoice], own: Vec<LimitChoice>) -> Vec<LimitChoice> {
    let names = |limits: &[LimitChoice]| -> Vec<String> {
        limits.iter().flat_map(|choice| &choice.policies).map(|policy| policy.name.clone()).collect()
    };
    let known = names(inherited);
    if let Some(name) = names(&own).into_iter().find(|name| known.contains(name)) {
        value.error(format!(
            "{name} limits every request here already, by [site] or its [[shop]]; name it once"
        ));
    }
    let mut limits = inherited.to_vec();
    limits.extend(own);
    if limits.len() > LIMITS_MAX {
        value.error(format!(
            "a request has at most {LIMITS_MAX} limits, those of [site] and its [[shop]] included; here are {}",
            limits.len()
        ));
    }
    limits
}

/// Overrides of one shop: every SKU of a large sale.
const OVERRIDES_MAX: usize = 10_000;

/// As many as one check has charges.
const LIMITS_MAX: usize = crate::limiter::check::CHARGES_MAX;
