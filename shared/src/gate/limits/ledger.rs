//! What a request took so far, and what is given back of it.

use super::{Home, Limit, by_home};
use crate::flat::{self, LiteMap};
use crate::limiter::lease::Refund;
use crate::limiter::{Decision, Policy};
use crate::time::Timestamp;

/// What a request took so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger<'a> {
    taken: Vec<(Home<'a>, Refund)>,
}

impl<'a> Ledger<'a> {
    /// Notes what the homes took of one stage at `taken_at`: the limits of each check of which every limit was allowed.
    pub fn note(&mut self, limits: &[Limit<'a>], decisions: &[Option<Decision>], taken_at: Timestamp) {
        for call in by_home(limits) {
            for check in call.checks {
                let is_allowed = |index: &usize| matches!(decisions.get(*index), Some(Some(decision)) if decision.is_allowed());
                if !check.indices.iter().all(is_allowed) {
                    continue;
                }
                let charges = check.indices.iter().filter_map(|index| Some(limits.get(*index)?.charge));
                // A leaky queue told others their places by this one, and a permit is given back by its holder.
                let charges = charges.filter(|charge| {
                    !matches!(charge.policy, Policy::LeakyQueue(_) | Policy::Concurrency(_))
                });
                self.taken.extend(charges.map(|charge| (call.home, Refund { charge, taken_at })));
            }
        }
    }

    /// What to give back, by home: when a later stage refused, or the shop did no work. Never after the shop was called.
    pub fn refunds(&self) -> LiteMap<Home<'a>, Vec<Refund>> {
        let mut refunds = LiteMap::<Home<'a>, Vec<Refund>>::new();
        for (home, refund) in &self.taken {
            flat::entry(&mut refunds, home).push(*refund);
        }
        refunds
    }
}
