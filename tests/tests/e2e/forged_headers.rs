//! Fairgate's headers cannot be forged, neither by a buyer towards the shop nor by the shop towards a buyer; and CORS.

use crate::fixtures::{CART, TICKET, add_to_cart, buyer, item, stack, stack_with_capacity};
use crate::raw;
use axum::Json;
use axum::Router;
use axum::http::{HeaderMap, Method};
use axum::response::IntoResponse;
use serde_json::{Map, Value, json};
use std::net::Ipv4Addr;
use tests::stack::{Setup, Stack};
use tokio::net::TcpListener;

/// A stack whose shop answers with the headers it was sent, and tries to set Fairgate's own.
async fn echoing() -> Stack {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let mut setup = Setup::demo("forged").unwrap();
    setup.origin = Some(listener.local_addr().unwrap());
    let router = Router::new().fallback(echo);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Stack::start(setup).await.unwrap()
}

async fn echo(headers: HeaderMap) -> impl IntoResponse {
    let mut seen = Map::new();
    for name in headers.keys() {
        let values = headers.get_all(name).iter().map(|value| json!(value.to_str().unwrap()));
        seen.insert(name.to_string(), values.collect());
    }
    let forged = [("fairgate-session", "extend"), ("fairgate-made-up", "1"), ("x-shop", "kept")];
    (forged, Json(Value::Object(seen)))
}

#[tokio::test]
async fn what_a_buyer_forges_never_reaches_the_shop() {
    let stack = echoing().await;
    let mut device = buyer(&stack, 1);
    let forged = device
        .request(Method::GET, "/p/A-1")
        .header("fairgate-pass", "forged")
        .header("Fairgate-Pass", "forged twice")
        .header("fairgate-request-id", "forged")
        .header("fairgate-edge", "v1;kid=1;t=1;sig=forged")
        .header("fairgate-client-ip", "192.0.2.1")
        .header("x-forwarded-host", "beta.localhost")
        .header("x-forwarded-proto", "https");
    let reply = device.send(forged).await.unwrap();
    let seen = reply.json();
    for name in ["fairgate-pass", "fairgate-edge", "fairgate-client-ip"] {
        assert!(seen[name].is_null(), "{name}: {seen}");
    }
    assert_ne!(seen["fairgate-request-id"], json!(["forged"]));
    assert_eq!(seen["fairgate-request-id"].as_array().map(Vec::len), Some(1), "{seen}");
    assert_eq!(seen["x-forwarded-host"], json!([device.host]));
    assert_eq!(seen["x-forwarded-proto"], json!(["http"]));
    assert_eq!(seen["x-forwarded-for"], json!([device.address.to_string()]));

    assert_eq!(reply.header("x-shop"), Some("kept"));
    for name in ["fairgate-session", "fairgate-made-up"] {
        assert!(reply.header(name).is_none(), "{name} of the shop reaches the buyer");
    }
}

#[tokio::test]
async fn what_a_shop_might_route_by_never_reaches_it() {
    let stack = echoing().await;
    let mut device = buyer(&stack, 1);
    let names = [
        "x-original-url",
        "x-rewrite-url",
        "x-original-method",
        "x-forwarded-prefix",
        "x_forwarded_for",
        "x_forwarded_host",
        "x_original_url",
        "x_http_method_override",
        "content_type",
        "fairgate_pass",
    ];
    let mut request = device.request(Method::POST, CART).json(&item("A-1"));
    for name in names {
        request = request.header(name, "/api/cart/items");
    }
    let seen = device.send(request).await.unwrap().json();
    for name in names {
        assert!(seen[name].is_null(), "{name}: {seen}");
    }
    assert_eq!(seen["content-type"], json!(["application/json"]));
}

#[tokio::test]
async fn the_shop_is_told_the_host_that_the_gate_read() {
    let stack = echoing().await;
    let port = stack.edge.address.port();
    let spellings = [
        (format!("BETA.localhost:{port}"), "beta.localhost"),
        (format!("beta.localhost.:{port}"), "beta.localhost"),
        (format!("localhost:0{port}"), "localhost"),
        (format!("LOCALHOST.:00{port}"), "localhost"),
    ];
    for (spelling, host) in spellings {
        let request = format!("GET /p HTTP/1.1\r\nHost: {spelling}\r\nConnection: close\r\n\r\n");
        let (status, answer) = raw::exchange(stack.edge.address, request.as_bytes()).await;
        // A spelling that the runtime itself refuses never reaches the shop.
        if status == 200 {
            let told = format!("\"x-forwarded-host\":[\"{host}:{port}\"]");
            assert!(answer.contains(&told), "{spelling}: {answer}");
            assert!(!answer.contains(&format!("\"{spelling}\"")), "{spelling}: {answer}");
        } else {
            assert_eq!(status, 400, "{spelling}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_body_that_means_nothing_is_left_behind() {
    let stack = echoing().await;
    let host = format!("localhost:{}", stack.edge.address.port());
    for method in ["GET", "HEAD"] {
        for (length, body) in [(0, ""), (5, "hello")] {
            let request = format!(
                "{method} /p HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            let (status, answer) = raw::exchange(stack.edge.address, request.as_bytes()).await;
            assert_eq!(status, 200, "{method} with {length} bytes: {answer}");
        }
    }
}

#[tokio::test]
async fn a_gated_request_carries_the_edges_pass_alone() {
    let stack = echoing().await;
    let mut device = buyer(&stack, 1);
    let forged = device.request(Method::POST, CART).header("fairgate-pass", "forged").json(&item("A-1"));
    let seen = device.send(forged).await.unwrap().json();
    let passes = seen["fairgate-pass"].as_array().unwrap();
    assert_eq!(passes.len(), 1);
    assert_eq!(tests::device::jti_of(passes[0].as_str().unwrap()), device.pass_jti("drop"));
}

#[tokio::test]
async fn a_forged_pass_cookie_opens_nothing() {
    let stack = stack_with_capacity("forged", 1).await;
    let mut inside = buyer(&stack, 1);
    assert_eq!(add_to_cart(&mut inside).await.status, 201);
    let good = inside.cookies["fg-pass-drop"].clone();
    let mut outside = buyer(&stack, 2);
    let (tag, token) = good.split_once('.').unwrap();
    let last = if good.ends_with('A') { "B" } else { "A" };
    for forged in
        [token.to_owned(), format!("{tag}."), format!("{}{last}", &good[..good.len() - 1]), "x".repeat(4_000)]
    {
        outside.cookies.insert("fg-pass-drop".to_owned(), forged);
        assert_eq!(add_to_cart(&mut outside).await.status, 429);
    }
    assert_eq!(stack.shop.log().len(), 1);
}

#[tokio::test]
async fn only_named_origins_may_call_from_a_page() {
    let friend = "https://app.example";
    let stack = stack("cors", |config| config.shop("alpha", "allowed_origins", vec![friend]).unwrap()).await;
    let mut device = buyer(&stack, 1);
    let preflight = device
        .request(Method::OPTIONS, TICKET)
        .header("origin", friend)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type");
    let reply = device.send(preflight).await.unwrap();
    assert!(reply.status < 300, "{}", reply.status);
    assert_eq!(reply.header("access-control-allow-origin"), Some(friend));
    assert_eq!(reply.header("access-control-allow-credentials"), Some("true"));
    assert_eq!(reply.header("cache-control"), Some("private, no-store"));

    let join = device.request(Method::POST, TICKET).header("origin", friend).json(&json!({}));
    let reply = device.send(join).await.unwrap();
    assert!(reply.status < 300, "{}", reply.code());
    assert_eq!(reply.header("access-control-allow-origin"), Some(friend));
    let exposed = reply.header("access-control-expose-headers").unwrap().to_ascii_lowercase();
    assert!(exposed.contains("retry-after") && exposed.contains("ratelimit"), "{exposed}");

    let stranger =
        device.request(Method::POST, TICKET).header("origin", "https://evil.example").json(&json!({}));
    let reply = device.send(stranger).await.unwrap();
    assert_eq!((reply.status, reply.code().as_str()), (403, "ORIGIN_NOT_ALLOWED"));
    assert!(reply.header("access-control-allow-origin").is_none());
}

#[tokio::test]
async fn a_form_of_another_site_takes_no_seat_for_its_visitors() {
    let stack = stack_with_capacity("foreign-form", 1).await;
    let mut visitor = buyer(&stack, 1);
    let form = visitor.request(Method::POST, "/cart/items").body("sku=A-1&quantity=1");
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let form = form.header("sec-fetch-mode", "navigate").header("accept", "text/html");
    let page = visitor.send(form.header("origin", "https://evil.example")).await.unwrap();
    assert_eq!(page.status, 503);
    assert!(
        page.header("content-type").unwrap().starts_with("text/html"),
        "the page, where the visitor may join"
    );
    assert!(!visitor.cookies.contains_key("fg-ticket-drop"));
    assert_eq!(add_to_cart(&mut buyer(&stack, 2)).await.status, 201, "the only seat is free");
}
