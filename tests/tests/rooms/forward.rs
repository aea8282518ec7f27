//! Any server answers anything: what only the leader may say is handed on to it, and the rest goes on without a leader.

use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use tests::chaos::{JOIN, join, setup};
use tests::device::{Clock, Device};
use tests::redis::RedisServer;
use tests::stack::fleet::Fleet;
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_hands_on_once_and_the_leader_checks_who_asks() {
    let redis = RedisServer::start().await.unwrap();
    let fleet = Fleet::start(setup(redis.url(), 1).unwrap()).await.unwrap();
    let leader = fleet.leader_among(|_| true).await.unwrap();
    let follower = (0..fleet.addresses.len()).find(|nth| *nth != leader).unwrap();
    let (leader, follower) = (fleet.addresses[leader], fleet.addresses[follower]);

    let mut first = device(&fleet, follower);
    assert_eq!(join(&mut first).await, Some(1));
    first.edge = leader;
    assert_eq!(join(&mut first).await, Some(1), "the cookies are the leader's own");

    let looped = first.request(reqwest::Method::POST, JOIN).header("fairgate-forwarded", "1");
    first.edge = follower;
    let looped = first.send(looped.json(&json!({}))).await.unwrap();
    assert_eq!(looped.status, 200, "the leader does not mind");
    let looped = first.request(reqwest::Method::POST, JOIN).header("fairgate-forwarded", "1");
    let looped = first.send(looped.json(&json!({}))).await.unwrap();
    assert_eq!((looped.status, looped.code().as_str()), (503, "UNCONFIRMED"));
    assert!(looped.header("retry-after").is_some());

    for (path, code) in [
        ("/v1/events", "ACCESS_KEY_MISSING"),
        ("/v1/events/drop/actions", "ACCESS_KEY_MISSING"),
        ("/v1/edge/events/drop/ended?after=0", "EDGE_SIGNATURE_INVALID"),
        ("/v1/origins", "ACCESS_KEY_MISSING"),
    ] {
        let told = device(&fleet, follower).get(path).await.unwrap();
        assert_eq!(told.code(), code, "{path}");
        let mut looping = device(&fleet, follower);
        let request = looping.request(reqwest::Method::GET, path).header("fairgate-forwarded", "1");
        assert_eq!(
            looping.send(request).await.unwrap().code(),
            "UNCONFIRMED",
            "{path} is the leader's to answer"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joins_on_their_way_to_a_slow_leader_wait_for_no_other() {
    let redis = RedisServer::start().await.unwrap();
    let fleet = Fleet::start(setup(redis.url(), 1).unwrap()).await.unwrap();
    let leader = fleet.leader_among(|_| true).await.unwrap();
    let follower = (0..fleet.addresses.len()).find(|nth| *nth != leader).unwrap();
    assert!(join(&mut device(&fleet, fleet.addresses[follower])).await.is_some());
    fleet.servers[leader].pause().unwrap();
    // More than a server has at work: had they to wait for each other here, half would be refused after a second.
    let mut asked = JoinSet::new();
    for _ in 0..64 {
        let mut device = device(&fleet, fleet.addresses[follower]);
        asked.spawn(async move { device.post(JOIN, &json!({})).await.unwrap() });
    }
    for reply in asked.join_all().await {
        assert!(reply.status == 200 || reply.code() == "UNCONFIRMED", "{} {}", reply.status, reply.code());
    }
    fleet.servers[leader].resume().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn polls_go_on_while_nobody_can_lead() {
    let mut redis = RedisServer::start().await.unwrap();
    let fleet = Fleet::start(setup(redis.url(), 1).unwrap()).await.unwrap();
    let mut buyer = device(&fleet, fleet.addresses[0]);
    assert_eq!(join(&mut buyer).await, Some(1));
    let asked = Instant::now();
    while !all_have_a_snapshot(&fleet).await {
        assert!(asked.elapsed() < Duration::from_secs(5), "a server has no snapshot");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    redis.kill();
    for address in fleet.addresses.clone() {
        let asked = Instant::now();
        let refused = loop {
            let reply = device(&fleet, address).post(JOIN, &json!({})).await.unwrap();
            if reply.status == 503 {
                break reply;
            }
            assert!(asked.elapsed() < Duration::from_secs(3), "without Redis nothing is confirmed for long");
        };
        assert_eq!((refused.code().as_str(), refused.header("retry-after").is_some()), ("UNCONFIRMED", true));
        buyer.edge = address;
        let poll = buyer.get(JOIN).await.unwrap();
        assert_eq!((poll.status, poll.json()["ticketNumber"].as_u64()), (200, Some(1)));
    }
    assert!(all_have_a_snapshot(&fleet).await);
}

fn device(fleet: &Fleet, address: SocketAddr) -> Device {
    Device::new(&fleet.client, address, Ipv4Addr::LOCALHOST, Clock::start())
}

async fn all_have_a_snapshot(fleet: &Fleet) -> bool {
    for address in fleet.addresses.clone() {
        let reply = device(fleet, address).get("/.fairgate/events/drop").await.unwrap();
        if reply.status != 200 {
            return false;
        }
    }
    true
}
