//! The dashboard, the alerts and the runbook, held against what the server tells after a sale.

use crate::browser::{Browser, REDEEM, Server, TICKET, fill};
use crate::edge::signed;
use axum::{
    body::Body,
    http::{Request, header},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const ALERTS: &str = include_str!("../../operations/alerts.yml");
const DASHBOARD: &str = include_str!("../../operations/dashboard.json");
const RUNBOOK: &str = include_str!("../../operations/runbook.md");

/// Everything that begins with `fairgate_`, up to the end of the name.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    let is_part = |character: char| character.is_ascii_lowercase() || character == '_';
    let starts = text.match_indices("fairgate_").map(|(start, _)| &text[start..]);
    starts.map(|rest| rest.split(|character| !is_part(character)).next().unwrap()).collect()
}

/// Every kind of event of which the server keeps count, once.
async fn sale() -> Server {
    let mut server = Server::start().await;
    let _inside = fill(&server).await;
    let mut waiting = Browser::default();
    waiting.post(&server, TICKET).await;
    waiting.post(&server, REDEEM).await.assert_refused(409, "NOT_YOUR_TURN");
    server.tick().await;
    let report = json!({ "outcomes": [{ "event": "drop", "code": "CART_FAILED", "count": 3 }] });
    assert_eq!(signed(&server, "POST", "/v1/edge/report", &report.to_string()).await.status, 204);
    let forged = Request::builder().uri("/v1/edge/config").header("fairgate-edge", "v1;kid=1;t=1;sig=AAAA");
    server.send(forged.body(Body::empty()).unwrap()).await.assert_refused(401, "EDGE_SIGNATURE_INVALID");
    let check = json!({ "shop": "alpha", "policies": ["device"], "keys": { "device": "d-1" }, "cost": 1 });
    for _ in 0..100 {
        let request = Request::builder()
            .method("POST")
            .uri("/v1/limits/check")
            .header(header::AUTHORIZATION, format!("Bearer {}", server.keys.check))
            .header(header::CONTENT_TYPE, "application/json");
        server.send(request.body(Body::from(check.to_string())).unwrap()).await;
    }
    server
}

#[tokio::test]
async fn every_metric_that_somebody_looks_at_exists_after_a_sale() {
    let server = sale().await;
    let request = Request::builder().uri("/metrics").body(Body::empty()).unwrap();
    let reply = server.send(request).await;
    let told: BTreeSet<&str> = reply
        .text()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect();
    for (name, text) in [("alerts.yml", ALERTS), ("dashboard.json", DASHBOARD)] {
        let wanted = metrics_in(text);
        assert!(wanted.len() >= 10, "{name}: {wanted:?}");
        for metric in wanted {
            assert!(told.contains(metric), "{name}: the server tells nothing of {metric}");
        }
    }
}

#[test]
fn every_alert_has_its_chapter() {
    let alerts: BTreeSet<&str> =
        ALERTS.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let chapters: BTreeSet<&str> = RUNBOOK.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert!(alerts.len() >= 10);
    assert_eq!(alerts, chapters);
}

#[test]
fn the_dashboard_is_one() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() >= 10);
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
}
