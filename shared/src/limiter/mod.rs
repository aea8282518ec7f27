//! Whether a key may spend a cost now.
//!
//! Every limiter is one transition, `(policy, state, now, cost) -> (decision, next state, expiry)`, in integers. The host
//! brings `now` from the machine that holds the state, applies the transition atomically, and stores nothing else.
//! An algorithm is one file with a policy and a state of its own; [`Policy`] and [`State`] are the closed list of them.
//!
//! - A refused request takes nothing, and `remaining` is true on a refusal too.
//! - Cost 0 is a peek: it passes always and takes nothing.
//! - A state that nobody has stored is [`Policy::new_state`], so that a state equal to it may be forgotten.

use crate::time::Timestamp;
use core::time::Duration;
use serde::{Deserialize, Serialize};

pub mod check;
pub mod deny_cache;
pub mod gcra;
pub mod key;
pub mod table;

use gcra::{GcraPolicy, GcraState};

/// Quota units that one request takes; whole units only, 0 is a peek.
pub type Cost = u64;

/// Whether a request may pass: a value, never an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// The cost was taken.
    Allowed {
        /// Cost still admissible at `now`, rounded down.
        remaining: Cost,
        /// Time until the key is as new again, rounded up.
        reset_after: Duration,
    },
    /// Nothing was taken.
    Denied {
        /// Cost still admissible at `now`, rounded down: less than what was asked.
        remaining: Cost,
        /// Time until the same cost could pass, exact to the microsecond; `None` if it never can.
        retry_after: Option<Duration>,
        /// Time until the key is as new again, rounded up.
        reset_after: Duration,
    },
}

impl Decision {
    /// Whether the cost was taken.
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed { .. })
    }

    /// Cost still admissible, rounded down.
    pub const fn remaining(&self) -> Cost {
        match *self {
            Self::Allowed { remaining, .. } | Self::Denied { remaining, .. } => remaining,
        }
    }

    /// Time until the key is as new again, rounded up.
    pub const fn reset_after(&self) -> Duration {
        match *self {
            Self::Allowed { reset_after, .. } | Self::Denied { reset_after, .. } => reset_after,
        }
    }
}

/// What one call does to one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition<S> {
    /// Whether the request passes.
    pub decision: Decision,
    /// The state to keep; the one before when nothing was taken.
    pub state: S,
    /// From this moment on the state equals a new one and may be forgotten.
    pub expiry: Timestamp,
}

/// The settings of one limiter. Two policies with the same settings are the same policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// See [`gcra`].
    Gcra(GcraPolicy),
}

/// What a limiter remembers of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// See [`gcra`].
    Gcra(GcraState),
}

impl Policy {
    /// The state of a key that was never seen.
    pub const fn new_state(&self) -> State {
        match self {
            Self::Gcra(_) => State::Gcra(GcraState::NEW),
        }
    }

    /// Decides whether `cost` may pass at `now`, and what to keep then.
    pub fn check(&self, state: State, now: Timestamp, cost: Cost) -> Transition<State> {
        let (Self::Gcra(policy), State::Gcra(state)) = (self, state);
        let Transition { decision, state, expiry } = policy.check(state, now, cost);
        Transition { decision, state: State::Gcra(state), expiry }
    }

    /// Gives back `cost` that was taken at `taken_at`; see [`GcraPolicy::refund`].
    #[must_use]
    pub fn refund(&self, state: State, now: Timestamp, cost: Cost, taken_at: Timestamp) -> State {
        let (Self::Gcra(policy), State::Gcra(state)) = (self, state);
        State::Gcra(policy.refund(state, now, cost, taken_at))
    }

    /// The state under this policy of a key that was counted by `previous` until now; see [`GcraPolicy::inherit`].
    #[must_use]
    pub fn inherit(&self, previous: &Self, state: State) -> State {
        let (Self::Gcra(policy), Self::Gcra(previous), State::Gcra(state)) = (self, previous, state);
        State::Gcra(policy.inherit(previous, state))
    }

    /// Whether `state` may be forgotten at `now`, because it decides like a new one from here on.
    pub fn is_as_new(&self, state: State, now: Timestamp) -> bool {
        let (Self::Gcra(policy), State::Gcra(state)) = (self, state);
        policy.is_as_new(state, now)
    }

    /// The most cost admitted at one instant from rest: `q` of `RateLimit-Policy`.
    pub const fn quota(&self) -> Cost {
        match self {
            Self::Gcra(policy) => policy.burst_capacity(),
        }
    }

    /// Time in which the whole quota comes back, rounded up: `w` of `RateLimit-Policy`.
    pub fn window(&self) -> Duration {
        match self {
            Self::Gcra(policy) => policy.window(),
        }
    }

    /// Time from a decision until `remaining` is higher, rounded up; zero when it cannot be: `t` of `RateLimit`.
    pub fn more_after(&self, decision: &Decision) -> Duration {
        match self {
            Self::Gcra(policy) => policy.more_after(decision),
        }
    }
}
