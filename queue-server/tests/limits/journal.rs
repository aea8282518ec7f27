//! Locks and long quotas outlive the process, as far as the disk allows.

use crate::full_disk::opener;
use queue_server::{
    clock::Clock,
    limits::{
        LimitStore, ProcessStore,
        journal::{Change, Journal, NotDurable, Override, Written},
    },
};
use shared::{
    limiter::{
        Policy, PolicySettings,
        check::{Charge, CheckRequest},
        key::{KeyHash, TableSeed},
    },
    time::Timestamp,
};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

struct Disk {
    path: std::path::PathBuf,
    is_full: Arc<AtomicBool>,
    clock: Clock,
    hand: Arc<AtomicU64>,
}

impl Disk {
    fn new(dir: &Path) -> Self {
        let (clock, hand) = Clock::manual(Timestamp::from_millis(1_796_000_000_000));
        Self { path: dir.join("limits"), is_full: Arc::default(), clock, hand }
    }

    fn open(&self) -> (Arc<Journal>, Written) {
        let (journal, written) =
            Journal::open_with(opener(&self.path, &self.is_full), self.clock.clone()).unwrap();
        (Arc::new(journal), written)
    }

    fn store(&self) -> (ProcessStore, Arc<Journal>) {
        let (journal, written) = self.open();
        let store = ProcessStore::new(100, TableSeed([3; 16]), self.clock.clone());
        (store.kept_in(Arc::clone(&journal), &written), journal)
    }
}

fn charge(settings: &str, key: u8, cost: u64) -> Charge {
    let settings: PolicySettings = serde_json::from_str(settings).unwrap();
    Charge::new(Policy::try_from(settings).unwrap(), KeyHash([key; 16]), cost)
}

const LOCKOUT: &str = r#"{"lockout":{"max":1,"window_us":60000000,"lock_us":300000000}}"#;
const DAY: &str = r#"{"long_quota":{"limit":5,"calendar":"day","zone":"UTC"}}"#;

async fn passes(store: &ProcessStore, charge: Charge) -> bool {
    let request = CheckRequest::new(vec![charge]).unwrap();
    store.check("alpha", &request).await.unwrap().value.refusal().is_none()
}

#[tokio::test]
async fn what_was_written_is_there_again_until_it_has_recovered() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::new(dir.path());
    let (store, journal) = disk.store();
    for _ in 0..2 {
        passes(&store, charge(LOCKOUT, 1, 1)).await;
    }
    assert!(passes(&store, charge(DAY, 2, 4)).await);
    journal.close().await;
    drop((store, journal));

    let (store, journal) = disk.store();
    assert!(!passes(&store, charge(LOCKOUT, 1, 1)).await);
    assert!(!passes(&store, charge(DAY, 2, 2)).await);
    store.reset("alpha", &charge(LOCKOUT, 1, 0)).await.unwrap();
    journal.close().await;
    drop((store, journal));

    let (store, _journal) = disk.store();
    assert!(passes(&store, charge(LOCKOUT, 1, 1)).await, "a reset is durable too");
    disk.hand.fetch_add(86_400_000_000, Ordering::SeqCst);
    assert!(passes(&store, charge(DAY, 2, 5)).await);
}

#[tokio::test]
async fn a_full_disk_frees_nobody_and_is_made_up_for() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::new(dir.path());
    let (store, journal) = disk.store();
    disk.is_full.store(true, Ordering::SeqCst);
    assert!(passes(&store, charge(LOCKOUT, 1, 1)).await);
    for _ in 0..3 {
        assert!(!passes(&store, charge(LOCKOUT, 1, 1)).await, "the lock holds in memory");
    }
    assert_eq!(store.unsaved_answers(), 1);
    let own = Override { shop: "alpha".to_owned(), policy: "device".to_owned(), text: Some("{}".to_owned()) };
    assert_eq!(journal.write(vec![Change::Override(own)]).durable().await, Err(NotDurable));

    disk.is_full.store(false, Ordering::SeqCst);
    assert!(passes(&store, charge(DAY, 2, 5)).await);
    journal.close().await;
    drop((store, journal));
    let (journal, written) = disk.open();
    assert_eq!(written.overrides, [], "what was told to have failed does not appear later");
    assert_eq!(written.records.len(), 2, "the lock of the bad time is durable after all");
    journal.close().await;
    drop(journal);
    let (store, _journal) = disk.store();
    assert!(!passes(&store, charge(LOCKOUT, 1, 1)).await);
    assert!(!passes(&store, charge(DAY, 2, 1)).await);
}
