//! Rooms in a format of another build: an older one is brought forward, a foreign one left alone.

use crate::settings;
use data_encoding::HEXLOWER;
use queue_server::clock::Clock;
use queue_server::store::{HostedRoom, KeptRoom, RedisSettings, RedisStore, RoomStore};
use redis::aio::MultiplexedConnection;
use shared::ids::{DeviceHash, Epoch, EventId, LaneId, Place, TicketNumber};
use shared::room::{JoinRequest, Planted};
use shared::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tests::redis::RedisServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_format_is_left_alone_and_so_is_the_lead() {
    let redis = RedisServer::start().await.unwrap();
    let mut wire = redis.connection().await.unwrap();
    let (store, room) = open(&redis);
    let joined = when_it_leads(&room).await;
    store.close().await;
    let ours = read(&mut wire, HEAD).await["format"].clone();
    let mut set = redis::cmd("HSET");
    let _: u64 = set.arg(HEAD).arg("format").arg(99).query_async(&mut wire).await.unwrap();
    let before = read(&mut wire, HEAD).await;

    let (barred, its_room) = open(&redis);
    let asked = Instant::now();
    // It has to lead once to see what it cannot read.
    while barred.leadership().held_term() > 0 || asked.elapsed() < Duration::from_millis(1_500) {
        assert!(its_room.join(join(2)).await.is_err(), "a room that cannot be read was asked");
        assert!(asked.elapsed() < Duration::from_secs(10), "it leads what it cannot read");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(read(&mut wire, HEAD).await, before);
    let lease: Option<String> = redis::cmd("GET").arg(LEASE).query_async(&mut wire).await.unwrap();
    assert_eq!(lease, None, "whoever can read the rooms need not wait");

    let mut set = redis::cmd("HSET");
    let _: u64 = set.arg(HEAD).arg("format").arg(ours).query_async(&mut wire).await.unwrap();
    let (able, room) = open(&redis);
    assert_eq!(when_it_leads(&room).await, joined, "the same place as before");
    able.close().await;
    barred.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_of_an_older_format_are_still_there() {
    let redis = RedisServer::start().await.unwrap();
    let mut wire = redis.connection().await.unwrap();
    for line in include_str!("../../../queue-server/tests/stores/golden/format-1.txt").lines() {
        let (key, value) = line.split_once(' ').unwrap();
        let [key, value] = [key, value].map(|hex| HEXLOWER.decode(hex.as_bytes()).unwrap());
        let mut set = redis::cmd("HSET");
        let _: u64 = set.arg(RECORDS).arg(key).arg(value).query_async(&mut wire).await.unwrap();
    }
    // As it was written before the head told a format.
    let mut set = redis::cmd("HSET");
    set.arg(HEAD).arg(&["term", "3", "id", "a", "seq", "7"]);
    let _: u64 = set.query_async(&mut wire).await.unwrap();
    let _: String = redis::cmd("SET").arg(LAST).arg("3 a http://a").query_async(&mut wire).await.unwrap();

    let (store, room) = open(&redis);
    let joined = when_it_leads(&room).await;
    assert!(joined > TicketNumber(3), "{joined:?}");
    let waiting = Place { epoch: Epoch(1), lane: LaneId(0), number: TicketNumber(2) };
    let again = JoinRequest { presented: Some(waiting), ..join(4) };
    assert_eq!(room.join(again).await.unwrap().unwrap().place, waiting);
    let inside = Place { number: TicketNumber(1), ..waiting };
    assert!(room.redeem(inside, DeviceHash([2; 8])).await.unwrap().is_ok());
    store.close().await;
    let head = read(&mut wire, HEAD).await;
    assert!(head.contains_key("format") && head["term"] == "4", "{head:?}");
    assert_eq!(redis.keys_without_expiry().await.unwrap(), Vec::<String>::new());
}

fn open(redis: &RedisServer) -> (RedisStore, Arc<KeptRoom>) {
    let event = EventId::parse("drop").unwrap();
    let (planted, first_epoch) = (Planted::default(), Epoch(1));
    let hosted = HostedRoom { event: event.clone(), settings: settings(), planted, first_epoch };
    let settings = RedisSettings {
        url: redis.url(),
        prefix: "format".to_owned(),
        replicas: 0,
        budget: Duration::from_secs(5),
        advertise: "http://127.0.0.1:1".to_owned(),
    };
    // Within the sessions of the golden history, so that nobody's session has run out.
    let (clock, _) = Clock::manual(Timestamp::from_millis(1_796_000_001_000));
    let store = RedisStore::open(&settings, vec![hosted], clock).unwrap();
    let room = store.room(&event).unwrap();
    (store, room)
}

/// The number of the first join that is answered.
async fn when_it_leads(room: &KeptRoom) -> TicketNumber {
    let asked = Instant::now();
    loop {
        if let Ok(joined) = room.join(join(1)).await {
            return joined.unwrap().place.number;
        }
        assert!(asked.elapsed() < Duration::from_secs(10), "the store does not lead");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn join(device: u8) -> JoinRequest {
    JoinRequest::new(LaneId(0), DeviceHash([device; 8]))
}

async fn read(wire: &mut MultiplexedConnection, key: &str) -> BTreeMap<String, String> {
    redis::cmd("HGETALL").arg(key).query_async(wire).await.unwrap()
}

const HEAD: &str = "format1:{drop}:head";
const RECORDS: &str = "format1:{drop}:records";
const LEASE: &str = "format1:{~lead}:lease";
const LAST: &str = "format1:{~lead}:last";
