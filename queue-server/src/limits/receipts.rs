//! Receipts that were spent, so that nothing is given back twice.

use shared::{time::Timestamp, token::ReceiptId};
use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// The receipts that this server gave back for. Several servers on one store each know their own.
#[derive(Default)]
pub struct SpentReceipts {
    spent: Mutex<Spent>,
}

#[derive(Default)]
struct Spent {
    ids: BTreeSet<ReceiptId>,
    /// In the order in which they may be forgotten.
    by_age: BTreeSet<(Timestamp, ReceiptId)>,
}

/// Why nothing is given back for a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReceiptRefusal {
    Spent,
    TooOld,
    /// More receipts are remembered than there is room for.
    Full,
}

/// How long something can be given back.
pub const RECEIPT_LIFE: Duration = Duration::from_secs(3_600);

/// Receipts remembered at once: about 10 MB.
pub const SPENT_MAX: usize = 131_072;

impl SpentReceipts {
    /// Spends a receipt of something taken at `taken_at`.
    pub(super) fn spend(
        &self,
        id: ReceiptId,
        taken_at: Timestamp,
        now: Timestamp,
    ) -> Result<(), ReceiptRefusal> {
        if now.since(taken_at) >= RECEIPT_LIFE {
            return Err(ReceiptRefusal::TooOld);
        }
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((oldest, old_id)) = spent.by_age.first().copied() {
            if now.since(oldest) < RECEIPT_LIFE {
                break;
            }
            spent.by_age.pop_first();
            spent.ids.remove(&old_id);
        }
        if spent.ids.contains(&id) {
            return Err(ReceiptRefusal::Spent);
        }
        if spent.ids.len() >= SPENT_MAX {
            return Err(ReceiptRefusal::Full);
        }
        spent.ids.insert(id);
        spent.by_age.insert((taken_at, id));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> ReceiptId {
        u128::try_from(number).unwrap().to_be_bytes()
    }

    fn at_s(seconds: u64) -> Timestamp {
        Timestamp::from_millis((1_764_460_800 + seconds) * 1000)
    }

    #[test]
    fn a_receipt_is_spent_once_and_not_for_ever() {
        let receipts = SpentReceipts::default();
        assert_eq!(receipts.spend(id(1), at_s(0), at_s(1)), Ok(()));
        assert_eq!(receipts.spend(id(1), at_s(0), at_s(3_599)), Err(ReceiptRefusal::Spent));
        assert_eq!(receipts.spend(id(1), at_s(0), at_s(3_600)), Err(ReceiptRefusal::TooOld));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_forgotten_with_its_life() {
        let receipts = SpentReceipts::default();
        for number in 0..SPENT_MAX {
            assert_eq!(receipts.spend(id(number), at_s(0), at_s(0)), Ok(()));
        }
        assert_eq!(receipts.spend(id(SPENT_MAX), at_s(0), at_s(0)), Err(ReceiptRefusal::Full));
        assert_eq!(receipts.spend(id(SPENT_MAX), at_s(3_600), at_s(3_600)), Ok(()));
        assert_eq!(receipts.spent.lock().unwrap().ids.len(), 1);
    }
}
