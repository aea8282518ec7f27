//! How often limits decided what, by policy: for an isolate's reports.

use super::Limit;
use crate::config::PolicyMode;
use crate::flat::LiteMap;
use crate::limiter::Decision;
use crate::wire::{LimitCounts, LimitReport};

/// What the limits of one host said since it was last asked. There are as many counts as policies in the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitTally {
    by_policy: LiteMap<String, LimitCounts>,
}

impl LimitTally {
    /// Counts what one stage's limits were told; `None`: nobody answered, or was asked.
    pub fn note(&mut self, limits: &[Limit<'_>], decisions: &[Option<Decision>]) {
        for (limit, decision) in limits.iter().zip(decisions) {
            if !self.by_policy.contains_key(limit.name) {
                self.by_policy.insert(limit.name.to_owned(), LimitCounts::default());
            }
            let Some(counts) = self.by_policy.get_mut(limit.name) else { continue };
            let is_shadow = limit.mode == PolicyMode::Shadow;
            let count = match (decision, is_shadow) {
                (None, _) => &mut counts.undecided,
                (Some(Decision::Allowed { .. }), false) => &mut counts.allowed,
                (Some(Decision::Allowed { .. }), true) => &mut counts.shadow_allowed,
                (Some(Decision::Denied { .. }), false) => &mut counts.refused,
                (Some(Decision::Denied { .. }), true) => &mut counts.shadow_refused,
            };
            *count = count.saturating_add(1);
            if decision.is_some_and(|decision| limit.is_near(&decision)) {
                counts.near = counts.near.saturating_add(1);
            }
        }
    }

    /// What was counted; the next counts begin at 0.
    pub fn take(&mut self) -> Vec<LimitReport> {
        let counted = core::mem::take(&mut self.by_policy).into_iter();
        counted.map(|(policy, counts)| LimitReport { policy, counts }).collect()
    }
}
