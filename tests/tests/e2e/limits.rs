//! Limits: GCRA per device and per address, and what a limited request is told.

use crate::fixtures::{assert_refused, buyer, press, stack};
use axum::http::Method;
use std::time::Duration;
use tests::device::Device;
use tests::stack::Stack;
use tests::stack::config::DemoConfig;

#[tokio::test]
async fn a_device_is_limited_and_told_when_to_come_again() {
    let stack = stack("limits", |config| {
        config.policy("device", "burst_capacity", 3).unwrap();
        config.policy("device", "rate", 1).unwrap();
    })
    .await;
    let mut device = buyer(&stack, 1);
    // Any answer of Fairgate's own gives the device its cookie.
    crate::fixtures::join(&mut device).await;
    let mut replies = Vec::new();
    for _ in 0..4 {
        replies.push(press(&mut device).await);
    }
    let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses, [201, 201, 201, 429]);
    let limited = &replies[3];
    assert_refused(limited, 429, "RATE_LIMITED");
    assert_eq!(limited.json()["policy"], "device");
    assert!(limited.header("ratelimit").unwrap().contains("\"device\""), "{:?}", limited.headers);
    assert!(limited.header("ratelimit-policy").unwrap().contains("\"device\""), "{:?}", limited.headers);
    assert_eq!(stack.shop.log().len(), 3, "a refused press does not reach the shop");

    let wait_ms = limited.json()["retryAfterMs"].as_u64().unwrap();
    assert!((1..=1_000).contains(&wait_ms), "{wait_ms} ms");
    let early = press(&mut device).await;
    assert_refused(&early, 429, "RATE_LIMITED");
    let log = stack.edge.log_tail();
    let line = log.lines().find(|line| line.contains("a limit refuses: policy=device")).unwrap();
    for told in ["key=", "counts_by=device", "wait_ms=", limited.json()["requestId"].as_str().unwrap()] {
        assert!(line.contains(told), "{told}: {line}");
    }
    tokio::time::sleep(Duration::from_millis(wait_ms)).await;
    assert_eq!(press(&mut device).await.status, 201, "exactly when it was told to come");
    assert_eq!(press(&mut buyer(&stack, 2)).await.status, 201, "others are not limited");
    told_to_the_server(&stack, r#"fairgate_limit_decisions_total{policy="device",outcome="refused"} 2"#)
        .await;
    told_to_the_server(&stack, r#"fairgate_limit_near_total{policy="device"}"#).await;
}

/// The counts of a second travel together.
async fn told_to_the_server(stack: &Stack, line: &str) {
    let url = format!("{}/metrics", stack.queue_server.url());
    for _ in 0..20 {
        if reqwest::get(&url).await.unwrap().text().await.unwrap().contains(line) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    panic!("never told: {line}");
}

#[tokio::test]
async fn devices_of_one_address_share_its_limit() {
    let stack = stack("limits", |config| {
        config.policy("ip", "burst_capacity", 5).unwrap();
        config.policy("ip", "rate", 1).unwrap();
    })
    .await;
    let mut statuses = Vec::new();
    for _ in 0..7 {
        let mut fresh = buyer(&stack, 1);
        let reply = press(&mut fresh).await;
        if reply.status == 429 {
            assert_eq!(reply.json()["policy"], "ip");
        }
        statuses.push(reply.status);
    }
    assert_eq!(statuses, [201, 201, 201, 201, 201, 429, 429]);
    assert_eq!(press(&mut buyer(&stack, 2)).await.status, 201);
}

#[tokio::test]
async fn joins_and_presses_have_budgets_of_their_own() {
    let stack = stack("limits", |config| {
        config.policy("device", "burst_capacity", 1).unwrap();
        config.policy("join-device", "burst_capacity", 2).unwrap();
    })
    .await;
    let mut device = buyer(&stack, 1);
    let mut joins = Vec::new();
    // The first brings the device's cookie, so it is not yet counted by device.
    for _ in 0..4 {
        joins.push(crate::fixtures::join(&mut device).await.status);
    }
    assert_eq!(joins, [200, 200, 200, 429]);
    assert_eq!(press(&mut device).await.status, 201);
}

#[tokio::test]
async fn bypassed_routes_are_never_limited() {
    let stack = stack("limits", |config| config.policy("ip", "burst_capacity", 1).unwrap()).await;
    let mut device = buyer(&stack, 1);
    for _ in 0..30 {
        assert_eq!(device.get("/health").await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn a_limited_navigation_gets_a_page() {
    let one_a_minute = |config: &mut DemoConfig| {
        config.policy("ip", "burst_capacity", 1).unwrap();
        config.policy("ip", "rate", 1).unwrap();
        config.policy("ip", "period_ms", 60_000).unwrap();
    };
    let stack = stack("limits", one_a_minute).await;
    let mut device = buyer(&stack, 1);
    let submit = |device: &Device| {
        let request = device.request(Method::POST, "/cart/items").header("sec-fetch-mode", "navigate");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        request.header("accept-language", "zh-TW").body("sku=A-3")
    };
    for _ in 0..2 {
        let request = submit(&device);
        device.send(request).await.unwrap();
    }
    let request = submit(&device);
    let reply = device.send(request).await.unwrap();
    assert_eq!(reply.status, 429);
    assert!(reply.header("content-type").unwrap().starts_with("text/html"), "{:?}", reply.headers);
    assert!(reply.header("retry-after").is_some() && reply.header("ratelimit").is_some());
    assert!(String::from_utf8(reply.body).unwrap().contains("秒後再試"));
}
