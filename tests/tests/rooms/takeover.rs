//! A leader that dies, and one that stops and wakes.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use tests::chaos::{Buyer, Crowd, join, setup, violations};
use tests::device::{Clock, Device};
use tests::redis::RedisServer;
use tests::stack::fleet::Fleet;
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_server_leads_within_two_seconds_after_a_kill() {
    let redis = RedisServer::start().await.unwrap();
    let mut fleet = Fleet::start(setup(redis.url(), CAPACITY).unwrap()).await.unwrap();
    let crowd = Crowd::gather(&fleet, CROWD, PAUSE, 1).unwrap();
    for kill in 0..2 {
        crowd.more(100, |_| true).await.unwrap();
        let leader = fleet.leader_among(|_| true).await.unwrap();
        let dead = fleet.addresses[leader];
        fleet.servers[leader].kill();
        let gap = crowd.more(1, |server| server != dead).await.unwrap();
        println!("kill {kill}: the next join was acknowledged after {gap:?}");
        assert!(gap <= TAKE_OVER_MAX, "{gap:?}");
        crowd.more(50, |server| server != dead).await.unwrap();
        fleet.servers[leader].restart().await.unwrap();
    }
    let buyers = crowd.go_home().await.unwrap();
    println!("{} places", buyers.len());
    let wrong = violations(&fleet, buyers, CAPACITY as usize).await.unwrap();
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(redis.keys_without_expiry().await.unwrap(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_was_stopped_changes_nothing_when_it_wakes() {
    let redis = RedisServer::start().await.unwrap();
    let fleet = Fleet::start(setup(redis.url(), CAPACITY).unwrap()).await.unwrap();
    let crowd = Crowd::gather(&fleet, CROWD, PAUSE, 1).unwrap();
    crowd.more(100, |_| true).await.unwrap();
    let old = fleet.leader_among(|_| true).await.unwrap();
    let stopped = fleet.addresses[old];
    let old_term = fleet.term(old).await.unwrap();
    fleet.servers[old].pause().unwrap();
    let paused = Instant::now();
    // These wait in its socket and are the first thing it sees when it wakes.
    let mut asked = JoinSet::new();
    for _ in 0..20 {
        let mut device = Device::new(&fleet.client, stopped, Ipv4Addr::LOCALHOST, Clock::start());
        asked.spawn(async move { join(&mut device).await.map(|number| (number, device)) });
    }
    let gap = crowd.more(1, |server| server != stopped).await.unwrap();
    println!("the next join was acknowledged {gap:?} after the leader stopped");
    assert!(gap <= TAKE_OVER_MAX, "{gap:?}");
    crowd.more(5, |server| server != stopped).await.unwrap();
    let new = fleet.leader_among(|nth| nth != old).await.unwrap();
    assert!(fleet.term(new).await.unwrap() > old_term);
    fleet.servers[old].resume().unwrap();
    assert!(paused.elapsed() < Duration::from_secs(5), "clients still wait for the stopped server");
    crowd.more(50, |server| server == stopped).await.unwrap();
    assert_eq!(fleet.term(old).await.unwrap(), 0, "it follows");
    let mut buyers = crowd.go_home().await.unwrap();
    for (number, device) in asked.join_all().await.into_iter().flatten() {
        buyers.push(Buyer::waiting(device, number));
    }
    let wrong = violations(&fleet, buyers, CAPACITY as usize).await.unwrap();
    assert_eq!(wrong, Vec::<String>::new());
}

const CAPACITY: u32 = 20;
const CROWD: usize = 8;
const PAUSE: Duration = Duration::from_millis(5);
const TAKE_OVER_MAX: Duration = Duration::from_secs(2);
