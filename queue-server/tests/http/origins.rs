//! A room that follows the health of its shop's server, from the edge's report to what buyers are told.

use crate::browser::{Browser, DEMO, REDEEM, Reply, Server, TICKET};
use crate::edge::signed;
use axum::{
    body::Body,
    http::{Request, header},
};
use serde_json::{Value, json};

const ORIGIN: &str = "http://127.0.0.1:8702";

async fn server() -> Server {
    let watched =
        "[[origin]]\nurl = \"http://127.0.0.1:8702\"\ntarget_latency_ms = 200\ncapacity = 40\n\n[[event]]";
    Server::with_config(DEMO.replacen("[[event]]", watched, 1)).await
}

/// What an edge says of ten seconds in which so many of 40 sessions saw an error.
async fn report(server: &Server, failed: u32) {
    let report = json!({ "origins": [{
        "event": "drop", "forwarded": 200, "failed": failed, "sessions": 40, "failedSessions": failed, "latencies": [[22, 200 - failed]],
    }]});
    assert_eq!(signed(server, "POST", "/v1/edge/report", &report.to_string()).await.status, 204);
}

async fn call(server: &Server, key: &str, method: &str, body: &Value) -> Reply {
    let request = Request::builder()
        .method(method)
        .uri("/v1/origins")
        .header(header::AUTHORIZATION, format!("Bearer {key}"))
        .header(header::CONTENT_TYPE, "application/json");
    server.send(request.body(Body::from(body.to_string())).unwrap()).await
}

async fn tick_s(server: &mut Server, seconds: u64) {
    for _ in 0..seconds {
        server.advance_s(1);
        server.tick().await;
    }
}

fn reason_and_capacity(server: &Server) -> (Option<String>, u32) {
    let published = server.room().published().unwrap();
    (published.snapshot.reason.clone(), published.facts.as_ref().unwrap().capacity)
}

#[tokio::test]
async fn a_failing_server_stops_calls_says_why_and_lets_fewer_in_afterwards() {
    let mut server = server().await;
    tick_s(&mut server, 2).await;
    let mut inside = Vec::new();
    for _ in 0..40 {
        let mut browser = Browser::default();
        browser.post(&server, TICKET).await;
        if browser.post(&server, REDEEM).await.status == 200 {
            inside.push(browser);
        }
        tick_s(&mut server, 1).await;
    }
    assert!(inside.len() >= 30, "{} of 40 are inside", inside.len());

    report(&server, 20).await;
    tick_s(&mut server, 6).await;
    let mut waiting = Browser::default();
    waiting.post(&server, TICKET).await;
    tick_s(&mut server, 1).await;
    let (reason, capacity) = reason_and_capacity(&server);
    assert_eq!(reason.as_deref(), Some("ORIGIN_FAILING"));
    assert!(
        usize::try_from(capacity).unwrap() <= inside.len(),
        "nobody is thrown out, and {capacity} are no more than are inside"
    );
    let status = waiting.get(&server, TICKET).await.json();
    assert_eq!((&status["state"], &status["reason"]), (&json!("waiting"), &json!("ORIGIN_FAILING")));
    let view = call(&server, &server.keys.read, "GET", &Value::Null).await.json();
    assert_eq!(
        (&view["origins"][0]["origin"], &view["origins"][0]["reason"]),
        (&json!(ORIGIN), &json!("ORIGIN_FAILING"))
    );
    assert!(view["origins"][0]["capacity"].as_u64().is_some_and(|capacity| capacity <= 32), "{view}");

    tick_s(&mut server, 10).await;
    assert_ne!(reason_and_capacity(&server).0.as_deref(), Some("ORIGIN_FAILING"), "it ends by itself");
}

#[tokio::test]
async fn an_operator_fixes_the_capacity_and_lets_it_go_for_all_shops_of_the_server_only() {
    let mut server = server().await;
    let fix = json!({ "origin": ORIGIN, "capacity": 7 });
    // This key stands for one of the two shops that the server has.
    call(&server, &server.keys.operate, "PUT", &fix).await.assert_refused(403, "SHOP_NOT_ALLOWED");
    call(&server, &server.keys.read, "PUT", &fix).await.assert_refused(403, "ROLE_MISSING");
    let fixed = call(&server, &server.keys.operate_all, "PUT", &fix).await.json();
    assert_eq!((&fixed["capacity"], &fixed["fixed"]), (&json!(7), &json!(7)));
    report(&server, 40).await;
    tick_s(&mut server, 8).await;
    assert_eq!(reason_and_capacity(&server), (None, 3), "two rooms share it");
    let view = call(&server, &server.keys.read, "GET", &Value::Null).await.json();
    assert_eq!((&view["origins"][0]["capacity"], &view["origins"][0]["fixed"]), (&json!(7), &json!(7)));
    let let_go = json!({ "origin": ORIGIN, "capacity": null });
    let free = call(&server, &server.keys.operate_all, "PUT", &let_go).await.json();
    assert_eq!(free["fixed"], Value::Null);
}

#[tokio::test]
async fn a_report_of_a_server_that_is_not_watched_changes_nothing() {
    let mut server = Server::start().await;
    report(&server, 40).await;
    tick_s(&mut server, 8).await;
    assert_eq!(reason_and_capacity(&server), (None, 2));
    let view = call(&server, &server.keys.read, "GET", &Value::Null).await.json();
    assert_eq!(view["origins"], json!([]));
    let fix = json!({ "origin": ORIGIN, "capacity": 7 });
    call(&server, &server.keys.operate, "PUT", &fix).await.assert_refused(400, "BODY_INVALID");
}
