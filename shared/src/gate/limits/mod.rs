//! What limits a request: which keys, in which stages, where their states live, and what a refusal says.
//!
//! The host performs a [`Plan`] stage by stage ([`Stage::ALL`]), as far as it knows the [`Subject`]:
//!
//! 1. [`Plan::limits`] gives the stage's limits. None: no home is asked.
//! 2. [`by_home`] says which calls to make, all at once. Each call's checks are made in order, and after a refused
//!    enforced one no more.
//! 3. [`judge`] says what refuses the request, and what a policy in shadow would have refused.
//! 4. [`Ledger::note`] remembers what was taken. When a later stage refuses, or the shop did no work,
//!    [`Ledger::refunds`] says what to give back.
//!
//! Inside one home all enforced limits are taken or none. Between homes the earlier stage is given back: until then, at
//! most one round trip, its keys count one request too many for each that is refused later. A refund that is lost leaves
//! one request's cost to come back by itself. A home that did not answer in time is not given anything back, because
//! nobody knows whether it took.

mod home;
mod ledger;
mod plan;
mod subject;
mod verdict;

pub use home::{Home, HomeCall, HomeCheck, by_home};
pub use ledger::Ledger;
pub use plan::{Plan, Stage, limit_of};
pub use subject::{MEMBER_BYTES_MAX, Subject};
pub use verdict::{Bound, Verdict, judge, permits_end_soon, refused_already};

use crate::config::{KeyPart, OnStoreFailure, PolicyMode, PolicyWords, PollConfig};
use crate::http::reason::Reason;
use crate::limiter::Decision;
use crate::limiter::check::{Charge, CheckRequest};
use crate::limiter::key::Key;
use crate::token::Ticket;

/// One key of a request, the policy that counts it, and the home of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit<'a> {
    /// Name of the policy.
    pub name: &'a str,
    /// Shadow or enforced; a policy that is off makes no limit.
    pub mode: PolicyMode,
    /// What holds while the home does not answer.
    pub on_store_failure: OnStoreFailure,
    /// What a refusal is called.
    pub reason: Reason,
    /// What a buyer reads then, where the policy has words of its own.
    pub words: &'a PolicyWords,
    /// What the policy counts by.
    pub counts_by: &'a [KeyPart],
    /// Where the state lives.
    pub home: Home<'a>,
    /// What is taken there.
    pub charge: Charge,
    /// Whether quota may lie with the asking process ahead of use.
    pub lease: bool,
}

impl Limit<'_> {
    /// Whether a refusal counts.
    pub fn is_enforced(&self) -> bool {
        self.mode == PolicyMode::Enforced
    }

    /// Whether a key that just let a request pass has a fifth of its quota left, or less.
    pub fn is_near(&self, decision: &Decision) -> bool {
        decision.is_allowed() && decision.remaining().saturating_mul(5) <= self.charge.policy.quota()
    }
}

/// What a poll of this ticket's device is charged to, in the memory of the isolate that answers it.
pub fn poll_limit(
    poll: &PollConfig,
    shop_id: &str,
    ticket: &Ticket,
) -> Option<(Limit<'static>, CheckRequest)> {
    let key = Key { service: shop_id, action: POLL_ACTION, identity: &ticket.device.0 }.hash().ok()?;
    let charge = Charge::new(poll.limiter, key, 1);
    let limit = Limit {
        name: POLL_ACTION,
        mode: PolicyMode::Enforced,
        on_store_failure: OnStoreFailure::Open,
        reason: Reason::RateLimited,
        words: &PolicyWords::NONE,
        counts_by: &[KeyPart::Device],
        home: Home::Isolate,
        charge,
        lease: false,
    };
    Some((limit, CheckRequest::new(vec![charge]).ok()?))
}

/// The name of the poll budget in `RateLimit-Policy`.
const POLL_ACTION: &str = "poll";
