//! Permits: at most so many at once, and callers who wait for one.

use crate::server::Server;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{sync::mpsc, task::JoinHandle};

fn export(wait: Option<(u64, &str)>) -> Value {
    let mut check = json!({ "shop": "alpha", "policies": ["export"], "keys": { "device": "a" } });
    if let Some((ms, order)) = wait {
        check["wait"] = json!({ "ms": ms, "order": order });
    }
    check
}

async fn take(server: &Server, wait: Option<(u64, &str)>) -> Value {
    server.check_all(vec![export(wait)]).await[0].clone()
}

async fn give(server: &Server, permit: &Value) {
    let body = json!({ "receipts": [permit["receipt"]] });
    assert_eq!(server.call(&server.check_key, "POST", "/v1/limits/give", Some(body)).await.status, 204);
}

/// A caller who waits; it tells its name when it has its answer.
fn waiter(
    server: &Arc<Server>,
    name: &'static str,
    order: &'static str,
    told: &mpsc::UnboundedSender<(&'static str, Value)>,
) -> JoinHandle<()> {
    let (server, told) = (Arc::clone(server), told.clone());
    tokio::spawn(async move {
        let result = take(&server, Some((4_000, order))).await;
        let _ = told.send((name, result));
    })
}

/// Lets every other task run until it waits.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_permit_is_given_back_once_and_only_by_its_holder() {
    let server = Server::start();
    let (first, second) = (take(&server, None).await, take(&server, None).await);
    assert_eq!((&first["allowed"], &first["holdsPermit"]), (&json!(true), &json!(true)));
    assert_eq!(second["allowed"], true);
    assert_eq!(take(&server, None).await["allowed"], false);
    give(&server, &first).await;
    give(&server, &first).await;
    assert_eq!(take(&server, None).await["allowed"], true);
    assert_eq!(take(&server, None).await["allowed"], false, "giving twice frees nothing more");
}

#[tokio::test]
async fn a_named_holder_renews_its_permit() {
    let server = Server::start();
    let mut check = export(None);
    check["holder"] = json!("job-7");
    for _ in 0..5 {
        assert_eq!(server.check(check.clone()).await.status, 200);
    }
    assert_eq!(take(&server, None).await["allowed"], true);
    server.advance_ms(30_000);
    assert_eq!(take(&server, None).await["allowed"], true, "permits end by their life");
}

#[tokio::test]
async fn oldest_first_and_newest_first() {
    for (order, expected) in [("oldest_first", ["a", "b", "c"]), ("newest_first", ["c", "b", "a"])] {
        let server = Arc::new(Server::start());
        let held = [take(&server, None).await, take(&server, None).await];
        let (told, mut hear) = mpsc::unbounded_channel();
        for name in ["a", "b", "c"] {
            waiter(&server, name, order, &told);
            settle().await;
        }
        let mut next = held[0].clone();
        for name in expected {
            give(&server, &next).await;
            let (heard, result) = hear.recv().await.unwrap();
            assert_eq!((heard, &result["allowed"]), (name, &json!(true)), "{order}");
            next = result;
        }
    }
}

#[tokio::test]
async fn nobody_passes_by_those_who_wait_and_whoever_goes_away_frees_the_place() {
    let server = Arc::new(Server::start());
    let held = [take(&server, None).await, take(&server, None).await];
    let (told, mut hear) = mpsc::unbounded_channel();
    let gone = waiter(&server, "gone", "oldest_first", &told);
    settle().await;
    waiter(&server, "next", "oldest_first", &told);
    settle().await;
    let late = take(&server, None).await;
    assert_eq!((&late["allowed"], &late["rememberUs"]), (&json!(false), &json!(0)));
    gone.abort();
    let _ = gone.await;
    give(&server, &held[0]).await;
    let (heard, result) = hear.recv().await.unwrap();
    assert_eq!((heard, &result["allowed"]), ("next", &json!(true)));
}

#[tokio::test]
async fn whoever_waits_too_long_is_refused() {
    let server = Server::start();
    let _held = [take(&server, None).await, take(&server, None).await];
    let refused = tokio::time::timeout(Duration::from_secs(3), take(&server, Some((50, "oldest_first"))))
        .await
        .unwrap();
    assert_eq!((&refused["allowed"], &refused["code"]), (&json!(false), &json!("RATE_LIMITED")));
    assert_eq!(take(&server, None).await["allowed"], false);
}
