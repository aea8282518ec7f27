//! Requests made to break something: each is refused with a clear reason, and the room stays as it was.

use crate::browser::{Browser, REDEEM, RENEW, Server, TICKET, event, fill};
use axum::body::Body;
use shared::{
    ids::EventId,
    token::{MasterKeys, ServerKeys},
};

/// What nothing hostile may change.
async fn standing(server: &Server) -> (u64, u32) {
    let facts = server.room().store.expire().await.unwrap();
    (facts.lanes[0].next_number.0, facts.sessions)
}

fn hostile_tickets(server: &Server, good: &str) -> Vec<(&'static str, String)> {
    let keys = &server.app.keys;
    let ticket = keys.open_ticket(good, &event()).unwrap();
    let sealed = |keys: &ServerKeys, event: &str| {
        keys.seal_ticket(&EventId::parse(event).unwrap(), &ticket).unwrap().into_string()
    };
    let foreign_keys = ServerKeys::new(&MasterKeys::first([8; 32]));
    let changed = |at: usize| {
        let mut text = good.as_bytes().to_vec();
        text[at] = if text[at] == b'A' { b'B' } else { b'A' };
        String::from_utf8(text).unwrap()
    };
    // Characters 63 to 83 hold the server's tag: what somebody with only the edge's key would have to guess.
    assert!(keys.edge().open_ticket(&changed(70), &event()).is_ok());
    vec![
        ("truncated", good[..83].to_owned()),
        ("longer", format!("{good}A")),
        ("of another event", sealed(keys, "beta-drop")),
        ("signed by another installation", sealed(&foreign_keys, "drop")),
        ("with a guessed server tag", changed(70)),
        ("with a changed number", changed(20)),
        ("under an unknown key", changed(2)),
        ("in lower case", good.to_lowercase()),
        ("enormous", "A".repeat(20_000)),
    ]
}

#[tokio::test]
async fn hostile_tickets_are_invalid_and_change_nothing() {
    let server = Server::start().await;
    fill(&server).await;
    let mut buyer = Browser::default();
    buyer.post(&server, TICKET).await;
    server.call_next().await;
    let before = standing(&server).await;
    for (what, ticket) in hostile_tickets(&server, buyer.ticket()) {
        for (method, path) in [("GET", TICKET), ("DELETE", TICKET), ("POST", REDEEM), ("POST", RENEW)] {
            let mut thief = Browser::default();
            thief.cookies.insert("fg-ticket-drop".to_owned(), ticket.clone());
            let by_cookie = thief.send(&server, method, path, Body::empty(), &[]).await;
            assert_eq!(
                by_cookie.refusal(),
                (400, "TICKET_INVALID".to_owned()),
                "a ticket {what}: {method} {path}"
            );
            let header = format!("Ticket {ticket}");
            let by_header = Browser::default()
                .send(&server, method, path, Body::empty(), &[("authorization", &header)])
                .await;
            assert_eq!(by_header.refusal().1, "TICKET_INVALID", "a ticket {what}: {method} {path}");
        }
    }
    assert_eq!(standing(&server).await, before);
}

#[tokio::test]
async fn the_first_ticket_that_verifies_counts() {
    let server = Server::start().await;
    fill(&server).await;
    let mut buyer = Browser::default();
    buyer.post(&server, TICKET).await;
    let foreign = "other=x; ".repeat(20);
    let cookies = format!("{foreign}fg-ticket-drop=broken; fg-ticket-drop={}", buyer.ticket());
    let reply = Browser::default().send(&server, "GET", TICKET, Body::empty(), &[("cookie", &cookies)]).await;
    assert_eq!(reply.json()["ticketNumber"], 3);
}

#[tokio::test]
async fn a_broken_ticket_does_not_keep_anybody_from_joining() {
    let server = Server::start().await;
    let mut buyer = Browser::default();
    buyer.cookies.insert("fg-ticket-drop".to_owned(), "broken".to_owned());
    buyer.cookies.insert("fg-device".to_owned(), "A".repeat(46));
    assert_eq!(buyer.post(&server, TICKET).await.status, 200);
    assert_eq!(buyer.ticket().len(), 84);
}

#[tokio::test]
async fn bodies_are_what_they_say() {
    let server = Server::start().await;
    let before = standing(&server).await;
    let cases: [(&str, &[u8], u16, &str); 9] = [
        ("application/json", b"{", 400, "BODY_INVALID"),
        ("application/json", b"[]", 400, "BODY_INVALID"),
        ("application/json", b"{\"proof\":\"\xff\"}", 400, "BODY_NOT_UTF8"),
        ("application/json", b"{\"proof\":1e999}", 400, "BODY_INVALID"),
        ("application/json", b"{\"proof\":18446744073709551616}", 400, "PROOF_INVALID"),
        ("application/json; charset=utf-16", b"{}", 415, "CONTENT_TYPE_UNSUPPORTED"),
        ("text/plain", b"{}", 415, "CONTENT_TYPE_UNSUPPORTED"),
        ("multipart/form-data; boundary=x", b"--x--", 415, "CONTENT_TYPE_UNSUPPORTED"),
        ("", b"{}", 415, "CONTENT_TYPE_UNSUPPORTED"),
    ];
    for (content_type, body, status, code) in cases {
        let fields = [("content-type", content_type)];
        let reply = Browser::default().send(&server, "POST", TICKET, Body::from(body), &fields).await;
        assert_eq!(reply.refusal(), (status, code.to_owned()), "{content_type} {body:?}");
    }
    let compressed = [("content-type", "application/json"), ("content-encoding", "gzip")];
    let reply = Browser::default().send(&server, "POST", TICKET, Body::from("x"), &compressed).await;
    reply.assert_refused(415, "BODY_COMPRESSED");
    let twice = [("content-encoding", "identity"), ("content-encoding", "gzip")];
    let reply = Browser::default().send(&server, "POST", TICKET, Body::from("{}"), &twice).await;
    reply.assert_refused(415, "BODY_COMPRESSED");
    assert_eq!(standing(&server).await, before);
    let plain = [("content-type", "application/json"), ("content-encoding", "identity")];
    assert_eq!(Browser::default().send(&server, "POST", TICKET, Body::from("{}"), &plain).await.status, 200);
}

#[tokio::test]
async fn paths_are_read_in_one_way_or_refused() {
    let server = Server::start().await;
    let cases = [
        ("GET", "/.fairgate/events/unknown", 404, "EVENT_UNKNOWN"),
        ("GET", "/.fairgate/nothing", 404, "ROUTE_UNKNOWN"),
        ("GET", "/elsewhere", 404, "ROUTE_UNKNOWN"),
        ("PUT", TICKET, 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/.fairgate/events/drop%zz", 400, "PATH_INVALID"),
    ];
    for (method, path, status, code) in cases {
        let reply = Browser::default().send(&server, method, path, Body::empty(), &[]).await;
        assert_eq!(reply.refusal(), (status, code.to_owned()), "{method} {path}");
    }
    for path in ["//.fairgate//events/drop", "/.fairgate/events/%64rop/", "/.fairgate/./events/drop"] {
        assert_eq!(Browser::default().get(&server, path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn another_site_cannot_act_for_a_buyer() {
    let server = Server::start().await;
    let [mut buyer, _] = fill(&server).await;
    for (method, path) in [("POST", TICKET), ("DELETE", TICKET), ("POST", REDEEM), ("POST", RENEW)] {
        let fields = [("origin", "https://evil.example")];
        let reply = buyer.send(&server, method, path, Body::empty(), &fields).await;
        reply.assert_refused(403, "ORIGIN_NOT_ALLOWED");
    }
    let own = [("origin", "http://localhost:8700")];
    assert_eq!(buyer.send(&server, "POST", RENEW, Body::empty(), &own).await.status, 200);
    let preflight = Browser::default()
        .send(&server, "OPTIONS", TICKET, Body::empty(), &[("origin", "https://evil.example")])
        .await;
    assert_eq!(preflight.header("access-control-allow-origin"), None);
}
