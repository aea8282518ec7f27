//! A moment, as every part of Fairgate counts it.

use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Microseconds since 1970-01-01T00:00:00Z, below 2^53, so that a Lua or JavaScript number holds it exactly.
///
/// ```
/// use shared::time::Timestamp;
/// use std::time::Duration;
/// let start = Timestamp::from_micros(5_000_000);
/// assert_eq!(start.saturating_add(Duration::from_millis(2)).as_micros(), 5_002_000);
/// assert_eq!(start.since(Timestamp::from_micros(9_000_000)), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The latest moment that can be told: 2^53 - 1 µs, in the year 2255.
    pub const MAX: Self = Self((1 << 53) - 1);

    /// The moment `micros` µs after 1970, at most [`Timestamp::MAX`].
    pub const fn from_micros(micros: u64) -> Self {
        if micros > Self::MAX.0 { Self::MAX } else { Self(micros) }
    }

    /// The moment `millis` ms after 1970, at most [`Timestamp::MAX`].
    pub const fn from_millis(millis: u64) -> Self {
        Self::from_micros(millis.saturating_mul(1000))
    }

    /// Microseconds since 1970.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Whole milliseconds since 1970, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1000
    }

    /// Whole seconds since 1970, rounded down.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The time from `earlier` to here; zero where `earlier` is later, because a clock may step back.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// This moment plus `span`, in whole microseconds rounded down, at most [`Timestamp::MAX`].
    #[must_use]
    pub fn saturating_add(self, span: Duration) -> Self {
        Self::from_micros(self.0.saturating_add(micros(span)))
    }

    /// This moment less `span`, in whole microseconds rounded down, not before 1970.
    #[must_use]
    pub fn saturating_sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(micros(span)))
    }
}

/// Whole microseconds of `span`, rounded down, at most `u64::MAX`.
pub fn micros(span: Duration) -> u64 {
    if span.as_secs() < SECS_WHOLE {
        span.as_secs().wrapping_mul(1_000_000).wrapping_add(span.subsec_micros().into())
    } else {
        u64::MAX
    }
}

/// Spans from here on have more microseconds than 64 bits hold, or nearly.
const SECS_WHOLE: u64 = u64::MAX / 1_000_000;
