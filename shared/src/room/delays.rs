//! How long called buyers take to come to the door.

use super::PPM;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Counts of delays from call to door by whole seconds; the last counter takes everything longer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delays {
    counts: Vec<u32>,
}

/// Longest delay told apart, in seconds.
pub(super) const DELAY_MAX_S: u64 = 300;
/// When this many delays are known, all counts are halved, so that the newest matter most.
const MEMORY: u32 = 4_096;
/// Weight of the assumption that everybody comes within [`PRIOR_S`], evenly spread.
const PRIOR_WEIGHT: u64 = 50;
const PRIOR_S: u64 = 8;

impl Delays {
    /// Learns one delay.
    pub fn note(&mut self, delay: Duration) {
        let bin = usize::try_from(delay.as_secs().min(DELAY_MAX_S)).unwrap_or(usize::MAX);
        if self.counts.len() <= bin {
            self.counts.resize(bin.saturating_add(1), 0);
        }
        if let Some(count) = self.counts.get_mut(bin) {
            *count = count.saturating_add(1);
        }
        if self.total() >= u64::from(MEMORY) {
            self.counts.iter_mut().for_each(|count| *count >>= 1);
        }
    }

    /// Share in ppm of those who come at all that have come after each number of whole seconds: entry `u` covers delays below `u + 1` s.
    ///
    /// Rounded down; the entries never fall, and the last is 1,000,000.
    pub fn shares_ppm(&self) -> Vec<u64> {
        let total = self.total().saturating_add(PRIOR_WEIGHT);
        let mut sum = 0_u64;
        let share = |sum: u64, second: u64| {
            let expected = PRIOR_WEIGHT.saturating_mul(second.saturating_add(1).min(PRIOR_S));
            let prior_ppm = expected.saturating_mul(PPM).checked_div(PRIOR_S).unwrap_or(0);
            sum.saturating_mul(PPM).saturating_add(prior_ppm).checked_div(total).unwrap_or(PPM)
        };
        let mut shares: Vec<u64> = (0..DELAY_MAX_S)
            .map(|second| {
                let bin = usize::try_from(second).unwrap_or(usize::MAX);
                sum = sum.saturating_add(u64::from(self.counts.get(bin).copied().unwrap_or(0)));
                share(sum, second)
            })
            .collect();
        shares.push(PPM);
        shares
    }

    /// Seconds within which half of those who come have come, rounded up.
    pub(super) fn median_s(&self) -> u64 {
        let half = PPM >> 1;
        let before = self.shares_ppm().partition_point(|&share| share < half);
        u64::try_from(before).unwrap_or(DELAY_MAX_S).saturating_add(1)
    }

    fn total(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prior_spreads_evenly_over_eight_seconds() {
        let shares = Delays::default().shares_ppm();
        assert_eq!(shares.first(), Some(&125_000));
        assert_eq!(shares.get(3), Some(&500_000));
        assert_eq!(shares.get(7), Some(&PPM));
        assert_eq!(shares.last(), Some(&PPM));
    }

    #[test]
    fn what_is_seen_outweighs_the_prior_and_memory_is_bounded() {
        let mut delays = Delays::default();
        for _ in 0..100_000 {
            delays.note(Duration::from_secs(20));
        }
        assert!(delays.total() < u64::from(MEMORY));
        let shares = delays.shares_ppm();
        assert!(shares[19] < 30_000, "{}", shares[19]);
        assert!(shares[20] > 990_000, "{}", shares[20]);
        assert!(shares.is_sorted());
        assert_eq!(delays.median_s(), 21);
    }

    #[test]
    fn a_delay_beyond_the_longest_counts_as_the_longest() {
        let mut delays = Delays::default();
        delays.note(Duration::from_secs(DELAY_MAX_S));
        delays.note(Duration::from_secs(u64::MAX));
        assert_eq!(delays.total(), 2);
        assert_eq!(u64::try_from(delays.counts.len()), Ok(DELAY_MAX_S + 1));
    }
}
