//! Hostile requests: each is a clear refusal, and nothing changes.

use crate::fixtures::{
    CART, REDEEM, TICKET, add_to_cart, assert_refused, buyer, item, join, stack_with_capacity, traces,
};
use crate::raw;
use axum::http::Method;
use data_encoding::BASE64URL_NOPAD;
use serde_json::json;
use std::time::Duration;
use tests::device::{Device, Reply};
use tests::stack::Stack;

/// A full shop with one buyer waiting, who is not hostile.
async fn full_shop(name: &'static str) -> (Stack, Device) {
    let stack = stack_with_capacity(name, 1).await;
    assert_eq!(add_to_cart(&mut buyer(&stack, 1)).await.status, 201);
    let mut waiting = buyer(&stack, 2);
    assert_eq!(join(&mut waiting).await.status, 201);
    // What the tests compare stands in snapshots, which are a second old at the server and another one at the edge.
    for _ in 0..100 {
        let snapshot = waiting.get("/.fairgate/events/drop").await.unwrap().json();
        if snapshot["lanes"][0]["nextNumber"] == 3 {
            return (stack, waiting);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the edge never heard of the second join");
}

async fn poll_with(device: &mut Device, ticket: &str) -> Reply {
    let request = device.request(Method::GET, TICKET).header("authorization", format!("Ticket {ticket}"));
    device.send(request).await.unwrap()
}

#[tokio::test]
async fn made_up_tickets_are_refused() {
    let (stack, waiting) = full_shop("hostile-tickets").await;
    let before = traces(&stack).await;
    let good = waiting.cookies["fg-ticket-drop"].clone();
    let mut foreign = buyer(&stack, 3);
    foreign.host = format!("beta.{}", foreign.host);
    let foreign = foreign.post("/.fairgate/events/beta-drop/ticket", &json!({})).await.unwrap().json();
    let changed = |byte: usize| {
        let mut bytes = BASE64URL_NOPAD.decode(good.as_bytes()).unwrap();
        bytes[byte] ^= 1;
        BASE64URL_NOPAD.encode(&bytes)
    };
    let mut tickets: Vec<String> = (0..47).map(changed).collect();
    tickets.extend([
        "A".repeat(84),
        good[..83].to_owned(),
        good[..10].to_owned(),
        format!("{good}A"),
        format!("{good}=="),
        good.replace(['-', '_'], "+"),
        foreign["ticket"].as_str().unwrap().to_owned(),
        "x".repeat(5_000),
    ]);
    tickets.retain(|ticket| *ticket != good);
    for ticket in &tickets {
        // Each from a device of its own, so that no limit speaks first.
        let mut forger = buyer(&stack, 4);
        assert_refused(&poll_with(&mut forger, ticket).await, 400, "TICKET_INVALID");
        let redeemed = forger.post_with_ticket(REDEEM, ticket).await.unwrap();
        assert_refused(&redeemed, 400, "TICKET_INVALID");
    }
    assert_eq!(traces(&stack).await, before);
}

#[tokio::test]
async fn a_ticket_signed_with_only_the_edges_key_holds_no_place() {
    let (stack, waiting) = full_shop("hostile-edge-key").await;
    let before = traces(&stack).await;
    // The last 16 bytes are the queue server's own tag: without them stands what a stolen edge key can sign.
    let mut bytes = BASE64URL_NOPAD.decode(waiting.cookies["fg-ticket-drop"].as_bytes()).unwrap();
    bytes[47..].fill(7);
    let half_signed = BASE64URL_NOPAD.encode(&bytes);
    let mut thief = buyer(&stack, 4);
    assert_eq!(poll_with(&mut thief, &half_signed).await.status, 200, "a poll shows only what is public");
    assert_refused(&thief.post_with_ticket(REDEEM, &half_signed).await.unwrap(), 400, "TICKET_INVALID");
    assert_eq!(traces(&stack).await, before);
}

#[tokio::test]
async fn foreign_and_oversized_cookies_hide_nothing() {
    let (stack, waiting) = full_shop("hostile-cookies").await;
    let before = traces(&stack).await;
    let ticket = &waiting.cookies["fg-ticket-drop"];
    let device = &waiting.cookies["fg-device"];
    let mut foreign: Vec<String> = (0..20).map(|nth| format!("other{nth}=value{nth}")).collect();
    foreign.extend(["broken".to_owned(), "=".to_owned(), "fg-ticket-drop=forged".to_owned()]);
    let header = format!("{}; fg-ticket-drop={ticket}; fg-device={device}", foreign.join("; "));
    let mut anybody = buyer(&stack, 2);
    let poll = anybody.request(Method::GET, TICKET).header("cookie", header);
    let status = anybody.send(poll).await.unwrap();
    assert_eq!((status.status, &status.json()["state"]), (200, &json!("waiting")));

    let huge = format!("a={}; fg-ticket-drop={ticket}", "x".repeat(64 * 1024));
    for (method, path) in [(Method::GET, TICKET), (Method::POST, REDEEM), (Method::POST, CART)] {
        let request = anybody.request(method, path).header("cookie", &huge).json(&item("A-1"));
        assert_refused(&anybody.send(request).await.unwrap(), 431, "HEADERS_TOO_LARGE");
    }
    let megabyte = format!(
        "POST {CART} HTTP/1.1\r\nHost: {}\r\nX-Huge: {}\r\nContent-Length: 0\r\n\r\n",
        anybody.host,
        "x".repeat(1 << 20)
    );
    let (status, _) = raw::exchange(stack.edge.address, megabyte.as_bytes()).await;
    assert!(!(200..300).contains(&status), "{status}");
    assert_eq!(traces(&stack).await, before);
}

#[tokio::test]
async fn cookies_are_read_from_every_line_and_behind_forged_ones() {
    let (stack, waiting) = full_shop("hostile-cookie-lines").await;
    let ticket = &waiting.cookies["fg-ticket-drop"];
    let host = format!("localhost:{}", stack.edge.address.port());
    let forged = format!("fg-ticket-drop={}; ", "A".repeat(84)).repeat(100);
    for cookies in [
        format!("Cookie: a=1; b=2\r\nCookie: fg-ticket-drop={ticket}"),
        format!("Cookie: fg-ticket-drop={ticket}\r\nCookie: a=1"),
        format!("Cookie: {forged}fg-ticket-drop={ticket}"),
    ] {
        let request =
            format!("GET {TICKET} HTTP/1.1\r\nHost: {host}\r\n{cookies}\r\nConnection: close\r\n\r\n");
        let (status, answer) = raw::exchange(stack.edge.address, request.as_bytes()).await;
        assert_eq!(status, 200, "{answer}");
    }
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_not_waited_for() {
    let (stack, _waiting) = full_shop("hostile-slow").await;
    let before = traces(&stack).await;
    let host = format!("localhost:{}", stack.edge.address.port());
    let half = |path: &str| {
        let mut request = raw::post(&host, path, r#"{"sku":"A-1","quantity":1}"#);
        request.truncate(request.len() - 10);
        request
    };
    let (cart, ticket) = (half(CART), half(TICKET));
    let (cart, ticket) = tokio::join!(
        raw::answer_to_half(stack.edge.address, &cart, "\"BODY_TIMEOUT\""),
        raw::answer_to_half(stack.edge.address, &ticket, "\"BODY_TIMEOUT\""),
    );
    for answer in [cart, ticket] {
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("\"BODY_TIMEOUT\""), "{answer}");
    }
    assert_eq!(traces(&stack).await, before);
}

#[tokio::test]
async fn a_link_to_the_waiting_page_puts_no_words_in_our_mouth() {
    let (stack, _waiting) = full_shop("hostile-link").await;
    let page = async |reason: &str| {
        let reply = buyer(&stack, 5).get(&format!("/.fairgate/wait/drop?reason={reason}")).await.unwrap();
        assert_eq!(reply.status, 200);
        String::from_utf8_lossy(&reply.body).into_owned()
    };
    for reason in ["EVENT_CLOSED", "OUT_OF_STOCK", "TURN_EXPIRED", "ORIGIN_NOT_ALLOWED", "ROOM_FULL"] {
        assert!(page(reason).await.contains("data-mode=\"outside\""), "{reason}");
    }
    assert!(page("RATE_LIMITED").await.contains("<p id=\"notice\">You are going a little"));
}

#[tokio::test]
async fn bodies_that_could_be_read_in_two_ways_are_refused() {
    let (stack, _waiting) = full_shop("hostile-bodies").await;
    let before = traces(&stack).await;
    let long = format!(r#"{{"sku":"A-3","note":"{}"}}"#, "x".repeat(17_000));
    let broken_far_behind = format!(r#"{{"sku":"A-3","note":{}1}}"#, "[".repeat(100));
    let json_bodies: [(&str, u16, &str); 12] = [
        ("", 400, "BODY_INVALID"),
        ("{", 400, "BODY_INVALID"),
        ("{\"sku\":\"A-3\"} x", 400, "BODY_INVALID"),
        (r#"{"sku":"A-3","sku":"A-1"}"#, 400, "BODY_AMBIGUOUS"),
        (r#"{"quantity":1}"#, 400, "SKU_MISSING"),
        (r#"{"sku":7}"#, 400, "SKU_NOT_TEXT"),
        (r#"{"sku":["A-3"]}"#, 400, "SKU_NOT_TEXT"),
        (r#"{"sku":""}"#, 400, "SKU_INVALID"),
        (r#"{"sku":"A-1\u0000"}"#, 400, "SKU_INVALID"),
        (&format!(r#"{{"sku":"{}"}}"#, "A".repeat(65)), 400, "SKU_TOO_LONG"),
        (&broken_far_behind, 400, "BODY_INVALID"),
        (&long, 413, "BODY_TOO_LARGE"),
    ];
    for (nth, (body, status, code)) in (10..).zip(json_bodies) {
        let mut device = buyer(&stack, nth);
        let request = device.request(Method::POST, CART).header("content-type", "application/json");
        let reply = device.send(request.body(body.to_owned())).await.unwrap();
        assert_refused(&reply, status, code);
    }
    let headers = [
        ("content-type", "text/plain", 415, "CONTENT_TYPE_UNSUPPORTED"),
        ("content-type", "application/json; charset=utf-16", 415, "CONTENT_TYPE_UNSUPPORTED"),
        ("content-encoding", "gzip", 415, "BODY_COMPRESSED"),
    ];
    for (nth, (name, value, status, code)) in (30..).zip(headers) {
        let mut device = buyer(&stack, nth);
        let mut request = device.request(Method::POST, CART).header(name, value);
        if name != "content-type" {
            request = request.header("content-type", "application/json");
        }
        let reply = device.send(request.body(r#"{"sku":"A-3"}"#)).await.unwrap();
        assert_refused(&reply, status, code);
    }
    assert_eq!(traces(&stack).await, before);
}

#[tokio::test]
async fn bad_calls_to_the_line_change_nothing() {
    let (stack, _waiting) = full_shop("hostile-calls").await;
    let before = traces(&stack).await;
    let mut device = buyer(&stack, 10);
    let gzipped = device.request(Method::POST, TICKET).header("content-encoding", "gzip").json(&json!({}));
    assert_refused(&device.send(gzipped).await.unwrap(), 415, "BODY_COMPRESSED");
    for (body, status) in [("{", 400), ("[]", 400), ("\"x\"", 400), (&*"x".repeat(17_000), 413)] {
        let request = device.request(Method::POST, TICKET).header("content-type", "application/json");
        let reply = device.send(request.body(body.to_owned())).await.unwrap();
        assert_eq!(reply.status, status, "{}", reply.code());
        assert!(!reply.code().is_empty());
    }
    let mut device = buyer(&stack, 11);
    let unknown = [
        format!("/.fairgate/events/{}/ticket", "x".repeat(1_000)),
        "/.fairgate/events/nothing/ticket".to_owned(),
        "/.fairgate/events/beta-drop/ticket".to_owned(),
        "/.fairgate/nothing".to_owned(),
    ];
    for path in &unknown {
        let reply = device.post(path, &json!({})).await.unwrap();
        assert!(
            matches!(reply.code().as_str(), "EVENT_UNKNOWN" | "ROUTE_UNKNOWN"),
            "{path}: {}",
            reply.code()
        );
        assert_eq!(reply.status, 404, "{path}");
    }
    let reply = device.send(device.request(Method::PATCH, TICKET)).await.unwrap();
    assert_refused(&reply, 405, "METHOD_NOT_ALLOWED");
    assert!(reply.header("allow").is_some());
    device.host = "elsewhere.example".to_owned();
    assert_refused(&device.get("/").await.unwrap(), 421, "HOST_UNKNOWN");
    assert_eq!(traces(&stack).await, before);
}

#[tokio::test]
async fn only_an_edge_may_make_the_calls_of_an_edge() {
    let (stack, _waiting) = full_shop("hostile-edge-calls").await;
    let before = traces(&stack).await;
    let server = stack.queue_server.url();
    let report =
        json!({ "sessions": [{ "event": "drop", "epoch": 1, "lane": 0, "number": 1, "word": "finish" }] });
    for signature in ["", "v1;kid=1;t=1;sig=AAAA", "v1;kid=99999999999999999999;t=-1;sig="] {
        let request = stack.client.post(format!("{server}/v1/edge/report")).json(&report);
        let reply = request.header("fairgate-edge", signature).send().await.unwrap();
        assert_eq!(reply.status(), 401, "{signature}");
        let url = format!("{server}/v1/edge/events/drop/ended?after=99999999999999999999");
        let reply = stack.client.get(url).header("fairgate-edge", signature).send().await.unwrap();
        assert_eq!(reply.status(), 401, "{signature}");
    }
    // Nor does the edge hand such calls on.
    let mut device = buyer(&stack, 10);
    let reply = device.post("/v1/edge/report", &report).await.unwrap();
    assert!(reply.status == 404, "{}", reply.status);
    assert_eq!(traces(&stack).await, before);
}

#[tokio::test]
async fn no_spelling_of_a_gated_path_passes_the_gate() {
    let (stack, _waiting) = full_shop("hostile-paths").await;
    let before = traces(&stack).await;
    let spellings = [
        "//api/cart/items",
        "/api//cart/items",
        "/api/cart/items/",
        "/api/cart/items//",
        "/API/cart/items",
        "/api/Cart/Items",
        "/api/%63art/items",
        "/api/cart/item%73",
        "/api%2Fcart%2Fitems",
        "/api/cart%2fitems",
        "/api/%2563art/items",
        "/./api/cart/items",
        "/x/../api/cart/items",
        "/x/%2e%2e/api/cart/items",
        "/api/cart/items?sku=A-3",
        "/api/cart/items;x=1",
        "/api\\cart\\items",
        "/api/cart/items%00",
        "/api/cart/items%20",
        "/api/cart/%FFitems",
        "/api/cart/items%",
    ];
    let host = format!("localhost:{}", stack.edge.address.port());
    for path in spellings {
        let request = raw::post(&host, path, r#"{"sku":"A-1","quantity":1}"#);
        let (status, answer) = raw::exchange(stack.edge.address, &request).await;
        assert!(!(200..300).contains(&status), "{path}: {answer}");
        assert_eq!(stack.shop.log().len(), before.1, "{path} reached the cart");
    }
    assert_eq!(traces(&stack).await, before);
}
