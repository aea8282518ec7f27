//! What every home of limiter states must do, told plainly over `shared`: a map of states, and nothing forgotten but by
//! word.

use shared::limiter::check::{Charge, CheckReply, CheckRequest};
use shared::limiter::concurrency::Holder;
use shared::limiter::key::KeyHash;
use shared::limiter::{Decision, Policy, State, Transition};
use shared::time::Timestamp;
use std::collections::BTreeMap;

/// The policy that counted each key last, and its state.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) entries: BTreeMap<KeyHash, (Policy, State)>,
}

impl Ledger {
    pub(crate) fn check(&mut self, request: &CheckRequest, now: Timestamp) -> CheckReply {
        let charges = request.charges();
        let transitions: Vec<Transition<State>> = charges
            .iter()
            .map(|charge| {
                charge.policy.check_for(self.state_of(charge, now), now, charge.cost, request.holder())
            })
            .collect();
        let all_pass = transitions.iter().all(|transition| transition.decision.is_allowed());
        let decisions = charges.iter().zip(&transitions).map(|(charge, transition)| {
            if transition.decision.is_allowed() && !all_pass {
                self.look(charge, now, request.holder())
            } else {
                transition.decision
            }
        });
        let decisions = decisions.collect();
        for (charge, transition) in charges.iter().zip(transitions) {
            let begins_lock = matches!(charge.policy, Policy::Lockout(_))
                && !transition.decision.is_allowed()
                && self.entries.contains_key(&charge.key);
            if (all_pass && charge.cost > 0) || begins_lock {
                self.entries.insert(charge.key, (charge.policy, transition.state));
            }
        }
        CheckReply { decisions }
    }

    pub(crate) fn peek(&self, request: &CheckRequest, now: Timestamp) -> CheckReply {
        let decide = |charge: &Charge| {
            let state = self.state_of(charge, now);
            let asked = charge.policy.check_for(state, now, charge.cost, request.holder()).decision;
            if asked.is_allowed() { self.look(charge, now, request.holder()) } else { asked }
        };
        CheckReply { decisions: request.charges().iter().map(decide).collect() }
    }

    pub(crate) fn refund(&mut self, charge: &Charge, taken_at: Timestamp, now: Timestamp) {
        self.overwrite(charge, now, |state| charge.policy.refund(state, now, charge.cost, taken_at));
    }

    pub(crate) fn replenish(&mut self, charge: &Charge, now: Timestamp) {
        self.overwrite(charge, now, |state| charge.policy.replenish(state, now, charge.cost));
    }

    pub(crate) fn give(&mut self, charge: &Charge, holder: Holder, now: Timestamp) {
        self.overwrite(charge, now, |state| charge.policy.give(state, now, holder));
    }

    fn overwrite(&mut self, charge: &Charge, now: Timestamp, into: impl Fn(State) -> State) {
        let state = into(self.state_of(charge, now));
        if let Some(entry) = self.entries.get_mut(&charge.key) {
            *entry = (charge.policy, state);
        }
    }

    fn look(&self, charge: &Charge, now: Timestamp, holder: Option<Holder>) -> Decision {
        charge.policy.check_for(self.state_of(charge, now), now, 0, holder).decision
    }

    fn state_of(&self, charge: &Charge, now: Timestamp) -> State {
        match self.entries.get(&charge.key) {
            None => charge.policy.new_state(),
            Some((policy, state)) if *policy == charge.policy => state.clone(),
            Some((policy, state)) => charge.policy.inherit(policy, state.clone(), now, charge.inheritance),
        }
    }
}
