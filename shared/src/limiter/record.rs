//! What of a key must outlive the owner of its state: a lock that is in force, and a quota of a day or a month.
//!
//! Everything else has recovered by the time that an owner is back, or gives a caller at most one more quota.

use super::key::KeyHash;
use super::{Policy, State};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// One key as its owner writes it through, and reads it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The key.
    pub key: KeyHash,
    /// The policy that counted it last.
    pub policy: Policy,
    /// What that policy remembers.
    pub state: State,
}

/// Bytes that are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a record of a limiter key")]
pub struct InvalidRecord;

impl Record {
    /// Whether the key would get something back too early if this were forgotten at `now`, and the owner must write it
    /// through before it answers.
    pub fn must_survive(&self, now: Timestamp) -> bool {
        match (&self.policy, &self.state) {
            (Policy::Lockout(policy), State::Lockout(state)) => policy.is_locked(*state, now),
            (Policy::LongQuota(policy), State::LongQuota(state)) => !policy.is_as_new(*state, now),
            _ => false,
        }
    }

    /// The bytes that are kept.
    ///
    /// # Errors
    /// [`InvalidRecord`]: never for a value of this type.
    pub fn to_bytes(&self) -> Result<Vec<u8>, InvalidRecord> {
        postcard::to_allocvec(self).map_err(|_| InvalidRecord)
    }

    /// Reads the bytes that are kept; the numbers of the policy are checked again.
    ///
    /// # Errors
    /// [`InvalidRecord`] for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidRecord> {
        postcard::from_bytes(bytes).map_err(|_| InvalidRecord)
    }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::limiter::PolicySettings;
    use crate::limiter::check::{Charge, CheckRequest};
    use crate::limiter::key::TableSeed;
    use crate::limiter::table::LimiterTable;

    const SEED: TableSeed = TableSeed([7; 16]);

    fn at_s(seconds: u64) -> Timestamp {
        Timestamp::from_millis((1_764_460_800 + seconds) * 1000)
    }

    fn charge(settings: &str, cost: u64) -> Charge {
        let policy: PolicySettings = serde_json::from_str(settings).unwrap();
        Charge::new(policy.try_into().unwrap(), KeyHash([5; 16]), cost)
    }

    /// What a table knows of the key after these costs at second 0.
    fn record_after(charge: Charge, costs: &[u64]) -> Record {
        let mut table = LimiterTable::new(4, SEED);
        for cost in costs {
            table.check(&CheckRequest::new(vec![Charge { cost: *cost, ..charge }]).unwrap(), at_s(0));
        }
        table.record(charge.key).unwrap()
    }

    const LOCKOUT: &str = r#"{"lockout":{"max":1,"window_us":1000000,"lock_us":30000000}}"#;
    const DAY: &str = r#"{"long_quota":{"limit":5,"calendar":"day","zone":"Asia/Taipei"}}"#;
    const RATE: &str = r#"{"gcra":{"burst_capacity":5,"rate":5,"period_us":1000000}}"#;

    #[test]
    fn locks_in_force_and_long_quotas_in_use_must_survive() {
        let check =
            |record: &Record, second, expected| assert_eq!(record.must_survive(at_s(second)), expected);
        check(&record_after(charge(LOCKOUT, 1), &[1]), 0, false);
        let locked = record_after(charge(LOCKOUT, 1), &[1, 1]);
        check(&locked, 29, true);
        check(&locked, 30, false);
        let used = record_after(charge(DAY, 1), &[3]);
        check(&used, 0, true);
        check(&used, 86_400, false);
        check(&record_after(charge(RATE, 1), &[5]), 0, false);
    }

    #[test]
    fn a_table_that_took_a_record_back_decides_as_before() {
        for (charge, costs) in [(charge(LOCKOUT, 1), [1, 1]), (charge(DAY, 3), [2, 1])] {
            let record = Record::from_bytes(&record_after(charge, &costs).to_bytes().unwrap()).unwrap();
            let mut table = LimiterTable::new(4, SEED);
            table.restore(record.clone(), at_s(1));
            assert_eq!(table.record(charge.key), Some(record.clone()));
            let refused = table.check(&CheckRequest::new(vec![charge]).unwrap(), at_s(1)).refusal();
            assert!(refused.is_some());
            let mut later = LimiterTable::new(4, SEED);
            later.restore(record, at_s(90_000));
            assert!(later.is_empty(), "what has recovered is not taken back");
        }
    }

    #[test]
    fn other_bytes_are_no_record() {
        assert_eq!(Record::from_bytes(&[]), Err(InvalidRecord));
        assert_eq!(Record::from_bytes(&[0xff; 64]), Err(InvalidRecord));
    }
}
