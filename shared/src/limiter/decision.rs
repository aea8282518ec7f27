//! What a limiter answers, and what one call does to one key.

use super::Cost;
use crate::time::Timestamp;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Whether a request may pass: a value, never an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// The cost was taken.
    Allowed {
        /// Cost still admissible at `now`, rounded down.
        remaining: Cost,
        /// Time until the key is as new again, rounded up.
        reset_after: Duration,
        /// Time to hold the request before it goes on, rounded up; zero for all but a
        /// [leaky queue](super::leaky_queue).
        delay: Duration,
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

    /// Time until the same cost could pass: zero when it did, `None` if it never can.
    pub const fn retry_after(&self) -> Option<Duration> {
        match *self {
            Self::Allowed { .. } => Some(Duration::ZERO),
            Self::Denied { retry_after, .. } => retry_after,
        }
    }
}

/// What one call does to one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition<S> {
    /// Whether the request passes.
    pub decision: Decision,
    /// The state to keep; the one before when nothing was taken, but for a [lock that begins](super::lockout).
    pub state: S,
    /// From this moment on the state equals a new one and may be forgotten.
    pub expiry: Timestamp,
}

impl<S> Transition<S> {
    /// The cost passes at once, at the key's own time `now`.
    pub(super) fn allowed(state: S, now: Timestamp, remaining: Cost, reset_after: Duration) -> Self {
        let decision = Decision::Allowed { remaining, reset_after, delay: Duration::ZERO };
        Self { decision, state, expiry: now.saturating_add(reset_after) }
    }

    /// The cost does not pass at the key's own time `now`.
    pub(super) fn denied(
        state: S,
        now: Timestamp,
        remaining: Cost,
        retry_after: Option<Duration>,
        reset_after: Duration,
    ) -> Self {
        let decision = Decision::Denied { remaining, retry_after, reset_after };
        Self { decision, state, expiry: now.saturating_add(reset_after) }
    }

    /// The same transition of a state in another form.
    pub(super) fn map<T>(self, form: impl FnOnce(S) -> T) -> Transition<T> {
        Transition { decision: self.decision, state: form(self.state), expiry: self.expiry }
    }
}
