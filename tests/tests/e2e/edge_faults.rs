//! What stands between edge and queue server: a server that is away, clocks or keys that differ, and what the edge knows by itself.

use crate::fixtures::{TICKET, add_to_cart, assert_refused, buyer, join, stack_with_capacity};
use axum::http::Method;
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tests::device::Reply;
use tests::stack::config::{Addresses, DemoConfig};
use tests::stack::edge::{Edge, EdgeSetup, edge_keys};
use tests::stack::programs::Programs;
use tests::stack::{Setup, Stack, free_addresses};
use tokio::net::TcpListener;

async fn metrics(stack: &Stack) -> String {
    let url = format!("{}/metrics", stack.queue_server.url());
    stack.client.get(url).send().await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn a_session_that_ended_while_the_server_was_away_is_told_when_it_is_back() {
    let mut stack = stack_with_capacity("finish-later", 1).await;
    let mut first = buyer(&stack, 1);
    assert_eq!(add_to_cart(&mut first).await.status, 201);
    stack.queue_server.kill();
    assert_eq!(first.post("/api/checkout", &json!({})).await.unwrap().status, 200);
    stack.queue_server.restart().await.unwrap();
    for _ in 0..TRIES {
        // Any request at all, even one that Fairgate has nothing to do with.
        assert_eq!(buyer(&stack, 2).get("/health").await.unwrap().status, 200);
        if metrics(&stack).await.contains("fairgate_sessions{event=\"drop\"} 0") {
            assert_eq!(add_to_cart(&mut buyer(&stack, 2)).await.status, 201, "the seat is free");
            return;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    panic!("the seat stays taken:\n{}", metrics(&stack).await);
}

#[tokio::test]
async fn a_pass_is_worth_nothing_once_its_place_was_given_up() {
    let stack = stack_with_capacity("given-up", 1).await;
    let mut device = buyer(&stack, 1);
    assert_eq!(add_to_cart(&mut device).await.status, 201);
    // Whoever copied the pass has no more than that.
    let mut kept = buyer(&stack, 2);
    kept.cookies.insert("fg-pass-drop".to_owned(), device.cookies["fg-pass-drop"].clone());
    assert_eq!(device.delete(TICKET).await.unwrap().status, 204);
    // At once: the feed of ended sessions would tell it a second later.
    let before = kept.pass_jti("drop");
    assert_eq!(add_to_cart(&mut kept).await.status, 201, "as a newcomer, by a session of its own");
    assert_ne!(kept.pass_jti("drop"), before);
}

#[tokio::test]
async fn who_looks_at_a_shop_that_is_away_reads_a_page() {
    let mut setup = Setup::demo("shop-away").unwrap();
    // A port where nobody listens.
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    setup.origin = Some(nobody.local_addr().unwrap());
    drop(nobody);
    let stack = Stack::start(setup).await.unwrap();
    let mut device = buyer(&stack, 1);
    assert_refused(&device.get("/").await.unwrap(), 502, "ORIGIN_UNREACHABLE");
    let request = device.request(Method::GET, "/").header("sec-fetch-mode", "navigate");
    let page = device.send(request).await.unwrap();
    assert_eq!(page.status, 502);
    assert!(page.header("content-type").unwrap().starts_with("text/html"), "{:?}", page.headers);
    assert!(String::from_utf8(page.body).unwrap().contains("The shop does not answer right now"));
}

/// An edge beside the first, with keys of another installation.
async fn edge_with_foreign_keys(stack: &Stack) -> Edge {
    let programs = Programs::built().unwrap();
    let [address] = free_addresses().unwrap();
    let mut config = DemoConfig::read().unwrap();
    let queue_server: SocketAddr = stack.queue_server.url()["http://".len()..].parse().unwrap();
    config.place(Addresses { edge: address, queue_server, shop: stack.shop.address }).unwrap();
    config.trust_this_machine().unwrap();
    let keys = edge_keys(&programs.queue_server, &stack.dir.path().join("other")).unwrap();
    let setup = EdgeSetup {
        workerd: programs.workerd,
        bundle: programs.bundle,
        config: config.to_text().unwrap(),
        keys,
        address,
        data_dir: stack.dir.path().join("other-limits"),
        log: stack.dir.path().join("other-edge.log"),
        ready_path: "/health".to_owned(),
    };
    Edge::start(setup).await.unwrap()
}

#[tokio::test]
async fn wrong_keys_of_the_edge_are_a_fault_of_ours_and_not_of_the_buyer() {
    let stack = stack_with_capacity("foreign-keys", 1).await;
    let edge = edge_with_foreign_keys(&stack).await;
    for nth in 0..30 {
        let mut device = buyer(&stack, nth);
        device.edge = edge.address;
        device.host = format!("localhost:{}", edge.address.port());
        assert_refused(&join(&mut device).await, 503, "QUEUE_UNREACHABLE");
    }
    let metrics = metrics(&stack).await;
    let refused =
        metrics.lines().find_map(|line| line.strip_prefix("fairgate_edge_refusals_total{why=\"forged\"} "));
    assert!(refused.unwrap().parse::<u64>().unwrap() >= 30, "{metrics}");
    for (log, told) in
        [("other-edge.log", "EDGE_SIGNATURE_INVALID"), ("queue-server.log", "in an edge's name")]
    {
        let text = std::fs::read_to_string(stack.dir.path().join(log)).unwrap();
        let lines = text.lines().filter(|line| line.contains(told)).count();
        assert!((1..=6).contains(&lines), "{lines} lines for 30 refusals:\n{text}");
    }
}

const TRIES: usize = 40;

#[tokio::test]
async fn who_tries_again_after_a_join_without_an_answer_has_one_place() {
    let stack = stack_with_capacity("lost-join", 1).await;
    assert_eq!(add_to_cart(&mut buyer(&stack, 1)).await.status, 201);
    let mut unlucky = buyer(&stack, 2);
    stack.queue_server.pause().unwrap();
    let lost = join(&mut unlucky).await;
    stack.queue_server.resume().unwrap();
    assert_refused(&lost, 503, "QUEUE_UNREACHABLE");
    let number = |reply: &Reply| reply.json()["ticketNumber"].as_u64().unwrap();
    assert_eq!(number(&join(&mut unlucky).await), 2);
    assert_eq!(number(&join(&mut buyer(&stack, 3)).await), 3, "no number was drawn for nobody");
}
