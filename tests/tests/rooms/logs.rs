//! What servers write into their logs: one JSON object a line where that is asked for, and never what somebody could use.

use serde_json::{Value, json};
use std::net::Ipv4Addr;
use tests::chaos::{JOIN, REDEEM, setup};
use tests::device::{Clock, Device};
use tests::redis::RedisServer;
use tests::stack::fleet::Fleet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_are_structured_and_hold_no_ticket_pass_or_cookie() {
    let redis = RedisServer::start().await.unwrap();
    let mut setup = setup(redis.url(), 2).unwrap();
    setup.servers = 2;
    setup.env = vec![("FAIRGATE_LOG", "debug".to_owned()), ("FAIRGATE_LOG_FORMAT", "json".to_owned())];
    let mut fleet = Fleet::start(setup).await.unwrap();
    let mut secrets = Vec::new();
    for address in fleet.addresses.clone().into_iter().cycle().take(6) {
        let mut device = Device::new(&fleet.client, address, Ipv4Addr::LOCALHOST, Clock::start());
        let joined = device.post(JOIN, &json!({})).await.unwrap().json();
        secrets.extend([&joined["ticket"], &joined["pass"]["token"]].map(text).into_iter().flatten());
        device.post(REDEEM, &json!({})).await.unwrap();
        device.get(JOIN).await.unwrap();
        device.post("/.fairgate/events/drop/session/renew", &json!({})).await.unwrap();
        secrets.extend(device.cookies.values().cloned());
        device.delete(JOIN).await.unwrap();
    }
    assert!(secrets.iter().filter(|secret| secret.len() > 20).count() > 12, "{secrets:?}");
    let mut lines = 0;
    for nth in 0..2 {
        fleet.servers[nth].stop().await.unwrap();
        let log = std::fs::read_to_string(fleet.dir.path().join(format!("server-{nth}.log"))).unwrap();
        for line in log.lines() {
            lines += 1;
            let told: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
            assert!(told["timestamp"].is_string() && told["level"].is_string(), "{line}");
            let leaked = secrets.iter().find(|secret| line.contains(secret.as_str()));
            assert_eq!(leaked, None, "{line}");
        }
    }
    assert!(lines > 10, "{lines} lines");
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
