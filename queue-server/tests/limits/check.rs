//! Checks, peeks and refunds.

use crate::server::{CONFIG, Server, of_device};
use queue_server::limits::Home;
use serde_json::{Value, json};

fn allowed(results: &[Value]) -> Vec<bool> {
    results.iter().map(|result| result["allowed"].as_bool().unwrap()).collect()
}

#[tokio::test]
async fn a_refused_request_takes_nothing() {
    let server = Server::start();
    let checks = [8, 5, 1, 1].map(|cost| of_device("device", "a", cost)).to_vec();
    let results = server.check_all(checks).await;
    assert_eq!(allowed(&results), [true, false, true, true]);
    let refused = &results[1];
    assert_eq!(refused["code"], "RATE_LIMITED");
    assert_eq!(refused["limits"][0]["remaining"], 2);
    assert_eq!(refused["retryAfterUs"], 600_000);
    assert_eq!(refused["receipt"], Value::Null);
}

#[tokio::test]
async fn a_wait_is_exact_from_both_sides() {
    let server = Server::start();
    assert!(server.passes("device", "a", 10).await);
    assert!(!server.passes("device", "a", 1).await);
    server.advance_ms(199);
    assert!(!server.passes("device", "a", 1).await);
    server.advance_ms(1);
    assert!(server.passes("device", "a", 1).await);
}

#[tokio::test]
async fn one_check_is_told_by_status_and_fields() {
    let server = Server::start();
    let body =
        json!({ "shop": "alpha", "route": "POST /cart/items", "keys": { "device": "a", "ip": "192.0.2.7" } });
    let passed = server.check(body.clone()).await;
    assert_eq!(passed.status, 200);
    assert_eq!(passed.header("ratelimit"), Some(r#""device";r=9;t=1, "ip";r=19;t=1"#));
    assert_eq!(passed.header("ratelimit-policy"), Some(r#""device";q=10;w=2, "ip";q=20;w=2"#));
    for _ in 0..9 {
        assert_eq!(server.check(body.clone()).await.status, 200);
    }
    let refused = server.check(body).await;
    refused.assert_refused(429, "RATE_LIMITED");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.json()["policy"], "device");
    assert_eq!(refused.json()["retryAfterMs"], 200);
    assert!(refused.header("ratelimit").unwrap().starts_with(r#""device";r=0;t=1, "ip";r=10"#));
}

#[tokio::test]
async fn the_site_chooses_how_limits_are_told() {
    let chosen = "[site]\nratelimit_fields = \"renamed\"\nx_ratelimit = true";
    let server = Server::with(&CONFIG.replacen("[site]", chosen, 1), Home::local);
    let passed = server.check(of_device("device", "a", 4)).await;
    assert_eq!(passed.header("ratelimit"), Some(r#""device";a=6;w=1"#));
    let refused = server.check(of_device("device", "a", 7)).await;
    refused.assert_refused(429, "RATE_LIMITED");
    let told = ["limit", "remaining", "reset"].map(|name| refused.header(&format!("x-ratelimit-{name}")));
    assert_eq!(told, [Some("10"), Some("6"), Some("1")]);
    assert_eq!(Server::start().check(of_device("device", "a", 4)).await.header("x-ratelimit-limit"), None);
}

#[tokio::test]
async fn all_policies_are_taken_or_none() {
    let server = Server::start();
    let both = |device: &str, cost: u64| {
        let keys = json!({ "device": device, "ip": "2001:db8::1" });
        json!({ "shop": "alpha", "policies": ["device", "ip"], "keys": keys, "cost": cost })
    };
    let results = server.check_all(vec![both("a", 10), both("a", 10), both("b", 10), both("c", 1)]).await;
    assert_eq!(allowed(&results), [true, false, true, false]);
    assert_eq!((&results[1]["policy"], &results[3]["policy"]), (&json!("device"), &json!("ip")));
    assert!(server.passes("device", "c", 10).await, "the device that its address refused has its quota");
}

#[tokio::test]
async fn what_can_never_pass_is_told_apart() {
    let server = Server::start();
    for cost in [11, u64::MAX] {
        let result = &server.check_all(vec![of_device("device", "a", cost)]).await[0];
        assert_eq!((&result["code"], &result["retryAfterUs"]), (&json!("COST_TOO_HIGH"), &Value::Null));
        server.check(of_device("device", "a", cost)).await.assert_refused(400, "COST_TOO_HIGH");
    }
    assert!(server.passes("device", "a", 10).await);
}

#[tokio::test]
async fn a_peek_and_a_cost_of_nothing_take_nothing() {
    let server = Server::start();
    for _ in 0..3 {
        let peek =
            server.call(&server.check_key, "POST", "/v1/limits/peek", Some(of_device("device", "a", 10)));
        let peek = peek.await;
        assert_eq!((peek.status.as_u16(), &peek.json()["limits"][0]["remaining"]), (200, &json!(10)));
        assert_eq!(peek.json()["receipt"], Value::Null);
        let nothing = server.check(of_device("device", "a", 0)).await;
        assert_eq!((nothing.status.as_u16(), &nothing.json()["receipt"]), (200, &Value::Null));
    }
    assert!(server.passes("device", "a", 10).await);
    let peek =
        server.call(&server.check_key, "POST", "/v1/limits/peek", Some(of_device("device", "a", 1))).await;
    peek.assert_refused(429, "RATE_LIMITED");
}

#[tokio::test]
async fn a_receipt_gives_back_once_what_was_taken() {
    let server = Server::start();
    let receipt = server.check_all(vec![of_device("device", "a", 7)]).await[0]["receipt"].clone();
    assert!(!server.passes("device", "a", 10).await);
    let refund = json!({ "receipts": [receipt] });
    let path = "/v1/limits/refund";
    assert_eq!(server.call(&server.check_key, "POST", path, Some(refund.clone())).await.status, 204);
    let again = server.call(&server.check_key, "POST", path, Some(refund)).await;
    again.assert_refused(409, "RECEIPT_SPENT");
    assert!(server.passes("device", "a", 10).await);
    assert!(!server.passes("device", "a", 1).await, "never above the maximum");
    let forged = json!({ "receipts": ["AAAA"] });
    server.call(&server.check_key, "POST", path, Some(forged)).await.assert_refused(400, "RECEIPT_INVALID");
}

#[tokio::test]
async fn an_old_receipt_gives_nothing_back() {
    let server = Server::start();
    let receipt = server.check_all(vec![of_device("device", "a", 7)]).await[0]["receipt"].clone();
    server.advance_ms(3_600_000);
    let refund =
        server.call(&server.check_key, "POST", "/v1/limits/refund", Some(json!({ "receipts": [receipt] })));
    refund.await.assert_refused(400, "RECEIPT_INVALID");
}

#[tokio::test]
async fn off_asks_nobody_and_shadow_refuses_nobody() {
    let server = Server::start();
    for _ in 0..3 {
        assert!(server.passes("off", "a", 1).await);
        let result = &server.check_all(vec![of_device("shadow", "a", 1)]).await[0];
        assert_eq!(result["allowed"], true);
        assert_eq!(result["limits"][0]["enforced"], false);
    }
    let result = &server.check_all(vec![of_device("off", "a", 1)]).await[0];
    assert_eq!((&result["decidedBy"], &result["limits"]), (&json!("nobody"), &json!([])));
    let metrics = server.metrics().await;
    for line in [
        r#"fairgate_limit_decisions_total{policy="shadow",outcome="shadow_allowed"} 1"#,
        r#"fairgate_limit_decisions_total{policy="shadow",outcome="shadow_refused"} 2"#,
        "fairgate_limit_keys 1",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    assert!(!metrics.contains(r#"policy="off""#));
}

#[tokio::test]
async fn near_the_limit_is_counted() {
    let server = Server::start();
    assert!(server.passes("device", "a", 7).await);
    assert!(!server.metrics().await.contains("fairgate_limit_near_total{"));
    assert!(server.passes("device", "a", 1).await);
    assert!(server.metrics().await.contains(r#"fairgate_limit_near_total{policy="device"} 1"#));
}

#[tokio::test]
async fn shops_do_not_share_and_the_site_does() {
    let server = Server::start();
    let everyone = json!({ "shop": "alpha", "policies": ["everyone", "device"], "keys": { "device": "a" } });
    for _ in 0..3 {
        assert_eq!(server.check(everyone.clone()).await.status, 200);
    }
    server.check(everyone).await.assert_refused(429, "SHOP_BUSY");
    let left = server.check_all(vec![of_device("device", "a", 0)]).await[0]["limits"][0]["remaining"].clone();
    assert_eq!(left, 7, "what the device gave for the request that the site refused came back");
}

#[tokio::test]
async fn twenty_at_once_against_ten() {
    let server = std::sync::Arc::new(Server::start());
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let server = std::sync::Arc::clone(&server);
        calls.spawn(async move { server.passes("device", "a", 1).await });
    }
    let passed = calls.join_all().await.into_iter().filter(|passed| *passed).count();
    assert_eq!(passed, 10);
}
