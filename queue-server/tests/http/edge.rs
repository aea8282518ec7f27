//! The edge's own calls and its signature.

use crate::browser::{Browser, REDEEM, Reply, Server, TICKET, fill};
use axum::{body::Body, http::Request};
use queue_server::document::ConfigDocument;
use shared::token::edge_signature::EdgeRequest;

const ENDED: &str = "/v1/edge/events/drop/ended?after=0";
const REPORT: &str = "/v1/edge/report";

pub(crate) async fn signed(server: &Server, method: &str, path: &str, body: &str) -> Reply {
    signed_at(server, method, path, body, 0).await
}

async fn signed_at(server: &Server, method: &str, path: &str, body: &str, age_s: u64) -> Reply {
    let client_address = "192.0.2.1";
    let request = EdgeRequest { method, path_and_query: path, client_address, body: body.as_bytes() };
    let signature = server.app.keys.edge().sign_request(&request, server.app.clock.now());
    server.advance_s(age_s);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("fairgate-edge", signature)
        .header("fairgate-client-ip", client_address)
        .header("fairgate-request-id", "edge-7")
        .body(Body::from(body.to_owned()));
    server.send(request.unwrap()).await
}

#[tokio::test]
async fn the_shop_ends_a_session_through_the_edge() {
    let server = Server::start().await;
    let [mut inside, _] = fill(&server).await;
    let report = r#"{"sessions":[{"event":"drop","epoch":1,"lane":0,"number":1,"word": "finish"}]}"#;
    assert_eq!(signed(&server, "POST", REPORT, report).await.status, 204);
    inside.post(&server, REDEEM).await.assert_refused(410, "TICKET_SPENT");
    let page = signed(&server, "GET", ENDED, "").await.json();
    assert_eq!(page, serde_json::json!({"seq": 1, "reset": false, "ended": [[1, 0, 1]]}));
    // A report that arrives twice, or names what never was, changes nothing.
    assert_eq!(signed(&server, "POST", REPORT, report).await.status, 204);
    let absurd = r#"{"sessions":[{"event":"drop","epoch":9,"lane":200,"number":18446744073709551615,"word":"revoke"},
        {"event":"unknown","epoch":1,"lane":0,"number":1,"word": "finish"}]}"#;
    assert_eq!(signed(&server, "POST", REPORT, absurd).await.status, 204);
    let after = signed(&server, "GET", "/v1/edge/events/drop/ended?after=1", "").await.json();
    assert_eq!(after, serde_json::json!({"seq": 1, "reset": false, "ended": []}));
    let ahead = signed(&server, "GET", "/v1/edge/events/drop/ended?after=99", "").await.json();
    assert_eq!(ahead["reset"], true);
}

#[tokio::test]
async fn a_call_in_an_edges_name_that_is_refused_is_counted_by_its_cause() {
    let server = Server::start().await;
    signed_at(&server, "GET", ENDED, "", 61).await.assert_refused(401, "EDGE_SIGNATURE_INVALID");
    for signature in ["", "v1;kid=200;t=1;sig=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
        let fields = [("fairgate-edge", signature)];
        Browser::default().send(&server, "GET", ENDED, Body::empty(), &fields).await.refusal();
    }
    let metrics = Browser::default().get(&server, "/metrics").await;
    for why in ["clock", "malformed", "unknown_key"] {
        let line = format!("fairgate_edge_refusals_total{{why=\"{why}\"}} 1");
        assert!(metrics.text().contains(&line), "{line}\n{}", metrics.text());
    }
}

#[tokio::test]
async fn outcomes_are_counted_by_known_names_only() {
    let server = Server::start().await;
    let report = r#"{"outcomes":[{"event":"drop","code":"CART_REJECTED","count":3},
        {"event":"drop","code":"MADE_UP","count":1},{"event":"made-up","code":"CART_FAILED","count":1}]}"#;
    assert_eq!(signed(&server, "POST", REPORT, report).await.status, 204);
    let metrics = Browser::default().get(&server, "/metrics").await;
    let line = r#"fairgate_edge_outcomes_total{event="drop",outcome="CART_REJECTED"} 3"#;
    assert!(metrics.text().contains(line), "{}", metrics.text());
    assert!(!metrics.text().to_lowercase().contains("made"), "{}", metrics.text());
}

/// Whoever reports names no label of ours: policies that no shop has are passed over.
#[tokio::test]
async fn what_limits_decided_at_an_edge_is_counted_by_policies_that_exist() {
    let server = Server::start().await;
    let report = r#"{"limits":[{"policy":"device","allowed":7,"near":2,"refused":3,"shadowRefused":1,"undecided":1},
        {"policy":"made-up","refused":1}]}"#;
    for _ in 0..2 {
        assert_eq!(signed(&server, "POST", REPORT, report).await.status, 204);
    }
    let metrics = Browser::default().get(&server, "/metrics").await;
    for (outcome, count) in [("allowed", 14), ("refused", 6), ("shadow_refused", 2), ("undecided", 2)] {
        let line =
            format!(r#"fairgate_limit_decisions_total{{policy="device",outcome="{outcome}"}} {count}"#);
        assert!(metrics.text().contains(&line), "{line}\n{}", metrics.text());
    }
    assert!(metrics.text().contains(r#"fairgate_limit_near_total{policy="device"} 4"#), "{}", metrics.text());
    assert!(!metrics.text().contains("made-up") && !metrics.text().contains("shadow_allowed"));
}

#[tokio::test]
async fn nobody_else_may_report() {
    let server = Server::start().await;
    let [mut inside, _] = fill(&server).await;
    let finish = r#"{"sessions":[{"event":"drop","epoch":1,"lane":0,"number":1,"word": "finish"}]}"#;
    let unsigned = Browser::default().send(&server, "POST", REPORT, Body::from(finish), &[]).await;
    unsigned.assert_refused(401, "EDGE_SIGNATURE_INVALID");
    Browser::default().get(&server, ENDED).await.assert_refused(401, "EDGE_SIGNATURE_INVALID");
    let forged = [("fairgate-edge", "v1;kid=1;t=1796000000;sig=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")];
    let reply = Browser::default().send(&server, "POST", REPORT, Body::from(finish), &forged).await;
    reply.assert_refused(401, "EDGE_SIGNATURE_INVALID");
    assert_eq!(signed_at(&server, "GET", ENDED, "", 60).await.status, 200);
    signed_at(&server, "GET", ENDED, "", 61).await.assert_refused(401, "EDGE_SIGNATURE_INVALID");
    assert_eq!(inside.get(&server, TICKET).await.status, 200);
}

#[tokio::test]
async fn a_wrong_signature_is_refused_on_the_buyer_side_too() {
    let server = Server::start().await;
    let reply =
        Browser::default().send(&server, "POST", TICKET, Body::empty(), &[("fairgate-edge", "v1")]).await;
    reply.assert_refused(401, "EDGE_SIGNATURE_INVALID");
}

#[tokio::test]
async fn a_signed_request_keeps_the_id_of_the_edge() {
    let server = Server::start().await;
    let reply = signed(&server, "POST", TICKET, "").await;
    assert_eq!((reply.status.as_u16(), reply.header("fairgate-request-id")), (200, Some("edge-7")));
    // What a buyer writes there is not believed.
    let own =
        Browser::default().send(&server, "GET", TICKET, Body::empty(), &[("fairgate-request-id", "x")]).await;
    assert_ne!(own.header("fairgate-request-id"), Some("x"));
}

#[tokio::test]
async fn reports_are_json_with_known_words() {
    let server = Server::start().await;
    for report in
        ["", "{", "[]", r#"{"sessions":[{"event":"drop","epoch":1,"lane":0,"number":-1,"word": "finish"}]}"#]
    {
        signed(&server, "POST", REPORT, report).await.assert_refused(400, "BODY_INVALID");
    }
    signed(&server, "GET", "/v1/edge/events/unknown/ended", "").await.assert_refused(404, "EVENT_UNKNOWN");
    signed(&server, "GET", REPORT, "").await.assert_refused(405, "METHOD_NOT_ALLOWED");
}

#[tokio::test]
async fn edges_are_given_the_configuration_in_force_and_nobody_else_is() {
    let server = Server::start().await;
    let asked = |known: Option<String>| {
        let (method, path_and_query) = ("GET", "/v1/edge/config");
        let request = EdgeRequest { method, path_and_query, client_address: "", body: b"" };
        let signature = server.app.keys.edge().sign_request(&request, server.app.clock.now());
        let request = Request::builder().uri(path_and_query);
        let request = request.header("fairgate-edge", signature).header("fairgate-client-ip", "");
        let request = known.into_iter().fold(request, |request, etag| request.header("if-none-match", etag));
        server.send(request.body(Body::empty()).unwrap())
    };
    let first = asked(None).await;
    let etag = first.header("etag").unwrap().to_owned();
    assert_eq!((first.status.as_u16(), first.header("cache-control")), (200, Some("private, no-store")));
    assert_eq!(asked(Some(etag.clone())).await.status, 304);
    server.app.document.replace(ConfigDocument::new("# another version".to_owned()));
    let second = asked(Some(etag.clone())).await;
    assert_eq!((second.status.as_u16(), second.text()), (200, "# another version"));
    assert_ne!(second.header("etag"), Some(etag.as_str()));

    let unsigned = Request::builder().uri("/v1/edge/config").body(Body::empty()).unwrap();
    server.send(unsigned).await.assert_refused(401, "EDGE_SIGNATURE_INVALID");
}
