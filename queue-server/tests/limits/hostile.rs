//! Requests made to break something: each is refused by name, and takes nothing.

use crate::server::{Server, of_device};
use axum::{body::Body, http::Request};
use queue_server::http::SERVICE_BYTES_MAX;
use serde_json::{Value, json};
use shared::wire::limits::{BATCH_MAX, PART_BYTES_MAX, WAIT_MS_MAX};

fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut check = of_device("device", "a", 1);
    change(&mut check);
    check
}

#[tokio::test]
async fn wrong_checks_are_refused_by_name_and_take_nothing() {
    let server = Server::start();
    let cases = [
        (changed(|check| check["cost"] = json!(-1)), 400, "BODY_INVALID"),
        (changed(|check| check["cost"] = json!(0.5)), 400, "BODY_INVALID"),
        (changed(|check| check["cost"] = json!(1e3)), 400, "BODY_INVALID"),
        (changed(|check| check["cost"] = json!("1")), 400, "BODY_INVALID"),
        (changed(|check| check["cots"] = json!(1)), 400, "BODY_INVALID"),
        (changed(|check| check["keys"]["divice"] = json!("a")), 400, "BODY_INVALID"),
        (changed(|check| check["keys"]["device"] = json!(7)), 400, "BODY_INVALID"),
        (changed(|check| check["policies"] = json!([])), 400, "BODY_INVALID"),
        (changed(|check| check["policies"] = json!(["nothing"])), 404, "POLICY_UNKNOWN"),
        (changed(|check| check["policies"] = json!(["device", "device"])), 400, "BODY_AMBIGUOUS"),
        (changed(|check| check["route"] = json!("POST /nowhere")), 404, "POLICY_UNKNOWN"),
        (changed(|check| check["policies"] = json!(["device", "ip"])), 400, "KEY_PART_MISSING"),
        (changed(|check| check["keys"] = json!({})), 400, "KEY_PART_MISSING"),
        (changed(|check| check["policies"] = json!(["each-route"])), 400, "KEY_PART_MISSING"),
        (changed(|check| check["keys"]["route"] = json!("POST /nowhere")), 404, "POLICY_UNKNOWN"),
        (
            changed(|check| {
                check["route"] = json!("POST /cart/items");
                check["keys"]["route"] = json!("/health");
            }),
            400,
            "BODY_AMBIGUOUS",
        ),
        (changed(|check| check["keys"]["device"] = json!("")), 400, "KEY_PART_INVALID"),
        (changed(|check| check["keys"]["ip"] = json!("example.com")), 400, "KEY_PART_INVALID"),
        (changed(|check| check["keys"]["sku"] = json!("a\u{0}b")), 400, "KEY_PART_INVALID"),
        (changed(|check| check["keys"]["member"] = json!("m".repeat(65))), 400, "KEY_PART_INVALID"),
        (changed(|check| check["wait"] = json!({ "ms": WAIT_MS_MAX + 1 })), 400, "BODY_INVALID"),
        (changed(|check| check["wait"] = json!({ "ms": 1, "order": "sideways" })), 400, "BODY_INVALID"),
        (json!({ "checks": [] }), 400, "BODY_INVALID"),
        (json!({ "checks": [of_device("device", "a", 10), {}] }), 400, "BODY_INVALID"),
    ];
    for (check, status, code) in cases {
        server.check(check).await.assert_refused(status, code);
    }
    let repeated = r#"{"shop":"alpha","shop":"beta","policies":["device"],"keys":{"device":"a"}}"#;
    for (body, code) in
        [(repeated, "BODY_INVALID"), ("[]", "BODY_INVALID"), ("{", "BODY_INVALID"), ("", "BODY_INVALID")]
    {
        raw(&server, body.as_bytes(), "application/json").await.assert_refused(400, code);
    }
    raw(&server, b"{\"shop\":\"\xff\"}", "application/json").await.assert_refused(400, "BODY_NOT_UTF8");
    raw(&server, b"{}", "text/plain").await.assert_refused(415, "CONTENT_TYPE_UNSUPPORTED");
    assert!(server.passes("device", "a", 10).await);
}

#[tokio::test]
async fn bounds_hold_at_the_limit_and_one_past_it() {
    let server = Server::start();
    let batch = |checks: usize| json!({ "checks": vec![of_device("device", "a", 0); checks] });
    assert_eq!(server.check(batch(BATCH_MAX)).await.status, 200);
    server.check(batch(BATCH_MAX + 1)).await.assert_refused(413, "BATCH_TOO_LARGE");
    let device = |bytes: usize| of_device("device", &"d".repeat(bytes), 1);
    assert_eq!(server.check(device(PART_BYTES_MAX)).await.status, 200);
    server.check(device(PART_BYTES_MAX + 1)).await.assert_refused(400, "KEY_PART_INVALID");
    let body = |bytes: usize| {
        let check = of_device("device", "a", 0).to_string();
        format!("{}{}", " ".repeat(bytes - check.len()), check)
    };
    let longest = raw(&server, body(SERVICE_BYTES_MAX).as_bytes(), "application/json").await;
    assert_eq!(longest.status, 200, "{}", longest.text());
    let longer = raw(&server, body(SERVICE_BYTES_MAX + 1).as_bytes(), "application/json").await;
    longer.assert_refused(413, "BODY_TOO_LARGE");
}

#[tokio::test]
async fn costs_of_any_size_leave_a_key_in_order() {
    let server = Server::start();
    for policy in ["device", "login", "export"] {
        for cost in [u64::MAX, u64::MAX - 1, 1 << 63, 1 << 53, 11] {
            assert!(!server.passes(policy, "a", cost).await, "{policy} {cost}");
        }
        assert!(server.passes(policy, "a", 1).await, "{policy}");
    }
    let replenish =
        json!({ "shop": "alpha", "policy": "device", "keys": { "device": "a" }, "cost": u64::MAX });
    let reply = server.call(&server.admin_key, "POST", "/v1/limits/replenish", Some(replenish)).await;
    assert_eq!(reply.status, 204);
    assert!(server.passes("device", "a", 10).await);
    assert!(!server.passes("device", "a", 1).await, "never above the maximum");
}

#[tokio::test]
async fn deep_json_is_refused_and_not_followed() {
    let server = Server::start();
    let deep = format!(r#"{{"shop":{}1{}}}"#, "[".repeat(20_000), "]".repeat(20_000));
    raw(&server, deep.as_bytes(), "application/json").await.assert_refused(400, "BODY_INVALID");
}

async fn raw(server: &Server, body: &[u8], content_type: &str) -> crate::server::Reply {
    let request = Request::post("/v1/limits/check")
        .header("authorization", format!("Bearer {}", server.check_key))
        .header("content-type", content_type)
        .body(Body::from(body.to_vec()));
    server.send(request.unwrap()).await
}
