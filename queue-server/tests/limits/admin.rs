//! Overrides, replenishing, resets, and what is told of limits.

use crate::server::{CONFIG, Server, of_device};
use queue_server::document::ConfigDocument;
use serde_json::{Value, json};
use shared::{config::Config, limiter::Inheritance};
use std::sync::Arc;

const DEVICE: &str = "/v1/shops/alpha/policies/device";

async fn put(server: &Server, path: &str, body: Value) -> crate::server::Reply {
    server.call(&server.admin_key, "PUT", path, Some(body)).await
}

#[tokio::test]
async fn an_override_is_in_force_at_once_and_keeps_what_is_in_use() {
    let server = Server::start();
    assert!(server.passes("device", "a", 3).await);
    let five = json!({ "settings": { "gcra": { "burst_capacity": 5, "rate": 1, "period_us": 1_000_000 } } });
    assert_eq!(put(&server, DEVICE, five).await.status, 200);
    assert!(!server.passes("device", "a", 3).await, "3 of 5 are in use");
    assert!(server.passes("device", "a", 2).await);
    assert_eq!(server.call(&server.admin_key, "DELETE", DEVICE, None).await.status, 204);
    assert!(server.passes("device", "a", 5).await, "5 of 10 are in use");
    assert!(!server.passes("device", "a", 1).await);
    server.call(&server.admin_key, "DELETE", DEVICE, None).await.assert_refused(404, "POLICY_UNKNOWN");
}

#[tokio::test]
async fn an_override_has_the_compact_form_and_a_mode() {
    let server = Server::start();
    assert_eq!(put(&server, DEVICE, json!({ "lockout": "true|1|60|300" })).await.status, 200);
    assert!(server.passes("device", "a", 1).await);
    let locked = server.check(of_device("device", "a", 1)).await;
    locked.assert_refused(403, "LOCKED");
    assert_eq!(locked.header("retry-after"), Some("300"));
    assert_eq!(put(&server, DEVICE, json!({ "mode": "shadow" })).await.status, 200);
    assert!(server.passes("device", "b", 10).await);
    assert_eq!(put(&server, DEVICE, json!({ "lockout": "false|1|60|300" })).await.status, 200);
    assert!(server.passes("device", "a", 1).await);
}

#[tokio::test]
async fn settings_that_cannot_be_kept_are_refused() {
    let server = Server::start();
    let gcra = |burst: u64, rate: u64, period: u64| json!({ "settings": { "gcra": { "burst_capacity": burst, "rate": rate, "period_us": period } } });
    let cases = [
        json!({}),
        json!({ "lockout": "true|3|0|30" }),
        json!({ "lockout": "true|3|1|30", "settings": gcra(1, 1, 1)["settings"] }),
        json!({ "mode": "sometimes" }),
        gcra(0, 1, 1),
        gcra(1, 1, 0),
        gcra(u64::MAX, 1, u64::MAX),
    ];
    for body in cases {
        put(&server, DEVICE, body).await.assert_refused(400, "POLICY_INVALID");
    }
    put(&server, DEVICE, json!({ "settigns": {} })).await.assert_refused(400, "BODY_INVALID");
    let site = put(&server, "/v1/shops/alpha/policies/everyone", gcra(1, 1, 1)).await;
    site.assert_refused(400, "POLICY_INVALID");
    put(&server, "/v1/shops/alpha/policies/nothing", gcra(1, 1, 1))
        .await
        .assert_refused(404, "POLICY_UNKNOWN");
    assert!(server.passes("device", "a", 10).await);
}

#[tokio::test]
async fn a_key_is_replenished_and_reset() {
    let server = Server::start();
    let key = |cost: Option<u64>| {
        let mut body = json!({ "shop": "alpha", "policy": "login", "keys": { "device": "a" } });
        if let Some(cost) = cost {
            body["cost"] = json!(cost);
        }
        body
    };
    assert!(server.passes("login", "a", 3).await);
    let replenish = server.call(&server.admin_key, "POST", "/v1/limits/replenish", Some(key(Some(2)))).await;
    assert_eq!(replenish.status, 204);
    assert!(server.passes("login", "a", 2).await);
    assert!(!server.passes("login", "a", 1).await, "this one begins the lock");
    server.advance_ms(60_000);
    assert!(!server.passes("login", "a", 1).await);
    let reset = server.call(&server.admin_key, "POST", "/v1/limits/reset", Some(key(None))).await;
    assert_eq!(reset.status, 204);
    assert!(server.passes("login", "a", 1).await);
}

#[tokio::test]
async fn a_policy_by_route_counts_each_route_and_is_never_asked_without_one() {
    let server = Server::start();
    let keys = |route: &str| json!({ "device": "a", "route": route });
    let of_route = |route: &str| json!({ "shop": "alpha", "policies": ["each-route"], "keys": keys(route) });
    let asked =
        ["POST /cart/items", "/health", "POST /cart/items", "POST /cart/items"].map(of_route).to_vec();
    let allowed: Vec<Value> =
        server.check_all(asked).await.iter().map(|result| result["allowed"].clone()).collect();
    assert_eq!(allowed, [true, true, true, false]);

    let path = "/v1/limits/state?shop=alpha&policy=each-route&device=a";
    server.call(&server.read_key, "GET", path, None).await.assert_refused(400, "KEY_PART_MISSING");
    let told = server.call(&server.read_key, "GET", &format!("{path}&route=POST%20/cart/items"), None).await;
    assert_eq!(told.json()["state"]["remaining"], 0);

    let reset = async |keys: Value| {
        let body = json!({ "shop": "alpha", "policy": "each-route", "keys": keys });
        server.call(&server.admin_key, "POST", "/v1/limits/reset", Some(body)).await
    };
    reset(json!({ "device": "a" })).await.assert_refused(400, "KEY_PART_MISSING");
    assert_eq!(reset(keys("POST /cart/items")).await.status, 204);
    let results = server.check_all(vec![of_route("POST /cart/items")]).await;
    assert_eq!(results[0]["limits"][0]["remaining"], 1, "as new, less this one");
}

#[tokio::test]
async fn the_state_of_a_key_is_explained() {
    let server = Server::start();
    let path = "/v1/limits/state?shop=alpha&policy=login&device=a";
    let state = async |path: &str| server.call(&server.read_key, "GET", path, None).await.json();
    assert_eq!(state(path).await["state"], Value::Null);
    assert!(server.passes("login", "a", 3).await);
    assert!(!server.passes("login", "a", 1).await);
    server.advance_ms(1_000);
    assert!(!server.passes("login", "a", 1).await);
    let told = state(path).await;
    assert_eq!((&told["state"]["locked"], &told["state"]["ttlUs"]), (&json!(true), &json!(299_000_000)));
    let refusals = told["lastRefusals"].as_array().unwrap();
    let waits: Vec<&Value> = refusals.iter().map(|refusal| &refusal["retryAfterUs"]).collect();
    assert_eq!(waits, [&json!(299_000_000), &json!(300_000_000)], "the newest first");
    // The log shows the key's digits; they find it as its parts do.
    let by_digits = format!("/v1/limits/state?shop=alpha&policy=login&key={}", told["key"].as_str().unwrap());
    assert_eq!(state(&by_digits).await, told);
    let wrong =
        server.call(&server.read_key, "GET", "/v1/limits/state?shop=alpha&policy=login&key=xyz", None).await;
    wrong.assert_refused(400, "KEY_PART_INVALID");
}

#[tokio::test]
async fn policies_and_coverage_are_told() {
    let server = Server::start();
    let policies = server.call(&server.read_key, "GET", "/v1/policies", None).await;
    let etag = policies.header("etag").unwrap().to_owned();
    let device = &policies.json()["shops"][0]["policies"][0];
    assert_eq!(
        (&device["name"], &device["key"], &device["mode"]),
        (&json!("device"), &json!(["device"]), &json!("enforced"))
    );
    assert_eq!(device["settings"]["gcra"]["burst_capacity"], 10);
    put(&server, DEVICE, json!({ "mode": "shadow" })).await;
    let policies = server.call(&server.read_key, "GET", "/v1/policies", None).await;
    assert_ne!(policies.header("etag"), Some(etag.as_str()));
    assert_eq!(policies.json()["shops"][0]["policies"][0]["override"]["mode"], "shadow");
    let coverage = server.call(&server.read_key, "GET", "/v1/policies/coverage", None).await.json();
    let shop = &coverage["shops"][0];
    let route = &shop["routes"][0];
    assert_eq!((&route["kind"], &route["isLimited"]), (&json!("open"), &json!(true)));
    let limits: Vec<&str> = route["limits"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(limits[0].starts_with("device: ") && limits[0].contains("shadow"), "{limits:?}");
    assert!(limits[1].starts_with("ip: ") && !limits[1].contains("shadow"), "{limits:?}");
    assert_eq!(
        (&shop["routes"][1]["kind"], &shop["routes"][1]["isLimited"]),
        (&json!("bypassed"), &json!(false))
    );
    assert_eq!(shop["everythingElse"]["isLimited"], false);
}

#[tokio::test]
async fn edges_are_told_what_shops_have_of_their_own() {
    let server = Server::start();
    let document = || server.app.document.current(&server.app.limits.live.now(), server.app.clock.now());
    server.app.document.replace(ConfigDocument::new(CONFIG.to_owned()));
    let told = |policy: &str| {
        let config = Config::parse("told", &document().text).unwrap();
        let [alpha, beta] =
            ["alpha", "beta"].map(|shop| Arc::clone(config.shop(shop).unwrap().policy(policy).unwrap()));
        (alpha, beta.limiter.quota())
    };
    let of_file = document();
    assert_eq!((told("device").0.limiter.quota(), told("device").1), (10, 2));

    let own = json!({
        "settings": { "gcra": { "burst_capacity": 5, "rate": 1, "period_us": 1_000_000 } },
        "mode": "shadow", "inherit": "reset",
    });
    assert_eq!(put(&server, DEVICE, own).await.status, 200);
    let (alpha, beta_quota) = told("device");
    assert_eq!((alpha.limiter.quota(), alpha.mode.name(), beta_quota), (5, "shadow", 2));
    assert_eq!(alpha.inherit, Inheritance::Reset);
    assert_ne!(document().etag, of_file.etag);
    assert!(Arc::ptr_eq(&document(), &document()), "written once");
    // What a file cannot say stays here.
    let finer = json!({ "settings": { "fixed_window": { "limit": 5, "window_us": 7, "aligned": true } } });
    assert_eq!(put(&server, "/v1/shops/alpha/policies/ip", finer).await.status, 200);
    assert_eq!((told("ip").0.limiter.quota(), told("device").0.limiter.quota()), (20, 5));
    for path in [DEVICE, "/v1/shops/alpha/policies/ip"] {
        assert_eq!(server.call(&server.admin_key, "DELETE", path, None).await.status, 204);
    }
    assert_eq!(document(), of_file);
}
