//! Each metric is documented.

use crate::browser::{Browser, REDEEM, Server, TICKET, fill};
use crate::edge::signed;
use std::collections::BTreeSet;

#[tokio::test]
async fn every_metric_is_documented_and_no_other_is() {
    let told = after_a_rush().await;
    let types = told.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let told: BTreeSet<&str> = types.filter_map(|line| line.split(' ').next()).collect();
    let rows = METRICS.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let documented: BTreeSet<&str> = rows.collect();
    // Nobody asked for a limit here.
    let only_with_limits = ["fairgate_limit_decisions", "fairgate_limit_near"];
    let unknown: Vec<_> = told.difference(&documented).collect();
    assert!(unknown.is_empty(), "not documented: {unknown:?}");
    let gone: Vec<_> = documented.difference(&told).filter(|name| !only_with_limits.contains(name)).collect();
    assert!(gone.is_empty(), "documented and not told: {gone:?}");
}

/// The metrics after some buyers: three joined, two entered, one of them by a redemption, and an edge reported.
async fn after_a_rush() -> String {
    let mut server = Server::start().await;
    let [mut inside, _] = fill(&server).await;
    Browser::default().post(&server, TICKET).await;
    assert_eq!(inside.post(&server, REDEEM).await.status, 200);
    let report = r#"{"outcomes":[{"event":"drop","code":"QUEUE_REQUIRED","count":3}]}"#;
    assert_eq!(signed(&server, "POST", "/v1/edge/report", report).await.status, 204);
    server.advance_s(1);
    server.tick().await;
    Browser::default().get(&server, "/metrics").await;
    Browser::default().get(&server, "/metrics").await.text().to_owned()
}

const METRICS: &str = include_str!("../../operations/metrics.md");
