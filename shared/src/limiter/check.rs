//! Several keys at once: all are taken, or none. Also what travels between a Worker and the object that holds the keys.

use super::{Cost, Decision, Inheritance, Policy, concurrency::Holder, key::KeyHash};
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Most charges in one check.
pub const CHARGES_MAX: usize = 8;

/// One key of a check, with the policy that counts it. A changed policy comes with the next charge, so the object that
/// holds the state needs no configuration of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// The policy in force.
    pub policy: Policy,
    /// What it counts by; the key's action is the name of the policy.
    pub key: KeyHash,
    /// What the request takes.
    pub cost: Cost,
    /// What the key brings along where another policy has counted it until now.
    pub inheritance: Inheritance,
}

/// At most [`CHARGES_MAX`] charges on different keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct CheckRequest {
    charges: Vec<Charge>,
    holder: Option<Holder>,
}

/// The form in which a check travels; reading it checks it again.
#[derive(Serialize, Deserialize)]
struct Parts {
    charges: Vec<Charge>,
    holder: Option<Holder>,
}

/// A check that cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// More than [`CHARGES_MAX`] charges.
    #[error("a check has at most {CHARGES_MAX} charges")]
    TooManyCharges,
    /// Two charges on one key.
    #[error("a check names each key once")]
    RepeatedKey,
    /// Bytes that are no check, or no reply to one.
    #[error("not a limiter check")]
    Malformed,
}

/// The decision on every charge, in their order. When one is denied, nothing was taken from any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckReply {
    /// `Allowed` beside a `Denied`: this key would have let the request pass; its `remaining` is what it still has.
    pub decisions: Vec<Decision>,
}

/// Why a check as a whole was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Index of the charge that waits longest; the first of equals.
    pub bound_by: usize,
    /// The largest wait; `None` if the request can never pass.
    pub retry_after: Option<Duration>,
}

impl Charge {
    /// A charge of `cost` on `key`, which [keeps](Inheritance::Keep) what is in use when the policy has changed.
    #[inline]
    pub fn new(policy: Policy, key: KeyHash, cost: Cost) -> Self {
        Self { policy, key, cost, inheritance: Inheritance::default() }
    }
}

impl CheckRequest {
    /// A check of these charges.
    ///
    /// # Errors
    /// [`CheckError::TooManyCharges`], [`CheckError::RepeatedKey`].
    pub fn new(charges: Vec<Charge>) -> Result<Self, CheckError> {
        if charges.len() > CHARGES_MAX {
            return Err(CheckError::TooManyCharges);
        }
        let mut rest = charges.as_slice();
        while let Some((charge, later)) = rest.split_first() {
            if later.iter().any(|other| other.key == charge.key) {
                return Err(CheckError::RepeatedKey);
            }
            rest = later;
        }
        Ok(Self { charges, holder: None })
    }

    /// The same check, where the permits it takes are `holder`'s. Without a holder no permit can be taken.
    #[must_use]
    pub fn held_by(self, holder: Holder) -> Self {
        Self { holder: Some(holder), ..self }
    }

    /// Who holds the permits that the check takes.
    pub fn holder(&self) -> Option<Holder> {
        self.holder
    }

    /// The charges, in the order given.
    pub fn charges(&self) -> &[Charge] {
        &self.charges
    }

    /// The bytes that travel.
    ///
    /// # Errors
    /// [`CheckError::Malformed`]: never for a value of this type.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CheckError> {
        postcard::to_allocvec(self).map_err(|_| CheckError::Malformed)
    }

    /// Reads the bytes that travel; every promise of the type is checked again.
    ///
    /// # Errors
    /// [`CheckError::Malformed`] for anything else, also for a check with too many charges or a repeated key.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CheckError> {
        postcard::from_bytes(bytes).map_err(|_| CheckError::Malformed)
    }
}

impl CheckReply {
    /// What binds, and for how long; `None` when the request passes and everything was taken.
    pub fn refusal(&self) -> Option<Refusal> {
        let mut refusal: Option<Refusal> = None;
        for (bound_by, decision) in self.decisions.iter().enumerate() {
            let Decision::Denied { retry_after, .. } = *decision else { continue };
            if refusal.is_none_or(|found| is_longer(retry_after, found.retry_after)) {
                refusal = Some(Refusal { bound_by, retry_after });
            }
        }
        refusal
    }

    /// The bytes that travel.
    ///
    /// # Errors
    /// [`CheckError::Malformed`]: never for a value of this type.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CheckError> {
        postcard::to_allocvec(self).map_err(|_| CheckError::Malformed)
    }

    /// Reads the reply to a check of `charges` charges.
    ///
    /// # Errors
    /// [`CheckError::Malformed`] for anything else, also for another number of decisions.
    pub fn from_bytes(bytes: &[u8], charges: usize) -> Result<Self, CheckError> {
        let reply: Self = postcard::from_bytes(bytes).map_err(|_| CheckError::Malformed)?;
        if reply.decisions.len() == charges { Ok(reply) } else { Err(CheckError::Malformed) }
    }
}

/// Whether wait `a` is longer than `b`, where `None` is for ever.
fn is_longer(a: Option<Duration>, b: Option<Duration>) -> bool {
    match (a, b) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(a), Some(b)) => a > b,
    }
}

impl TryFrom<Parts> for CheckRequest {
    type Error = CheckError;
    fn try_from(Parts { charges, holder }: Parts) -> Result<Self, CheckError> {
        Ok(Self { holder, ..Self::new(charges)? })
    }
}

impl From<CheckRequest> for Parts {
    fn from(CheckRequest { charges, holder }: CheckRequest) -> Self {
        Self { charges, holder }
    }
}
