//! Redis in trouble, without a failover: asleep, full, dropping keys.

use std::time::{Duration, Instant};
use tests::chaos::{Crowd, JOIN, setup, violations};
use tests::device::{Clock, Device};
use tests::redis::RedisServer;
use tests::stack::fleet::Fleet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_sleeps_for_seconds_loses_nothing_and_is_served_again() {
    let redis = RedisServer::start_program("redis-server", &["--enable-debug-command", "yes"]).await.unwrap();
    let fleet = Fleet::start(setup(redis.url(), CAPACITY).unwrap()).await.unwrap();
    let crowd = Crowd::gather(&fleet, CROWD, PAUSE, 11).unwrap();
    crowd.more(100, |_| true).await.unwrap();
    for sleeps_s in [0.2, 1.5, 4.0] {
        let asleep = Instant::now();
        // Who asked for a long sleep gives up before its end.
        let _ = redis.ask::<String>(&["DEBUG", "SLEEP", &format!("{sleeps_s}")]).await;
        crowd.more(50, |_| true).await.unwrap();
        let gap = asleep.elapsed().saturating_sub(Duration::from_secs_f64(sleeps_s));
        println!("50 joins {gap:?} after a sleep of {sleeps_s} s");
        assert!(gap < Duration::from_secs(3), "{gap:?} after {sleeps_s} s");
    }
    let buyers = crowd.go_home().await.unwrap();
    assert_eq!(violations(&fleet, buyers, CAPACITY as usize).await.unwrap(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_redis_confirms_nothing_and_is_written_again_when_it_has_room() {
    let redis = RedisServer::start().await.unwrap();
    let fleet = Fleet::start(setup(redis.url(), CAPACITY).unwrap()).await.unwrap();
    let crowd = Crowd::gather(&fleet, CROWD, PAUSE, 12).unwrap();
    crowd.more(100, |_| true).await.unwrap();
    let leader = fleet.leader_among(|_| true).await.unwrap();
    let term = fleet.term(leader).await.unwrap();
    let _: String = redis.ask(&["CONFIG", "SET", "maxmemory", "1"]).await.unwrap();
    let mut device = Device::new(&fleet.client, fleet.addresses[leader], ADDRESS, Clock::start());
    let full = Instant::now();
    let refused = loop {
        let reply = device.post(JOIN, &serde_json::json!({})).await.unwrap();
        if reply.status == 503 {
            break reply;
        }
        assert!(full.elapsed() < Duration::from_secs(5), "{:?}", reply.json());
    };
    assert_eq!(refused.code(), "UNCONFIRMED");
    assert!(refused.wait().is_some());
    let _: String = redis.ask(&["CONFIG", "SET", "maxmemory", "0"]).await.unwrap();
    let gap = crowd.more(50, |_| true).await.unwrap();
    println!("50 joins {gap:?} after there was room again");
    assert_eq!(fleet.term(fleet.leader_among(|_| true).await.unwrap()).await.unwrap(), term);
    let buyers = crowd.go_home().await.unwrap();
    assert_eq!(violations(&fleet, buyers, CAPACITY as usize).await.unwrap(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_drops_keys_is_warned_of() {
    for (policy, is_warned_of) in [("allkeys-lru", true), ("noeviction", false)] {
        let arguments = ["--maxmemory", "100mb", "--maxmemory-policy", policy];
        let redis = RedisServer::start_program("redis-server", &arguments).await.unwrap();
        let mut setup = setup(redis.url(), CAPACITY).unwrap();
        setup.servers = 1;
        let fleet = Fleet::start(setup).await.unwrap();
        let is_told = || {
            let log = std::fs::read_to_string(fleet.dir.path().join("server-0.log")).unwrap();
            log.contains("set maxmemory-policy noeviction")
        };
        let ready = Instant::now();
        while is_warned_of && !is_told() {
            assert!(ready.elapsed() < Duration::from_secs(5), "no warning of {policy}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(is_told(), is_warned_of, "{policy}");
    }
}

const ADDRESS: std::net::Ipv4Addr = std::net::Ipv4Addr::LOCALHOST;
const CAPACITY: u32 = 20;
const CROWD: usize = 8;
const PAUSE: Duration = Duration::from_millis(5);
