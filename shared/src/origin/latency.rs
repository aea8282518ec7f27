//! How long replies took, in buckets that are a quarter of a power of two wide.

use crate::ids::EventId;
use crate::wire::OriginReport;

/// Buckets of [`latency_bucket`].
pub const LATENCY_BUCKETS: u8 = 64;

/// The bucket of a reply that took `ms` milliseconds: its edges are less than 26 % apart, and the last one, from 115 s on,
/// has no end.
///
/// ```
/// use shared::origin::latency_bucket;
/// assert_eq!([0, 3, 4, 5, 8, 100, 110, 128].map(latency_bucket), [0, 3, 4, 5, 8, 22, 22, 24]);
/// assert_eq!(latency_bucket(u32::MAX), 63);
/// ```
pub const fn latency_bucket(ms: u32) -> u8 {
    if ms < 4 {
        return ms.to_le_bytes()[0];
    }
    let power = ms.ilog2();
    let quarter = (ms >> power.saturating_sub(2)) & 3;
    let bucket = power.saturating_sub(1).saturating_mul(4).saturating_add(quarter);
    if bucket < 64 { bucket.to_le_bytes()[0] } else { 63 }
}

/// The shortest time in a bucket, in ms: the inverse of [`latency_bucket`].
fn bucket_starts_at_ms(bucket: u8) -> u64 {
    let (eighth, quarter) = (u64::from(bucket >> 2), u64::from(bucket & 3));
    if eighth == 0 { quarter } else { (4_u64.saturating_add(quarter)) << eighth.saturating_sub(1) }
}

/// Counts of replies by how long they took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latencies([u32; 64]);

impl Default for Latencies {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Latencies {
    /// Counts `count` replies of a bucket; one that is out of range counts as the last.
    pub fn add(&mut self, bucket: u8, count: u32) {
        if let Some(slot) = self.0.get_mut(usize::from(bucket.min(LATENCY_BUCKETS.saturating_sub(1)))) {
            *slot = slot.saturating_add(count);
        }
    }

    /// Replies counted.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|count| u64::from(*count)).sum()
    }

    /// Half of the replies took at least so long, in ms: the middle of a bucket, 12 % off at most; `None` without any.
    pub fn median_ms(&self) -> Option<u64> {
        let half = self.count().div_ceil(2);
        let mut seen = 0_u64;
        (0_u8..).zip(self.0).find_map(|(bucket, count)| {
            seen = seen.saturating_add(count.into());
            let middle_ms = || {
                (bucket_starts_at_ms(bucket).saturating_add(bucket_starts_at_ms(bucket.saturating_add(1))))
                    >> 1
            };
            (half > 0 && seen >= half).then(middle_ms)
        })
    }

    /// Counts that are not 0, by bucket.
    pub fn counts(&self) -> impl Iterator<Item = (u8, u32)> + '_ {
        (0_u8..).zip(self.0).filter(|(_, count)| *count > 0)
    }
}

/// What was seen of one server in a while.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginSample {
    /// Gated requests sent to it.
    pub forwarded: u32,
    /// Its replies, but for those of 500 and above.
    pub latencies: Latencies,
    /// Requests that failed: a reply of 500 or above, a broken connection, no reply in time.
    pub failed: u32,
    /// Sessions that a reply or a failure belongs to.
    pub sessions: u32,
    /// Those of them that saw a failure.
    pub failed_sessions: u32,
}

impl From<&OriginReport> for OriginSample {
    fn from(report: &OriginReport) -> Self {
        let OriginReport { forwarded, failed, sessions, failed_sessions, .. } = *report;
        let mut latencies = Latencies::default();
        report.latencies.iter().for_each(|(bucket, count)| latencies.add(*bucket, *count));
        Self { forwarded, latencies, failed, sessions, failed_sessions: failed_sessions.min(sessions) }
    }
}

impl OriginSample {
    /// As an edge reports it.
    pub fn report(&self, event: EventId) -> OriginReport {
        let Self { forwarded, failed, sessions, failed_sessions, .. } = *self;
        let latencies = self.latencies.counts().collect();
        OriginReport { event, forwarded, failed, sessions, failed_sessions, latencies }
    }

    /// Adds what another edge, or another second, saw. A session that is in both counts twice.
    pub fn add(&mut self, more: &Self) {
        self.forwarded = self.forwarded.saturating_add(more.forwarded);
        self.failed = self.failed.saturating_add(more.failed);
        self.sessions = self.sessions.saturating_add(more.sessions);
        self.failed_sessions = self.failed_sessions.saturating_add(more.failed_sessions);
        for (bucket, count) in more.latencies.counts() {
            self.latencies.add(bucket, count);
        }
    }

    /// Requests that ended, well or not.
    pub fn ended(&self) -> u64 {
        self.latencies.count().saturating_add(self.failed.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_starts_where_its_first_time_lies() {
        for bucket in 0..LATENCY_BUCKETS {
            let start = u32::try_from(bucket_starts_at_ms(bucket)).unwrap();
            assert_eq!(latency_bucket(start), bucket);
            assert!(start == 0 || latency_bucket(start - 1) == bucket - 1);
        }
    }

    #[test]
    fn the_median_is_that_of_the_buckets() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.median_ms(), None);
        for ms in [10, 100, 1_000] {
            latencies.add(latency_bucket(ms), 1);
        }
        assert_eq!(latencies.median_ms(), Some(104));
        latencies.add(latency_bucket(2_000), 3);
        assert_eq!(latencies.median_ms(), Some(960));
        latencies.add(u8::MAX, u32::MAX);
        assert_eq!(latencies.median_ms(), Some(122_880));
    }
}
