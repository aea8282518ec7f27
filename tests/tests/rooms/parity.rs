//! A store on Redis gives the same answers as a room in memory, through restarts and crashes, without tolerance.

use crate::history::{Course, Step, any_action, steps};
use crate::settings;
use proptest::prelude::*;
use queue_server::clock::Clock;
use queue_server::store::{HostedRoom, KeptRoom, MemoryStore, RedisSettings, RedisStore, RoomStore};
use shared::ids::{Epoch, EventId};
use shared::room::{Planted, Room};
use shared::time::Timestamp;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tests::redis::{RedisCluster, RedisServer};
use tokio::runtime::Runtime;

#[test]
fn a_room_on_redis_and_on_valkey_equals_its_twin() {
    let runtime = runtime();
    for program in RedisServer::programs() {
        let server = runtime.block_on(RedisServer::start_program(program, &[])).unwrap();
        compare_histories(&runtime, &server.url(), CASES);
        assert_eq!(runtime.block_on(server.keys_without_expiry()).unwrap(), Vec::<String>::new());
    }
}

#[test]
fn a_room_on_a_cluster_equals_its_twin() {
    let runtime = runtime();
    let cluster = runtime.block_on(RedisCluster::start()).unwrap();
    compare_histories(&runtime, &cluster.url(), 4);
}

fn compare_histories(runtime: &Runtime, url: &str, cases: u32) {
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 40,
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let nth = std::cell::Cell::new(0);
    let compared = runner.run(&steps(any_action()), |steps| {
        nth.set(nth.get() + 1);
        runtime.block_on(compare(url, &format!("history-{}", nth.get()), &steps))
    });
    compared.unwrap();
}

async fn compare(url: &str, prefix: &str, steps: &[Step]) -> Result<(), TestCaseError> {
    let (clock, hand) = Clock::manual(Timestamp::from_millis(1_796_000_000_000));
    let twin = MemoryStore::new(Room::new(settings()), clock.clone());
    let (mut store, mut room) = open(url, prefix, &clock).await;
    let mut course = Course::default();
    // At last both are brought back once more and compared whole.
    for step in steps.iter().chain([&Step::Crash]) {
        match step {
            Step::Wait(span) => {
                hand.fetch_add(u64::try_from(span.as_micros()).unwrap(), Ordering::SeqCst);
            }
            Step::Restart | Step::Crash => {
                if matches!(step, Step::Crash) {
                    // After a tick everything is durable, so a crash forgets nothing that the twin knows.
                    let ticked = course.take(&twin, &Step::Tick).await;
                    prop_assert_eq!(&course.take(&*room, &Step::Tick).await, &ticked);
                    course.note(&ticked);
                    store.crash().await;
                } else {
                    store.close().await;
                }
                (store, room) = open(url, prefix, &clock).await;
                twin.apply(|room, _| {
                    room.recover().unwrap();
                    room.burn_margin();
                });
            }
            step => {
                let expected = course.take(&twin, step).await;
                let answer = course.take(&*room, step).await;
                prop_assert_eq!(&answer, &expected, "{:?}", step);
                course.note(&answer);
            }
        }
    }
    // What is still to be committed is no part of a room.
    let stored = room.apply(|room, _| room.clone()).await.unwrap();
    let (mut stored, mut twin) = (stored, twin.apply(|room, _| room.clone()));
    (_, _) = (stored.take_changes(), twin.take_changes());
    prop_assert_eq!(stored, twin);
    store.close().await;
    Ok(())
}

/// Opens a store and waits until it leads and has its room.
async fn open(url: &str, prefix: &str, clock: &Clock) -> (RedisStore, Arc<KeptRoom>) {
    let event = EventId::parse("drop").unwrap();
    let hosted = HostedRoom {
        event: event.clone(),
        settings: settings(),
        planted: Planted::default(),
        first_epoch: Epoch(1),
    };
    let settings = RedisSettings {
        url: url.to_owned(),
        prefix: prefix.to_owned(),
        replicas: 0,
        // A time limit that no machine needs, because a late answer is no wrong one.
        budget: Duration::from_secs(5),
        advertise: "http://127.0.0.1:1".to_owned(),
    };
    let store = RedisStore::open(&settings, vec![hosted], clock.clone()).unwrap();
    let room = store.room(&event).unwrap();
    let asked = Instant::now();
    while room.ended_after(0).await.is_err() {
        assert!(asked.elapsed() < Duration::from_secs(10), "the store does not lead");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    (store, room)
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

const CASES: u32 = 16;
