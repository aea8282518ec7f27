//! A disk that fails, a second process, a store of the future.

use crate::{block_on, event, full_disk::opener, history::hash, hosted, manual_clock, open};
use queue_server::{
    clock::Clock,
    store::{EmbeddedStore, OpenError, RoomStore, StoreError},
};
use redb::{Database, ReadableDatabase, TableDefinition};
use shared::{
    ids::{LaneId, TicketNumber},
    room::{JoinRequest, Law},
};
use std::{
    os::unix::fs::PermissionsExt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

fn join(device: u8) -> JoinRequest {
    JoinRequest { may_enter: true, ..JoinRequest::new(LaneId(0), hash(device)) }
}

#[test]
fn a_full_disk_is_told_and_survived() {
    block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let is_full = Arc::new(AtomicBool::new(false));
        let (clock, _) = manual_clock();
        let opener = opener(&dir.path().join("rooms"), &is_full);
        let store = EmbeddedStore::open_with(opener, hosted(), clock).unwrap();
        let room = store.room(&event()).unwrap();
        let inside = room.join(join(1)).await.unwrap().unwrap();
        assert!(inside.session.is_some());

        is_full.store(true, Ordering::SeqCst);
        assert_eq!(room.join(join(2)).await, Err(StoreError::Unavailable), "a session is never unconfirmed");
        assert_eq!(room.expire().await, Err(StoreError::Unavailable), "the rooms cannot be read back yet");

        is_full.store(false, Ordering::SeqCst);
        let facts = room.expire().await.unwrap();
        assert_eq!(facts.sessions, 1, "the session that was not confirmed is gone");
        assert_eq!(room.redeem(inside.place, inside.device).await.unwrap(), Ok(inside.session.unwrap()));
        let next = room.join(join(3)).await.unwrap().unwrap();
        assert!(next.place.number > TicketNumber(2), "a number that may have been told is not given again");
        store.close().await;
    });
}

#[test]
fn an_answer_leaves_after_the_commit_it_depends_on() {
    block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let is_full = Arc::new(AtomicBool::new(false));
        let (clock, _) = manual_clock();
        let opener = opener(&dir.path().join("rooms"), &is_full);
        let store = EmbeddedStore::open_with(opener, hosted(), clock).unwrap();
        let room = store.room(&event()).unwrap();
        let inside = room.join(join(1)).await.unwrap().unwrap();
        is_full.store(true, Ordering::SeqCst);
        // Both are queued before the writer runs: the page tells of an end that is not durable.
        let (finished, page) = tokio::join!(room.finish(inside.place), room.ended_after(0));
        assert_eq!(finished, Err(StoreError::Unavailable));
        assert!(page.is_err() || page.unwrap().ended.is_empty());
        store.close().await;
    });
}

#[test]
fn a_second_process_is_told_of_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let (clock, _) = manual_clock();
    let _first = open(dir.path(), &clock);
    let second = EmbeddedStore::open(dir.path(), hosted(), clock);
    assert!(matches!(second, Err(OpenError::Locked { .. })));
}

#[test]
fn a_foreign_format_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rooms.redb");
    let write = |format: u64| {
        let database = Database::create(&path).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(META).unwrap().insert("format", format).unwrap();
        transaction.commit().unwrap();
    };
    let (clock, _) = manual_clock();
    for foreign in [0, 99] {
        write(foreign);
        let refused = EmbeddedStore::open(dir.path(), hosted(), clock.clone()).map(drop).unwrap_err();
        assert!(matches!(refused, OpenError::ForeignFormat { found, .. } if found == foreign), "{refused}");
        assert!(refused.to_string().contains("start the newer fairgate"), "{refused}");
        let records: TableDefinition<'_, (&str, &[u8]), &[u8]> = TableDefinition::new("records");
        let read = Database::open(&path).unwrap().begin_read().unwrap();
        assert!(read.open_table(records).is_err(), "nothing was made in it");
        drop(read);
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let opened = EmbeddedStore::open(&file.join("data"), hosted(), Clock::start());
    let message = opened.map(drop).unwrap_err().to_string();
    assert!(message.contains("--data-dir"), "{message}");
}

#[test]
fn a_damaged_store_is_named_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rooms.redb");
    let (clock, _) = manual_clock();
    block_on(async {
        let (store, room) = open(dir.path(), &clock);
        room.join(join(1)).await.unwrap().unwrap();
        store.close().await;
    });
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "whatever the umask");
    let whole = std::fs::read(&path).unwrap();
    let noise: Vec<u8> = (0..65_536_u32).map(|nth| u8::try_from(nth * 31 % 251).unwrap()).collect();
    for damaged in [&noise[..], &noise[..7], &whole[..100], &whole[..whole.len() / 2]] {
        std::fs::write(&path, damaged).unwrap();
        let opened = EmbeddedStore::open(dir.path(), hosted(), clock.clone());
        let error = opened.map(drop).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(path.to_str().unwrap()) && message.contains("backup"), "{message}");
        assert!(std::error::Error::source(&error).is_none(), "the cause is told once");
        assert_eq!(std::fs::read(&path).unwrap(), damaged);
    }
}

#[test]
fn ticks_call_the_next_in_line() {
    block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let (clock, _) = manual_clock();
        let (store, room) = open(dir.path(), &clock);
        for device in 1..=4 {
            let request = JoinRequest { may_enter: false, ..join(device) };
            room.join(request).await.unwrap().unwrap();
        }
        let facts = room.expire().await.unwrap();
        let order = Law::default().decide(&crate::settings(), &facts);
        let called = room.call(order).await.unwrap();
        assert_eq!(called.facts.lanes.first().unwrap().serving_number, TicketNumber(3));
        assert!(!called.session_free);
        store.close().await;
    });
}

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
