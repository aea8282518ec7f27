//! How records lie in every store, and the way from how older builds laid them down.
//!
//! A store says in which format it is. The same number stands for the same bytes in the file and in Redis, because both keep the
//! same records; so one step serves both.

use shared::room::RecordError;
use std::collections::BTreeMap;

/// The records of one event as they lie in a store: value by key.
pub(super) type StoredRecords = BTreeMap<Vec<u8>, Vec<u8>>;

/// One way from a format to the next one.
type Step = fn(StoredRecords) -> Result<StoredRecords, RecordError>;

/// From format 1 to 2, from 2 to 3, and so on. A step is added when a change of [`shared::room::RecordValue`] makes older bytes
/// unreadable, with a golden file of what the build before it wrote.
///
/// To format 2, in which devices that join are in lists: the records of before are read as they are, but a build that knows format 1 alone
/// cannot read lists.
const STEPS: &[Step] = &[Ok];

/// The format that this build writes.
pub(super) const FORMAT: u64 = 2;

/// What `records` of an older format, from 1 on, are in the present one.
pub(super) fn brought_forward(from: u64, records: StoredRecords) -> Result<StoredRecords, RecordError> {
    brought_by(STEPS, from, records)
}

fn brought_by(steps: &[Step], from: u64, records: StoredRecords) -> Result<StoredRecords, RecordError> {
    let done = usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX);
    steps.iter().skip(done).try_fold(records, |records, step| step(records))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_taken_once_and_in_order() {
        fn append(records: StoredRecords, byte: u8) -> StoredRecords {
            let longer = |(key, mut value): (Vec<u8>, Vec<u8>)| {
                value.push(byte);
                (key, value)
            };
            records.into_iter().map(longer).collect()
        }
        let steps: [Step; 2] = [|records| Ok(append(records, 2)), |records| Ok(append(records, 3))];
        let stored = StoredRecords::from([(vec![7], vec![1])]);
        let brought =
            |from| brought_by(&steps, from, stored.clone()).map(|records| records[&vec![7]].clone());
        assert_eq!(brought(1), Ok(vec![1, 2, 3]));
        assert_eq!(brought(2), Ok(vec![1, 3]));
        assert_eq!(brought(3), Ok(vec![1]));
        let fails: [Step; 1] = [|_| Err(RecordError::Undecodable)];
        assert_eq!(brought_by(&fails, 1, stored.clone()), Err(RecordError::Undecodable));
    }

    #[test]
    fn the_last_step_leads_to_the_present_format() {
        assert_eq!(u64::try_from(STEPS.len()), Ok(FORMAT - 1));
    }
}
