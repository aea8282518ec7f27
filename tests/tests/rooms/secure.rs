//! Rooms over TLS, as a user who may do only what Fairgate needs.

use std::net::Ipv4Addr;
use std::time::Duration;
use tests::chaos::{join, setup};
use tests::device::{Clock, Device};
use tests::redis::{SecureRedis, certificate_authority};
use tests::stack::fleet::{Fleet, FleetSetup};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rooms_are_kept_over_tls_by_a_user_with_few_rights() {
    let redis = SecureRedis::start().await.unwrap();
    let fleet = Fleet::start(through(&redis, "s3cret", Some(certificate_authority()))).await.unwrap();
    for (nth, address) in fleet.addresses.iter().enumerate() {
        let mut device = Device::new(&fleet.client, *address, Ipv4Addr::LOCALHOST, Clock::start());
        assert_eq!(join(&mut device).await, Some(u64::try_from(nth).unwrap() + 1));
        assert!(device.pass_jti("drop").is_some());
    }
    assert_eq!(redis.server.keys_without_expiry().await.unwrap(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_and_a_stranger_s_certificate_are_refused() {
    let redis = SecureRedis::start().await.unwrap();
    for (password, authority) in [("wrong", Some(certificate_authority())), ("s3cret", None)] {
        let started = Fleet::start(through(&redis, password, authority));
        // Servers without their store are not ready.
        assert!(tokio::time::timeout(Duration::from_secs(3), started).await.is_err(), "{password}");
    }
    assert_eq!(redis.server.ask::<u64>(&["DBSIZE"]).await.unwrap(), 0);
}

fn through(redis: &SecureRedis, password: &str, authority: Option<String>) -> FleetSetup {
    let mut setup = setup(redis.server.url(), 20).unwrap();
    setup.servers = 2;
    setup.wires = vec![redis.url(password); 2];
    setup.env = authority.into_iter().map(|file| ("SSL_CERT_FILE", file)).collect();
    setup
}
