//! What older builds wrote is read by this one.
//!
//! Each file in `golden/` is what the build of that format kept of one history, as lines of key and value in hexadecimal. The history,
//! in the room of these tests: the devices 1 to 6 join by turns in lanes 1 and 0, and the first three enter; 1 finishes, 6 gives up;
//! "ada" sets the capacity to 2; a second later a tick.

use crate::{block_on, event, history::hash, manual_clock, open};
use data_encoding::HEXLOWER;
use queue_server::store::RoomStore;
use redb::{Database, TableDefinition};
use shared::{
    ids::{Epoch, LaneId, Place, TicketNumber},
    room::{Action, Cause, EnterRefusal, JoinRequest},
};
use std::path::Path;

#[test]
fn places_sessions_and_bits_of_every_older_format_are_still_there() {
    for (format, text) in GOLDEN {
        let dir = tempfile::tempdir().unwrap();
        lay_down(dir.path(), format, text);
        block_on(check(dir.path()));
        // By now it lies in the present format.
        block_on(check(dir.path()));
    }
}

async fn check(dir: &Path) {
    let (clock, _) = manual_clock();
    let (store, room) = open(dir, &clock);
    for (lane, number, device) in [(0, 2, 4), (1, 3, 5)] {
        let presented = Some(place(lane, number));
        let join = JoinRequest { presented, ..JoinRequest::new(LaneId(lane), hash(device)) };
        let joined = room.join(join).await.unwrap().unwrap();
        assert!((joined.place, joined.existed) == (place(lane, number), true), "{joined:?}");
        let unnamed = JoinRequest { presented: None, ..join_of(lane, device) };
        assert_eq!(room.join(unnamed).await.unwrap().unwrap().place, joined.place, "known by the device");
    }
    for (lane, number, device) in [(0, 1, 2), (1, 2, 3)] {
        let session = room.redeem(place(lane, number), hash(device)).await.unwrap().unwrap();
        assert_eq!(session.device, hash(device));
    }
    for (lane, number, device) in [(1, 1, 1), (0, 3, 6)] {
        let spent = room.redeem(place(lane, number), hash(device)).await.unwrap();
        assert_eq!(spent, Err(EnterRefusal::Spent));
    }
    let facts = room.expire().await.unwrap();
    assert_eq!((facts.sessions, facts.capacity), (2, 2));
    let log = room.log().await.unwrap();
    let ordered = log.first().unwrap();
    assert_eq!(
        (&ordered.cause, &ordered.action),
        (&Cause::Operator("ada".to_owned()), &Action::Capacity(Some(2)))
    );
    let ended = room.ended_after(0).await.unwrap();
    assert_eq!(ended.ended.len(), 1);
    let newcomer = room.join(join_of(0, 9)).await.unwrap().unwrap();
    assert!(newcomer.place.number > TicketNumber(3), "no number is given again");
    // What has changed here is forgotten.
    store.crash().await;
}

fn join_of(lane: u8, device: u8) -> JoinRequest {
    JoinRequest::new(LaneId(lane), hash(device))
}

fn place(lane: u8, number: u64) -> Place {
    Place { epoch: Epoch(1), lane: LaneId(lane), number: TicketNumber(number) }
}

/// Makes the file of a store.
fn lay_down(dir: &Path, format: u64, text: &str) {
    let database = Database::create(dir.join("rooms.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(META).unwrap().insert("format", format).unwrap();
    let mut records = transaction.open_table(RECORDS).unwrap();
    for line in text.lines() {
        let (key, value) = line.split_once(' ').unwrap();
        let [key, value] = [key, value].map(|hex| HEXLOWER.decode(hex.as_bytes()).unwrap());
        records.insert((event().as_str(), key.as_slice()), value.as_slice()).unwrap();
    }
    drop(records);
    transaction.commit().unwrap();
}

const GOLDEN: [(u64, &str); 2] =
    [(1, include_str!("golden/format-1.txt")), (2, include_str!("golden/format-2.txt"))];
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const RECORDS: TableDefinition<'_, (&str, &[u8]), &[u8]> = TableDefinition::new("records");
