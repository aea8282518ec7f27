//! One limiter, by its transitions.

use super::charges::limiter_of;
use super::{holder_of, inheritance_of, policy_of, told};
use crate::reply::Answer;
use crate::vector::{Call, Case, Op};
use shared::limiter::{Policy, State};
use shared::time::Timestamp;
use std::collections::BTreeMap;

pub(super) fn answers(case: &Case) -> Result<Vec<Answer>, String> {
    let policy = policy_of(&case.limiter, &case.policy)?;
    let mut limiter = Limiter { name: &case.limiter, policy, states: BTreeMap::new() };
    case.steps.iter().map(|call| limiter.answer(call)).collect()
}

struct Limiter<'a> {
    name: &'a str,
    policy: Policy,
    states: BTreeMap<String, State>,
}

impl Limiter<'_> {
    fn answer(&mut self, call: &Call) -> Result<Answer, String> {
        let now = Timestamp::from_micros(call.t_us);
        let key = call.key("key").to_owned();
        let state = self.states.get(&key).cloned().unwrap_or_else(|| self.policy.new_state());
        let mut decision = None;
        let state = match call.op {
            Op::Take => {
                let holder = call.holder.as_deref().map(holder_of);
                let transition = self.policy.check_for(state, now, call.cost, holder);
                decision = Some(transition.decision);
                transition.state
            }
            Op::Peek => state,
            Op::Refund => {
                let taken_at = call.taken_us.map_or(now, Timestamp::from_micros);
                self.policy.refund(state, now, call.cost, taken_at)
            }
            Op::Give => {
                let holder = call.holder.as_deref().ok_or("nobody gives")?;
                self.policy.give(state, now, holder_of(holder))
            }
            Op::SetPolicy => {
                self.change(call, now)?;
                self.states.get(&key).cloned().unwrap_or(state)
            }
        };
        let decision = decision.unwrap_or_else(|| self.policy.check(state.clone(), now, 0).decision);
        let mut answer = told(&decision);
        answer.insert("locked".to_owned(), self.is_locked(&state, now).into());
        self.states.insert(key, state);
        Ok(answer)
    }

    /// Every key goes on under the new policy.
    fn change(&mut self, call: &Call, now: Timestamp) -> Result<(), String> {
        let fields = call.policy.as_ref().ok_or("no policy is named")?;
        let next = policy_of(limiter_of(fields).unwrap_or(self.name), fields)?;
        let how = inheritance_of(call)?;
        for state in self.states.values_mut() {
            *state = next.inherit(&self.policy, state.clone(), now, how);
        }
        self.policy = next;
        Ok(())
    }

    fn is_locked(&self, state: &State, now: Timestamp) -> bool {
        matches!((&self.policy, state), (Policy::Lockout(policy), State::Lockout(state)) if policy.is_locked(*state, now))
    }
}
