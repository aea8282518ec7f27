//! What a home of limiter states must do: apply one transition of [`shared::limiter`] atomically, by its own clock.

use async_trait::async_trait;
use shared::{
    limiter::{
        Policy,
        check::{Charge, CheckReply, CheckRequest},
        concurrency::Holder,
        table::KeyState,
    },
    time::Timestamp,
};
use std::time::Duration;

/// How long a store on another machine may take before the fallback decides.
pub const BUDGET: Duration = Duration::from_millis(50);

/// Limiter states of many shops. All keys of one call belong to the one shop that it names, so that a store on several
/// machines can keep them together.
///
/// A refusal is a value. An error means that nobody knows whether something was taken.
#[async_trait]
pub trait LimitStore: Send + Sync {
    /// Whether this home keeps the policy exactly; asked before the policy comes into force. Otherwise why not, and what to do.
    fn accepts(&self, policy: &Policy) -> Result<(), String>;

    /// Takes every charge of the request, or none.
    async fn check(&self, shop: &str, request: &CheckRequest) -> Answer<CheckReply>;

    /// As [`LimiterTable::peek`](shared::limiter::table::LimiterTable::peek): nothing is taken and no lock begins.
    async fn peek(&self, shop: &str, request: &CheckRequest) -> Answer<CheckReply>;

    /// Gives back what the charges took at `taken_at`, as far as it still counts. Permits are [given](Self::give).
    async fn refund(&self, shop: &str, charges: &[Charge], taken_at: Timestamp) -> Answer<()>;

    /// Gives the key of `charge` its cost again, whenever that was taken; never above the maximum.
    async fn replenish(&self, shop: &str, charge: &Charge) -> Answer<()>;

    /// Makes the key of `charge` as new: its quota is whole, its lock is over, its permits are free.
    async fn reset(&self, shop: &str, charge: &Charge) -> Answer<()>;

    /// Gives back the permit of `holder` on the key of `charge`; nothing happens where it holds none.
    async fn give(&self, shop: &str, charge: &Charge, holder: Holder) -> Answer<()>;

    /// What is known of the key of `charge`, under the policy that counted it last; `None`: the key is as new.
    async fn state(&self, shop: &str, charge: &Charge) -> Answer<Option<KeyState>>;
}

/// What a store answers, and its clock when it decided.
pub type Answer<T> = Result<Timed<T>, LimitStoreError>;

/// An answer, and when it became true by the clock of the machine that holds the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed<T> {
    pub value: T,
    pub now: Timestamp,
}

/// Why a store did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitStoreError {
    /// It is gone, slow, or could not make a change durable: another way of deciding takes over.
    #[error("the store of limits did not answer")]
    Unavailable,
    /// It can never answer this call: keys that do not lie together, no rights, another server than expected. The text is
    /// for the log.
    #[error("the store of limits is not set up for this call: {0}")]
    Misconfigured(String),
}
