//! A case as charges of `shared`, for every home that takes them.

use super::{inheritance_of, policy_of, tell_wait, told};
use crate::reply::Answer;
use crate::vector::{Call, Case, Fields};
use serde_json::Value;
use shared::limiter::check::{Charge, CheckReply};
use shared::limiter::key::Key;
use shared::limiter::{Cost, Decision, Policy};
use shared::time::micros;
use std::time::Duration;

/// The limiters of one case: one, or several that take together.
#[derive(Clone, Debug)]
pub struct Layers {
    /// Keeps the keys of one case apart from those of another in the same store.
    case: String,
    limiter: String,
    each: Vec<Layer>,
}

#[derive(Clone, Debug)]
struct Layer {
    name: String,
    policy: Policy,
}

impl Layers {
    /// The limiters that a case begins with.
    ///
    /// # Errors
    /// A reason, where one of them is no policy.
    pub fn of(case: &Case) -> Result<Self, String> {
        let layers = if case.limiter == LAYERED {
            case.policy.0.iter().map(|(name, value)| layer(name, value)).collect::<Result<_, _>>()?
        } else {
            vec![Layer { name: ONE.to_owned(), policy: policy_of(&case.limiter, &case.policy)? }]
        };
        Ok(Self { case: case.name.clone(), limiter: case.limiter.clone(), each: layers })
    }

    /// Takes over the policy that a call names, if it names one.
    ///
    /// # Errors
    /// A reason, where it is none, or of no layer.
    pub fn change(&mut self, call: &Call) -> Result<(), String> {
        let Some(changed) = &call.policy else { return Ok(()) };
        if self.limiter != LAYERED {
            let limiter = limiter_of(changed).unwrap_or(&self.limiter);
            let policy = policy_of(limiter, changed)?;
            self.each.iter_mut().for_each(|layer| layer.policy = policy);
            return Ok(());
        }
        for (name, value) in &changed.0 {
            let found = self.each.iter_mut().find(|layer| layer.name == *name);
            *found.ok_or_else(|| format!("no layer `{name}`"))? = layer(name, value)?;
        }
        Ok(())
    }

    /// What a call charges, layer by layer.
    ///
    /// # Errors
    /// A reason, where a key or an inheritance is none.
    pub fn charges(&self, call: &Call, cost: Cost) -> Result<Vec<Charge>, String> {
        let inheritance = inheritance_of(call)?;
        let charge = |layer: &Layer| {
            let key =
                Key { service: &self.case, action: &layer.name, identity: call.key(&layer.name).as_bytes() };
            let key = key.hash().map_err(|error| error.to_string())?;
            Ok(Charge { inheritance, ..Charge::new(layer.policy, key, cost) })
        };
        self.each.iter().map(charge).collect()
    }

    /// What the layers are called, in their order.
    pub fn names(&self) -> Vec<&str> {
        self.each.iter().map(|layer| layer.name.as_str()).collect()
    }

    /// The policies in force.
    pub fn policies(&self) -> impl Iterator<Item = &Policy> {
        self.each.iter().map(|layer| &layer.policy)
    }

    /// The fields of an answer: the least that remains, the longest times, and what binds.
    pub fn tell(&self, reply: &CheckReply) -> Answer {
        let refusal = reply.refusal();
        let decisions = reply.decisions.iter();
        let mut answer = reply.decisions.first().map(told).unwrap_or_default();
        answer.insert("ok".to_owned(), refusal.is_none().into());
        answer.insert("remaining".to_owned(), decisions.clone().map(Decision::remaining).min().into());
        let reset_us = decisions.clone().map(|decision| micros(decision.reset_after())).max();
        answer.insert("reset_after_us".to_owned(), reset_us.into());
        let delay = decisions.map(|decision| match *decision {
            Decision::Allowed { delay, .. } => micros(delay),
            Decision::Denied { .. } => 0,
        });
        answer.insert("delay_us".to_owned(), refusal.map_or(delay.max().into(), |_| Value::Null));
        let wait = refusal.map_or(Some(Duration::ZERO), |refusal| refusal.retry_after);
        tell_wait(&mut answer, wait, refusal.is_none());
        let bound_by = refusal.and_then(|refusal| self.each.get(refusal.bound_by));
        answer.insert("bound_by".to_owned(), bound_by.map(|layer| layer.name.as_str()).into());
        answer
    }
}

fn layer(name: &str, value: &Value) -> Result<Layer, String> {
    let fields: Fields = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    let limiter = limiter_of(&fields).ok_or("a layer names no limiter")?;
    Ok(Layer { name: name.to_owned(), policy: policy_of(limiter, &fields)? })
}

/// The limiter that a policy names itself.
pub(super) fn limiter_of(fields: &Fields) -> Option<&str> {
    fields.0.iter().find(|(name, _)| name == "limiter").and_then(|(_, value)| value.as_str())
}

const LAYERED: &str = "all_or_nothing";

/// The field in which a step of one limiter names its key.
const ONE: &str = "key";
