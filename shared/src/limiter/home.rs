//! What travels between a node and the home of limiter states, and what the home does with it.
//!
//! All of one request for one home is one call: what goes back, then checks, and with them quota to go. The home needs no
//! configuration, because policies come with charges.

use super::check::{Charge, CheckReply, CheckRequest};
use super::concurrency::Holder;
use super::lease::{Grant, Refund, can_be_leased, grant_cost};
use super::table::LimiterTable;
use super::{Cost, Policy, Record};
use crate::time::Timestamp;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Most checks in one call.
pub const ASKS_MAX: usize = 16;

/// Most refunds in one call, and most permits given back.
pub const REFUNDS_MAX: usize = 64;

/// One call to one home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HomeRequest {
    /// Cost that goes back, before anything is asked.
    pub refunds: Vec<Refund>,
    /// Permits that go back, before anything is asked.
    pub gives: Vec<Give>,
    /// What is asked, in this order.
    pub asks: Vec<Ask>,
}

/// A permit that goes back to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Give {
    /// The key and its policy.
    pub charge: Charge,
    /// Who holds it.
    pub holder: Holder,
}

/// A check of one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Taken as a whole or not at all.
    pub check: CheckRequest,
    /// Quota to go, for each charge; 0, or none at all: nothing ahead of use.
    pub wanted: Vec<Cost>,
    /// Whether a refusal leaves the rest of the call unasked.
    pub is_binding: bool,
}

/// What a home answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HomeReply {
    /// When it decided, by its own clock: what a later refund names.
    pub taken_at: Timestamp,
    /// What it decided, for each ask until the first binding refusal.
    pub answers: Vec<AskReply>,
}

/// What a home answers to one ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskReply {
    /// The decision on each charge.
    pub check: CheckReply,
    /// Quota to go, for each charge that wanted some and whose key had some.
    pub grants: Vec<Option<Grant>>,
}

/// Bytes that are no call of a home, or no reply to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a call of a limiter")]
pub struct InvalidCall;

/// How a home whose memory may end keeps the state of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// In memory: it has recovered before the memory of an idle home ends.
    InMemory,
    /// Written soon: an idle home loses nothing, a crash at most the last moments.
    WrittenSoon,
    /// Written before the reply: nothing is lost.
    WrittenThrough,
}

/// A home is idle at least this long before its memory ends, unless it crashes.
pub const IDLE_BEFORE_EVICTION: Duration = Duration::from_secs(10);

impl Keeping {
    /// Whether states of this policy are ever written, so that the home looks for one when its memory knows none.
    pub fn may_be_written(policy: &Policy) -> bool {
        matches!(policy, Policy::Lockout(_) | Policy::LongQuota(_)) || policy.window() > IDLE_BEFORE_EVICTION
    }

    /// How this state is kept at `now`.
    pub fn of(record: &Record, now: Timestamp) -> Self {
        if record.must_survive(now) {
            Self::WrittenThrough
        } else if Self::may_be_written(&record.policy) && !record.policy.is_as_new(&record.state, now) {
            Self::WrittenSoon
        } else {
            Self::InMemory
        }
    }
}

impl HomeRequest {
    /// Every charge of the call: what may change.
    pub fn charges(&self) -> impl Iterator<Item = &Charge> {
        let refunds = self.refunds.iter().map(|refund| &refund.charge);
        let gives = self.gives.iter().map(|give| &give.charge);
        refunds.chain(gives).chain(self.asks.iter().flat_map(|ask| ask.check.charges()))
    }

    /// Answers from `table` at `now`.
    pub fn answer(&self, table: &mut LimiterTable, now: Timestamp) -> HomeReply {
        for refund in &self.refunds {
            table.refund(&refund.charge, refund.taken_at, now);
        }
        for give in &self.gives {
            table.give(&give.charge, give.holder, now);
        }
        let mut answers = Vec::new();
        for ask in &self.asks {
            let answer = ask.answer(table, now);
            let is_over = ask.is_binding && answer.check.refusal().is_some();
            answers.push(answer);
            if is_over {
                break;
            }
        }
        HomeReply { taken_at: now, answers }
    }

    /// The bytes that travel.
    ///
    /// # Errors
    /// [`InvalidCall`] for a call that [`from_bytes`](Self::from_bytes) would not read.
    pub fn to_bytes(&self) -> Result<Vec<u8>, InvalidCall> {
        self.check_bounds()?;
        postcard::to_allocvec(self).map_err(|_| InvalidCall)
    }

    /// Reads the bytes that travel.
    ///
    /// # Errors
    /// [`InvalidCall`] for anything else, and beyond [`ASKS_MAX`] and [`REFUNDS_MAX`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidCall> {
        let request: Self = postcard::from_bytes(bytes).map_err(|_| InvalidCall)?;
        request.check_bounds()?;
        Ok(request)
    }

    fn check_bounds(&self) -> Result<(), InvalidCall> {
        let is_fit = |ask: &Ask| ask.wanted.is_empty() || ask.wanted.len() == ask.check.charges().len();
        let is_bounded = self.refunds.len() <= REFUNDS_MAX
            && self.gives.len() <= REFUNDS_MAX
            && self.asks.len() <= ASKS_MAX
            && self.asks.iter().all(is_fit);
        if is_bounded { Ok(()) } else { Err(InvalidCall) }
    }
}

impl Ask {
    /// A check whose refusal ends the call, without quota to go.
    pub fn binding(check: CheckRequest) -> Self {
        Self { check, wanted: Vec::new(), is_binding: true }
    }

    fn answer(&self, table: &mut LimiterTable, now: Timestamp) -> AskReply {
        let unrecorded = table.unrecorded_checks();
        let check = table.check(&self.check, now);
        // A key that passed without a record would hand out the same quota again and again.
        let may_grant = check.refusal().is_none() && table.unrecorded_checks() == unrecorded;
        let wishes = self.check.charges().iter().zip(&check.decisions).zip(&self.wanted);
        let grants = wishes.map(|((charge, decision), wanted)| {
            let has_record = may_grant && charge.cost > 0 && can_be_leased(&charge.policy);
            has_record.then(|| grant(table, charge, decision.remaining(), *wanted, now)).flatten()
        });
        AskReply { grants: grants.collect(), check }
    }
}

impl HomeReply {
    /// The bytes that travel.
    ///
    /// # Errors
    /// [`InvalidCall`]: never for a value of this type.
    pub fn to_bytes(&self) -> Result<Vec<u8>, InvalidCall> {
        postcard::to_allocvec(self).map_err(|_| InvalidCall)
    }

    /// Reads the reply to `request`.
    ///
    /// # Errors
    /// [`InvalidCall`] for anything else, also for another number of answers, decisions or grants.
    pub fn from_bytes(bytes: &[u8], request: &HomeRequest) -> Result<Self, InvalidCall> {
        let reply: Self = postcard::from_bytes(bytes).map_err(|_| InvalidCall)?;
        let is_fit = |(ask, answer): (&Ask, &AskReply)| {
            let charges = ask.check.charges().len();
            answer.check.decisions.len() == charges && answer.grants.len() == ask.wanted.len()
        };
        let ends = |(ask, answer): (&Ask, &AskReply)| ask.is_binding && answer.check.refusal().is_some();
        let mut pairs = request.asks.iter().zip(&reply.answers);
        let is_whole =
            reply.answers.len() == request.asks.len() || pairs.clone().next_back().is_some_and(ends);
        if is_whole && pairs.all(is_fit) { Ok(reply) } else { Err(InvalidCall) }
    }
}

/// Takes a lease from a key that has `remaining`.
fn grant(
    table: &mut LimiterTable,
    charge: &Charge,
    remaining: Cost,
    wanted: Cost,
    now: Timestamp,
) -> Option<Grant> {
    let cost = grant_cost(remaining, wanted);
    if cost == 0 {
        return None;
    }
    let lease = Charge { cost, ..*charge };
    let reply = table.check(&CheckRequest::new(vec![lease]).ok()?, now);
    Grant::of(&lease, reply.decisions.first()?, now)
}
