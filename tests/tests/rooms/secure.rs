//! Rooms over TLS, as a user who may do only what Fairgate needs.

use std::net::Ipv4Addr;
use std::time::Duration;
use tests::chaos::{join, setup};
use tests::device::{Clock, Device};
use tests::redis::{RedisCluster, RedisSentinel, RedisServer, certificate_authority};
use tests::stack::fleet::{Fleet, FleetSetup};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rooms_are_kept_over_tls_by_a_user_with_few_rights() {
    let redis = RedisServer::start_secure(&[]).await.unwrap();
    let fleet =
        Fleet::start(through(&redis.secure_url("s3cret"), Some(certificate_authority()))).await.unwrap();
    everybody_is_served(&fleet).await;
    assert_eq!(redis.keys_without_expiry().await.unwrap(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_and_a_stranger_s_certificate_are_refused() {
    let redis = RedisServer::start_secure(&[]).await.unwrap();
    for (password, authority) in [("wrong", Some(certificate_authority())), ("s3cret", None)] {
        let started = Fleet::start(through(&redis.secure_url(password), authority));
        // Servers without their store are not ready.
        assert!(tokio::time::timeout(Duration::from_secs(3), started).await.is_err(), "{password}");
    }
    assert_eq!(redis.ask::<u64>(&["DBSIZE"]).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_with_a_password_lead_to_the_next_master_over_tls() {
    let mut set = RedisSentinel::start_secure().await.unwrap();
    let fleet = Fleet::start(through(&set.secure_url(), Some(certificate_authority()))).await.unwrap();
    everybody_is_served(&fleet).await;
    set.master.kill();
    let mut device = Device::new(&fleet.client, fleet.addresses[0], Ipv4Addr::LOCALHOST, Clock::start());
    let killed = std::time::Instant::now();
    while join(&mut device).await.is_none() {
        assert!(killed.elapsed() < Duration::from_secs(20), "nobody joins at the next master");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(set.replica.ask::<String>(&["INFO", "replication"]).await.unwrap().contains("role:master"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_keeps_rooms_over_tls() {
    let cluster = RedisCluster::start_secure().await.unwrap();
    let fleet = Fleet::start(through(&cluster.secure_url(), Some(certificate_authority()))).await.unwrap();
    everybody_is_served(&fleet).await;
    let mut keys = 0;
    for node in &cluster.nodes {
        keys += node.ask::<u64>(&["DBSIZE"]).await.unwrap();
        assert_eq!(node.keys_without_expiry().await.unwrap(), Vec::<String>::new());
    }
    assert!(keys > 0);
}

/// One joins and enters at each server, in one line.
async fn everybody_is_served(fleet: &Fleet) {
    for (address, number) in fleet.addresses.iter().zip(1..) {
        let mut device = Device::new(&fleet.client, *address, Ipv4Addr::LOCALHOST, Clock::start());
        assert_eq!(join(&mut device).await, Some(number));
        assert!(device.pass_jti("drop").is_some());
    }
}

fn through(url: &str, authority: Option<String>) -> FleetSetup {
    // Nothing but the environment knows how to reach it.
    let mut setup = setup("redis://127.0.0.1:1".to_owned(), 20).unwrap();
    setup.servers = 2;
    setup.wires = vec![url.to_owned(); 2];
    setup.env = authority.into_iter().map(|file| ("SSL_CERT_FILE", file)).collect();
    setup
}
