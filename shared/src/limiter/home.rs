//! What travels between a node and the owner of limiter states, and what the owner does with it: refunds, a check, and
//! quota to go.
//!
//! Everything of one request for one owner is one call. The owner needs no configuration: policies come with charges.

use super::Cost;
use super::check::{Charge, CheckReply, CheckRequest};
use super::lease::{can_be_leased, grant_cost, life};
use super::table::LimiterTable;
use crate::time::Timestamp;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Most refunds in one call.
pub const REFUNDS_MAX: usize = 64;

/// One call to one owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct HomeCall {
    check: CheckRequest,
    refunds: Vec<Refund>,
    wanted: Vec<Cost>,
}

/// Cost that goes back to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refund {
    /// The key, the policy that took it, and how much goes back.
    pub charge: Charge,
    /// When it was taken, by the owner's clock.
    pub taken_at: Timestamp,
}

/// What the owner answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HomeReply {
    /// The decision on each charge; all were taken, or none.
    pub check: CheckReply,
    /// When that was, by the owner's clock: what a later refund names.
    pub taken_at: Timestamp,
    /// Quota to go, for each charge that wanted some and whose key had some.
    pub grants: Vec<Option<Grant>>,
}

/// Quota to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// How much, at least 1.
    pub cost: Cost,
    /// When it was taken from the key, by the owner's clock.
    pub taken_at: Timestamp,
    /// How long it may be used, counted from when the node began to ask.
    pub life: Duration,
    /// What the key had left then.
    pub remaining: Cost,
    /// When the key would have been as new then.
    pub reset_after: Duration,
}

/// A call that cannot be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HomeError {
    /// More than [`REFUNDS_MAX`] refunds.
    #[error("a call has at most {REFUNDS_MAX} refunds")]
    TooManyRefunds,
    /// A wish for quota to go beside no charge.
    #[error("a call wants quota for each of its charges, or for none")]
    WantedBesideNoCharge,
    /// Bytes that are no call, or no reply to one.
    #[error("not a call of a limiter")]
    Malformed,
}

/// The form in which a call travels; reading it checks it again.
#[derive(Serialize, Deserialize)]
struct Parts {
    check: CheckRequest,
    refunds: Vec<Refund>,
    wanted: Vec<Cost>,
}

impl HomeCall {
    /// A call that gives `refunds` back and then asks `check`.
    ///
    /// # Errors
    /// [`HomeError::TooManyRefunds`].
    pub fn new(check: CheckRequest, refunds: Vec<Refund>) -> Result<Self, HomeError> {
        Self::try_from(Parts { check, refunds, wanted: Vec::new() })
    }

    /// The same call, where the node also wants so much quota to go of each charge's key; 0 for none.
    ///
    /// # Errors
    /// [`HomeError::WantedBesideNoCharge`] unless there is one number for each charge.
    pub fn wanting(self, wanted: Vec<Cost>) -> Result<Self, HomeError> {
        Self::try_from(Parts { wanted, ..Parts::from(self) })
    }

    /// What is asked.
    pub fn check(&self) -> &CheckRequest {
        &self.check
    }

    /// What goes back.
    pub fn refunds(&self) -> &[Refund] {
        &self.refunds
    }

    /// Answers from `table` at `now`: first the refunds, then the check, and where it passes, quota to go.
    pub fn answer(&self, table: &mut LimiterTable, now: Timestamp) -> HomeReply {
        for refund in &self.refunds {
            table.refund(&refund.charge, refund.taken_at, now);
        }
        let unrecorded = table.unrecorded_checks();
        let check = table.check(&self.check, now);
        // A key that passed without a record would hand out the same quota again and again.
        let may_grant = check.refusal().is_none() && table.unrecorded_checks() == unrecorded;
        let wishes = self.check.charges().iter().zip(&check.decisions).zip(&self.wanted);
        let grants = wishes.map(|((charge, decision), wanted)| {
            let has_record = may_grant && charge.cost > 0 && can_be_leased(&charge.policy);
            has_record.then(|| grant(table, charge, decision.remaining(), *wanted, now)).flatten()
        });
        HomeReply { grants: grants.collect(), check, taken_at: now }
    }

    /// The bytes that travel.
    ///
    /// # Errors
    /// [`HomeError::Malformed`]: never for a value of this type.
    pub fn to_bytes(&self) -> Result<Vec<u8>, HomeError> {
        postcard::to_allocvec(self).map_err(|_| HomeError::Malformed)
    }

    /// Reads the bytes that travel; every promise of the type is checked again.
    ///
    /// # Errors
    /// [`HomeError::Malformed`] for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HomeError> {
        postcard::from_bytes(bytes).map_err(|_| HomeError::Malformed)
    }
}

impl HomeReply {
    /// The bytes that travel.
    ///
    /// # Errors
    /// [`HomeError::Malformed`]: never for a value of this type.
    pub fn to_bytes(&self) -> Result<Vec<u8>, HomeError> {
        postcard::to_allocvec(self).map_err(|_| HomeError::Malformed)
    }

    /// Reads the reply to `call`.
    ///
    /// # Errors
    /// [`HomeError::Malformed`] for anything else, also for another number of decisions or grants.
    pub fn from_bytes(bytes: &[u8], call: &HomeCall) -> Result<Self, HomeError> {
        let reply: Self = postcard::from_bytes(bytes).map_err(|_| HomeError::Malformed)?;
        let is_whole = reply.check.decisions.len() == call.check.charges().len()
            && reply.grants.len() == call.wanted.len();
        if is_whole { Ok(reply) } else { Err(HomeError::Malformed) }
    }
}

impl TryFrom<Parts> for HomeCall {
    type Error = HomeError;
    fn try_from(Parts { check, refunds, wanted }: Parts) -> Result<Self, HomeError> {
        if refunds.len() > REFUNDS_MAX {
            return Err(HomeError::TooManyRefunds);
        }
        if !wanted.is_empty() && wanted.len() != check.charges().len() {
            return Err(HomeError::WantedBesideNoCharge);
        }
        Ok(Self { check, refunds, wanted })
    }
}

impl From<HomeCall> for Parts {
    fn from(HomeCall { check, refunds, wanted }: HomeCall) -> Self {
        Self { check, refunds, wanted }
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
    let check = CheckRequest::new(vec![Charge { cost, ..*charge }]).ok()?;
    let reply = table.check(&check, now);
    let taken = reply.decisions.first().filter(|decision| decision.is_allowed())?;
    let (remaining, reset_after) = (taken.remaining(), taken.reset_after());
    Some(Grant { cost, taken_at: now, life: life(&charge.policy, taken), remaining, reset_after })
}
