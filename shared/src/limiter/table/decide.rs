//! What a key is told: by the state that a table has of it, or as a new one.

use super::LimiterTable;
use crate::limiter::check::Charge;
use crate::limiter::concurrency::Holder;
use crate::limiter::gcra::{GcraPolicy, GcraState};
use crate::limiter::{Cost, Decision, Policy, State, Transition};
use crate::time::Timestamp;
use core::time::Duration;

impl LimiterTable {
    /// [`check_one`](Self::check_one) of the key whose slot hash is known.
    #[inline]
    pub(super) fn check_at(&mut self, slot: u64, charge: Charge, now: Timestamp) -> Decision {
        let Some(position) = self.find(slot, charge.key) else { return self.check_new(slot, charge, now) };
        match self.gcra_at(position, &charge.policy) {
            Some((policy, state)) => policy.take(state, now, charge.cost),
            None => self.check_known(position, charge, now),
        }
    }

    /// [`check_at`](Self::check_at) of a key with an entry, whatever counts it.
    fn check_known(&mut self, position: usize, charge: Charge, now: Timestamp) -> Decision {
        let transition = self.judge(Some(position), &charge, None, now, charge.cost);
        if is_stored(&charge, &transition.decision) {
            self.keep(position, &charge.policy, transition.state);
        }
        transition.decision
    }

    /// What nearly every request meets: GCRA, under the policy that has counted the key. It is changed in place, because
    /// copies of states cost as much as the decision.
    #[inline]
    fn gcra_at(&mut self, position: usize, policy: &Policy) -> Option<(GcraPolicy, &mut GcraState)> {
        let (id, state) = self.entries.get_mut(position)?.gcra_mut()?;
        match (self.policies.get(id)?, policy) {
            (Policy::Gcra(held), Policy::Gcra(policy)) if held == policy => Some((*policy, state)),
            _ => None,
        }
    }

    fn check_new(&mut self, slot: u64, charge: Charge, now: Timestamp) -> Decision {
        self.make_room(1, now);
        let transition = self.judge(None, &charge, None, now, charge.cost);
        if charge.cost == 0 || !transition.decision.is_allowed() {
            return transition.decision;
        }
        if self.room() > 0 {
            self.insert(slot, charge.key, &charge.policy, transition.state);
        } else if let Some(denied) = self.pass_unrecorded(now) {
            return denied;
        }
        transition.decision
    }

    /// What a charge would be told, with the `remaining` of before.
    pub(super) fn look(
        &self,
        position: Option<usize>,
        charge: &Charge,
        holder: Option<Holder>,
        now: Timestamp,
    ) -> Decision {
        let asked = self.judge(position, charge, holder, now, charge.cost).decision;
        if asked.is_allowed() { self.judge(position, charge, holder, now, 0).decision } else { asked }
    }

    /// Decides on `cost` for the key of `charge`, which lies at `position` or is new.
    pub(super) fn judge(
        &self,
        position: Option<usize>,
        charge: &Charge,
        holder: Option<Holder>,
        now: Timestamp,
        cost: Cost,
    ) -> Transition<State> {
        charge.policy.check_for(self.state_at(position, charge, now), now, cost, holder)
    }

    /// The state of a charge's key under the charge's policy; what another policy counted stays in use as the charge says.
    pub(super) fn state_at(&self, position: Option<usize>, charge: &Charge, now: Timestamp) -> State {
        let Some(entry) = position.and_then(|position| self.entries.get(position)) else {
            return charge.policy.new_state();
        };
        match self.policies.get(entry.policy()) {
            Some(policy) if *policy != charge.policy => {
                charge.policy.inherit(policy, entry.state(), now, charge.inheritance)
            }
            _ => entry.state(),
        }
    }

    /// Counts a check that passes without a record of some key; the refusal when there were too many.
    pub(super) fn pass_unrecorded(&mut self, now: Timestamp) -> Option<Decision> {
        let never = Decision::Denied { remaining: 0, retry_after: None, reset_after: Duration::ZERO };
        let Some(policy) = self.unrecorded_policy else { return Some(never) };
        let transition = policy.check(self.unrecorded_state, now, 1);
        self.unrecorded_state = transition.state;
        if transition.decision.is_allowed() {
            self.unrecorded_checks = self.unrecorded_checks.saturating_add(1);
            return None;
        }
        Some(transition.decision)
    }
}

/// Whether the state after this decision is another one that must be kept: what was taken, or a lock that begins.
pub(super) fn is_stored(charge: &Charge, decision: &Decision) -> bool {
    if decision.is_allowed() { charge.cost > 0 } else { charge.policy.stores_refusals() }
}
