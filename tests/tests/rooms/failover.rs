//! Redis that fails over, with and without its leader, and replicas that do not confirm.

use serde_json::json;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use tests::chaos::{Crowd, JOIN, REDEEM, setup, violations};
use tests::device::{Clock, Device};
use tests::redis::{RedisSentinel, RedisServer};
use tests::stack::fleet::Fleet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_under_a_living_leader_loses_nothing() {
    let mut set = RedisSentinel::start().await.unwrap();
    let fleet = Fleet::start(setup(set.url(), CAPACITY).unwrap()).await.unwrap();
    let crowd = Crowd::gather(&fleet, CROWD, PAUSE, 1).unwrap();
    crowd.more(100, |_| true).await.unwrap();
    let leader = fleet.leader_among(|_| true).await.unwrap();
    let term = fleet.term(leader).await.unwrap();
    set.master.kill();
    let killed = Instant::now();
    let gap = crowd.more(1, |_| true).await.unwrap();
    crowd.more(100, |_| true).await.unwrap();
    println!("joins went on after {gap:?}, 100 of them after {:?}", killed.elapsed());
    assert_eq!(fleet.term(leader).await.unwrap(), term, "the same server leads in the same term");
    let buyers = crowd.go_home().await.unwrap();
    let wrong = violations(&fleet, buyers, CAPACITY as usize).await.unwrap();
    assert_eq!(wrong, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_comes_back_empty_is_written_anew_by_the_living_leader() {
    let mut redis = RedisServer::start().await.unwrap();
    let fleet = Fleet::start(setup(redis.url(), CAPACITY).unwrap()).await.unwrap();
    let crowd = Crowd::gather(&fleet, CROWD, PAUSE, 1).unwrap();
    crowd.more(100, |_| true).await.unwrap();
    let leader = fleet.leader_among(|_| true).await.unwrap();
    redis.restart().await.unwrap();
    crowd.more(50, |_| true).await.unwrap();
    assert_eq!(fleet.term(leader).await.unwrap(), 1, "the same server leads in the same term");
    let buyers = crowd.go_home().await.unwrap();
    let wrong = violations(&fleet, buyers, CAPACITY as usize).await.unwrap();
    assert_eq!(wrong, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_is_lost_with_its_leader_gives_no_number_twice() {
    let mut redis = RedisServer::start().await.unwrap();
    let mut fleet = Fleet::start(setup(redis.url(), CAPACITY).unwrap()).await.unwrap();
    let mut device = Device::new(&fleet.client, fleet.addresses[0], Ipv4Addr::LOCALHOST, Clock::start());
    device.post(JOIN, &json!({})).await.unwrap();
    let first = epoch(&device).unwrap();
    // The other servers have seen a snapshot by then.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let leader = fleet.leader_among(|_| true).await.unwrap();
    fleet.servers[leader].kill();
    redis.restart().await.unwrap();
    let next = fleet.leader_among(|nth| nth != leader).await.unwrap();
    let mut newcomer = Device::new(&fleet.client, fleet.addresses[next], Ipv4Addr::LOCALHOST, Clock::start());
    let asked = Instant::now();
    while newcomer.pass_jti("drop").is_none() {
        assert!(asked.elapsed() < Duration::from_secs(5), "nobody enters");
        let joined = newcomer.post(JOIN, &json!({})).await.unwrap();
        assert_ne!(
            joined.code(),
            "TICKET_VOID",
            "whoever joins is told of a line, whatever snapshot there is"
        );
        newcomer.post(REDEEM, &json!({})).await.unwrap();
    }
    assert!(epoch(&newcomer).unwrap() > first, "{:?}", newcomer.pass_jti("drop"));
}

/// The epoch of the place that a device is inside with.
fn epoch(device: &Device) -> Option<u16> {
    device.pass_jti("drop")?.split(':').nth(1)?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_replicas_confirmed_outlives_master_and_leader_together() {
    let mut set = RedisSentinel::start().await.unwrap();
    let mut setup = setup(set.url(), CAPACITY).unwrap();
    setup.replicas = 1;
    let mut fleet = Fleet::start(setup).await.unwrap();
    let crowd = Crowd::gather(&fleet, CROWD, PAUSE, 1).unwrap();
    crowd.more(100, |_| true).await.unwrap();
    let leader = fleet.leader_among(|_| true).await.unwrap();
    let dead = fleet.addresses[leader];
    set.master.kill();
    fleet.servers[leader].kill();
    // With one replica promoted there is none left to confirm, so the old master comes back as one.
    let port = set.replica.port().to_string();
    let killed = Instant::now();
    while !set.replica.ask::<String>(&["INFO", "replication"]).await.unwrap().contains("role:master") {
        assert!(killed.elapsed() < Duration::from_secs(20), "nobody follows the master");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    set.master.restart().await.unwrap();
    let _: String = set.master.ask(&["REPLICAOF", "127.0.0.1", &port]).await.unwrap();
    crowd.more(100, |server| server != dead).await.unwrap();
    println!("100 joins were acknowledged {:?} after both died", killed.elapsed());
    let buyers = crowd.go_home().await.unwrap();
    let wrong = violations(&fleet, buyers, CAPACITY as usize).await.unwrap();
    assert_eq!(wrong, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_replicas_nothing_is_confirmed_and_a_retry_is_harmless() {
    let master = RedisServer::start().await.unwrap();
    let port = master.port().to_string();
    let replica =
        RedisServer::start_program("redis-server", &["--replicaof", "127.0.0.1", &port]).await.unwrap();
    let mut setup = setup(master.url(), CAPACITY).unwrap();
    (setup.replicas, setup.servers) = (1, 1);
    let fleet = Fleet::start(setup).await.unwrap();
    let device = || Device::new(&fleet.client, fleet.addresses[0], Ipv4Addr::LOCALHOST, Clock::start());
    let (mut first, mut second) = (device(), device());
    let reply = first.post(JOIN, &json!({})).await.unwrap();
    assert!(reply.json()["pass"].is_object(), "{:?}", reply.json());
    replica.pause().unwrap();
    // Its cookie makes the retry the same buyer's.
    second.cookies.clone_from(&first.cookies);
    second.cookies.retain(|name, _| name.contains("device"));
    let mut third = device();
    let asked = Instant::now();
    let refused = third.post(JOIN, &json!({})).await.unwrap();
    assert_eq!((refused.status, refused.code().as_str()), (503, "UNCONFIRMED"));
    assert!(refused.wait().is_some() && asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    let known = second.post(JOIN, &json!({})).await.unwrap();
    assert_eq!(known.code(), "UNCONFIRMED", "nor is anything told that might be taken back");
    replica.resume().unwrap();
    let resumed = Instant::now();
    let entered = loop {
        let reply = third.post(JOIN, &json!({})).await.unwrap();
        if reply.json()["pass"].is_object() {
            break reply;
        }
        assert!(resumed.elapsed() < Duration::from_secs(10), "{:?}", reply.json());
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let known = second.post(JOIN, &json!({})).await.unwrap();
    assert_eq!(known.json()["ticketNumber"], reply.json()["ticketNumber"], "the same buyer, the same place");
    assert!(entered.json()["ticketNumber"].as_u64() > reply.json()["ticketNumber"].as_u64());
}

const CAPACITY: u32 = 20;
const CROWD: usize = 8;
const PAUSE: Duration = Duration::from_millis(5);
