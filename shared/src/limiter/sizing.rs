//! How large a limit may be, from what stands behind it.

use super::Cost;
use core::ops::RangeInclusive;
use core::time::Duration;

/// What a pool of workers or connections can do, and which limits leave it room.
///
/// ```
/// use shared::limiter::sizing::Sizing;
/// use std::time::Duration;
/// let sizing = Sizing::of_pool(60, Duration::from_millis(50)).unwrap();
/// assert_eq!(sizing.most_per_s, 1_200);
/// assert_eq!((sizing.rate_per_s, sizing.window_per_s), (600..=720, 720..=840));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizing {
    /// Requests a second with every place of the pool busy all the time, rounded down.
    pub most_per_s: Cost,
    /// For GCRA, buckets and sliding windows: 50 to 60 % of it. What is left carries bursts and slow requests, because
    /// waiting times explode before a pool is full.
    pub rate_per_s: RangeInclusive<Cost>,
    /// For fixed windows as their limit: 60 to 70 % of it. On either side of a boundary twice the limit may come at once,
    /// which the pool then works off within two windows.
    pub window_per_s: RangeInclusive<Cost>,
}

impl Sizing {
    /// The sizing for `places` that each request holds for `work`; `None` where one of them is zero.
    pub fn of_pool(places: u32, work: Duration) -> Option<Self> {
        let most = u128::from(places).saturating_mul(NANOS_PER_S).checked_div(work.as_nanos())?;
        let most_per_s = Cost::try_from(most).ok().filter(|most| *most > 0)?;
        let share = |percent: u128| {
            let share = u128::from(most_per_s).saturating_mul(percent) / 100;
            Cost::try_from(share).unwrap_or(Cost::MAX)
        };
        Some(Self { most_per_s, rate_per_s: share(50)..=share(60), window_per_s: share(60)..=share(70) })
    }
}

const NANOS_PER_S: u128 = 1_000_000_000;
