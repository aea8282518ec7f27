//! Nothing is open without a key, and a key opens only what it is for.

use crate::server::{Server, of_device};
use serde_json::{Value, json};

fn calls() -> Vec<(&'static str, &'static str, Option<Value>)> {
    let key = json!({ "shop": "alpha", "policy": "device", "keys": { "device": "a" } });
    let replenish = json!({ "shop": "alpha", "policy": "device", "keys": { "device": "a" }, "cost": 1 });
    vec![
        ("POST", "/v1/limits/check", Some(of_device("device", "a", 1))),
        ("POST", "/v1/limits/peek", Some(of_device("device", "a", 1))),
        ("POST", "/v1/limits/replenish", Some(replenish)),
        ("POST", "/v1/limits/reset", Some(key)),
        ("PUT", "/v1/shops/alpha/policies/device", Some(json!({ "mode": "shadow" }))),
        ("DELETE", "/v1/shops/alpha/policies/device", None),
        ("GET", "/v1/limits/state?shop=alpha&policy=device&device=a", None),
        ("GET", "/v1/policies", None),
        ("GET", "/v1/policies/coverage", None),
    ]
}

#[tokio::test]
async fn nothing_is_open_by_default() {
    let server = Server::start();
    for (method, path, body) in calls() {
        let unknown = format!("fgk_{}_{}", "0".repeat(16), "0".repeat(64));
        let reply = server.call(&unknown, method, path, body.clone()).await;
        reply.assert_refused(401, "ACCESS_KEY_INVALID");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{method} {path}");
        let request = axum::http::Request::builder().method(method).uri(path);
        let request = request.body(axum::body::Body::empty()).unwrap();
        server.send(request).await.assert_refused(401, "ACCESS_KEY_MISSING");
    }
}

#[tokio::test]
async fn each_role_opens_its_own_calls() {
    let server = Server::start();
    let opens = [(&server.check_key, 0..2), (&server.admin_key, 2..9), (&server.read_key, 6..9)];
    for (key, open) in opens {
        for (index, (method, path, body)) in calls().into_iter().enumerate() {
            let reply = server.call(key, method, path, body).await;
            if open.contains(&index) {
                assert!(reply.status.is_success(), "{method} {path}: {}", reply.text());
            } else {
                reply.assert_refused(403, "ROLE_MISSING");
            }
        }
    }
}

#[tokio::test]
async fn a_foreign_shop_is_refused_whether_it_exists_or_not() {
    let server = Server::start();
    for shop in ["beta", "nowhere", ""] {
        let check = json!({ "shop": shop, "policies": ["device"], "keys": { "device": "a" } });
        server.check(check).await.assert_refused(403, "SHOP_NOT_ALLOWED");
        let path = format!("/v1/shops/{shop}/policies/device");
        if !shop.is_empty() {
            let reply = server.call(&server.admin_key, "PUT", &path, Some(json!({ "mode": "off" }))).await;
            reply.assert_refused(403, "SHOP_NOT_ALLOWED");
        }
        let state = format!("/v1/limits/state?shop={shop}&policy=device&device=a");
        server.call(&server.read_key, "GET", &state, None).await.assert_refused(403, "SHOP_NOT_ALLOWED");
    }
    let told = server.call(&server.read_key, "GET", "/v1/policies", None).await.json();
    let shops: Vec<&Value> = told["shops"].as_array().unwrap().iter().map(|shop| &shop["shop"]).collect();
    assert_eq!(shops, ["alpha"]);
}

#[tokio::test]
async fn a_batch_with_a_foreign_shop_takes_nothing() {
    let server = Server::start();
    let foreign = json!({ "shop": "beta", "policies": ["device"], "keys": { "device": "a" } });
    let checks = json!({ "checks": [of_device("device", "a", 10), foreign] });
    server.check(checks).await.assert_refused(403, "SHOP_NOT_ALLOWED");
    assert!(server.passes("device", "a", 10).await);
}
