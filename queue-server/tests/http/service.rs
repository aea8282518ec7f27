//! Snapshot, keys, health and metrics.

use crate::browser::{Browser, Server, TICKET, fill};
use axum::body::Body;
use serde_json::Value;

const SNAPSHOT: &str = "/.fairgate/events/drop";

#[tokio::test]
async fn the_snapshot_is_renewed_each_tick_and_revalidated_between() {
    let mut server = Server::start().await;
    let first = Browser::default().get(&server, SNAPSHOT).await;
    assert_eq!(first.header("cache-control"), Some("no-cache"));
    let etag = first.header("etag").unwrap().to_owned();
    let known = [("if-none-match", etag.as_str())];
    let same = Browser::default().send(&server, "GET", SNAPSHOT, Body::empty(), &known).await;
    assert_eq!((same.status.as_u16(), same.body.len()), (304, 0));
    assert_eq!(same.header("etag"), Some(etag.as_str()));
    fill(&server).await;
    server.advance_s(1);
    server.tick().await;
    let next = Browser::default().send(&server, "GET", SNAPSHOT, Body::empty(), &known).await;
    assert_eq!(next.status, 200);
    let (first, next) = (first.json(), next.json());
    assert_eq!(next["tick"].as_u64().unwrap(), first["tick"].as_u64().unwrap() + 1);
    assert_eq!((&first["sessionFree"], &next["sessionFree"]), (&Value::Bool(true), &Value::Bool(false)));
}

#[tokio::test]
async fn the_published_keys_verify_a_pass() {
    let server = Server::start().await;
    let token = Browser::default().post(&server, TICKET).await.json()["pass"]["token"].clone();
    let keys = Browser::default().get(&server, "/.fairgate/jwks.json").await;
    let set: jsonwebtoken::jwk::JwkSet = serde_json::from_slice(&keys.body).unwrap();
    let token = token.as_str().unwrap();
    let kid = jsonwebtoken::decode_header(token).unwrap().kid.unwrap();
    let key = jsonwebtoken::DecodingKey::from_jwk(set.find(&kid).unwrap()).unwrap();
    let mut validation = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::ES256);
    validation.set_audience(&["alpha"]);
    validation.set_issuer(&["fairgate"]);
    // The test's clock stands in 2026, whatever the machine's says.
    validation.validate_exp = false;
    let claims = jsonwebtoken::decode::<Value>(token, &key, &validation).unwrap().claims;
    assert_eq!(claims["jti"], "drop:1:0:1");
    assert!(!keys.text().contains("\"d\""), "the private part stays here");
}

#[tokio::test]
async fn a_server_whose_rooms_stand_still_is_not_ready() {
    let mut server = Server::start().await;
    let ready = async |server: &Server| Browser::default().get(server, "/readyz").await.status.as_u16();
    assert_eq!(ready(&server).await, 200);
    server.advance_s(10);
    assert_eq!(ready(&server).await, 200);
    server.advance_s(1);
    assert_eq!(ready(&server).await, 503);
    assert_eq!(Browser::default().get(&server, "/healthz").await.status, 200);
    server.tick().await;
    assert_eq!(ready(&server).await, 200);
}

#[tokio::test]
async fn metrics_tell_how_the_room_stands() {
    let mut server = Server::start().await;
    fill(&server).await;
    Browser::default().post(&server, TICKET).await;
    server.tick().await;
    let metrics = Browser::default().get(&server, "/metrics").await;
    for line in [
        r#"fairgate_sessions{event="drop"} 2"#,
        r#"fairgate_capacity{event="drop"} 2"#,
        r#"fairgate_waiting{event="drop"} 1"#,
        r#"fairgate_joins_total{event="drop",outcome="entered"} 2"#,
        r#"fairgate_joins_total{event="drop",outcome="joined"} 1"#,
        r#"fairgate_http_requests_total{route="join",status="201"} 1"#,
    ] {
        assert!(metrics.text().contains(line), "{line}\n{}", metrics.text());
    }
}
