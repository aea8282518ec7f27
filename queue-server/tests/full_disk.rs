//! What the log says of a disk that is full: its beginning and its end, however long it lasts. A test program of its own, because
//! the writer's thread is heard only by the one subscriber of a process.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "stores/full_disk.rs"]
mod disk;

use disk::opener;
use queue_server::{
    clock::Clock,
    rooms::room_settings,
    store::{EmbeddedStore, HostedRoom, RoomStore},
};
use shared::{
    config::Config,
    ids::{DeviceHash, LaneId},
    room::{JoinRequest, Planted},
};
use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

/// Collects what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn a_full_disk_is_logged_at_its_beginning_and_at_its_end() {
    let log = Log::default();
    let made = log.clone();
    tracing_subscriber::fmt().with_ansi(false).with_writer(move || made.clone()).init();
    let is_full = Arc::new(AtomicBool::new(false));
    let dir = tempfile::tempdir().unwrap();
    let opener = opener(&dir.path().join("rooms.redb"), &is_full);
    let config = Config::parse("f", include_str!("../../tests/demo/fairgate.toml")).unwrap();
    let event = &config.events[0];
    let hosted = HostedRoom {
        event: event.id.clone(),
        settings: room_settings(event),
        planted: Planted::default(),
        first_epoch: shared::ids::Epoch(1),
    };
    let store = EmbeddedStore::open_with(opener, vec![hosted], Clock::start()).unwrap();
    let room = store.room(&event.id).unwrap();
    let join =
        |device: u8| JoinRequest { may_enter: true, ..JoinRequest::new(LaneId(0), DeviceHash([device; 8])) };
    room.join(join(1)).await.unwrap().unwrap();
    is_full.store(true, Ordering::SeqCst);
    for device in 2..30 {
        assert!(room.join(join(device)).await.is_err());
    }
    assert_eq!(log.lines().len(), 1, "{:?}", log.lines());
    assert!(log.lines()[0].contains("a commit failed"), "{:?}", log.lines());
    is_full.store(false, Ordering::SeqCst);
    for device in 30..33 {
        room.join(join(device)).await.unwrap().unwrap();
    }
    assert_eq!(log.lines().len(), 2, "{:?}", log.lines());
    assert!(log.lines()[1].contains("commits hold again"), "{:?}", log.lines());
    store.close().await;
}
