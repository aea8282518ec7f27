//! Settings that no exact limiter can be built from.

use crate::time::{Timestamp, micros};
use core::num::NonZeroU64;
use core::time::Duration;

/// Why settings are refused: never a rounded policy instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// A period, window or life is zero or has a fraction of a microsecond.
    #[error("a period is a whole number of microseconds, at least 1")]
    PeriodNotWholeMicros,
    /// A period, window or life is longer than any clock can tell.
    #[error("a period is shorter than 2^53 microseconds")]
    PeriodTooLong,
    /// The numbers together do not fit the arithmetic: `burst_capacity * period` 64 bits, with rate and period in lowest
    /// terms, or the time in which everything comes back 2^53 µs.
    #[error(
        "burst_capacity times the period in microseconds is beyond 64 bits; round the rate, or shorten the period"
    )]
    BeyondResolution,
    /// `burst_capacity` leaves nothing of the limit to come back during the window.
    #[error("burst_capacity must be at least 1 and below the limit")]
    BurstFillsLimit,
    /// A limiter that remembers each admission would remember too many.
    #[error("this limiter keeps each unit: its limit is at most {most}")]
    LimitTooLarge {
        /// The largest limit.
        most: u64,
    },
    /// Too few or too many parts of a window, or parts shorter than a microsecond.
    #[error("a window has 1 to {most} sub-windows of at least a microsecond")]
    SubWindows {
        /// The most parts.
        most: u64,
    },
    /// No zone of this name is built in.
    #[cfg_attr(
        feature = "zones",
        error("no such time zone is built in; write \"UTC\", or an IANA name such as \"Asia/Taipei\"")
    )]
    #[cfg_attr(
        not(feature = "zones"),
        error(
            "no time zone is built in here, so that the edge stays small; write \"UTC\", or leave the policy to the limit service"
        )
    )]
    UnknownZone,
}

/// A span that a policy counts in.
pub(super) fn whole_micros(span: Duration) -> Result<NonZeroU64, PolicyError> {
    let whole = NonZeroU64::new(micros(span)).filter(|us| Duration::from_micros(us.get()) == span);
    let whole = whole.ok_or(PolicyError::PeriodNotWholeMicros)?;
    if whole.get() > Timestamp::MAX.as_micros() { Err(PolicyError::PeriodTooLong) } else { Ok(whole) }
}
