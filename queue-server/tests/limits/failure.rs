//! A store on another machine that fails: a budget, a breaker, and what each policy says for the case.

use crate::server::{Breakable, CONFIG, Fault, Server, of_device};
use queue_server::limits::{Home, LimitStoreError};
use serde_json::json;
use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::{Duration, Instant},
};

fn start() -> (Server, Arc<Breakable>) {
    start_one_of(1)
}

/// One of so many servers that share a store.
fn start_one_of(servers: u64) -> (Server, Arc<Breakable>) {
    let made = Mutex::new(None);
    let server = Server::with(CONFIG, |local, clock| {
        let store = Breakable::new(clock.clone());
        *made.lock().unwrap() = Some(Arc::clone(&store));
        Home::remote(store, servers, local, clock)
    });
    let store = made.into_inner().unwrap().unwrap();
    (server, store)
}

const AWAY: Fault = Fault::Error(LimitStoreError::Unavailable);

#[tokio::test]
async fn the_local_limiter_that_takes_over_is_warm() {
    let (server, store) = start();
    assert!(server.passes("device", "a", 8).await);
    store.break_with(Some(AWAY));
    assert!(!server.passes("device", "a", 8).await, "no fresh quota at the switch");
    assert!(server.passes("device", "a", 2).await);
    let result = &server.check_all(vec![of_device("device", "a", 1)]).await[0];
    assert_eq!((&result["allowed"], &result["decidedBy"]), (&json!(false), &json!("fallback")));
    assert_eq!(result["rememberUs"], 0, "the store may know better in a moment");
}

#[tokio::test]
async fn one_of_several_servers_lets_pass_its_share() {
    let (server, store) = start_one_of(4);
    store.break_with(Some(AWAY));
    let mut passed = 0;
    for _ in 0..10 {
        passed += u32::from(server.passes("device", "a", 1).await);
    }
    assert_eq!(passed, 2, "4 servers together let pass 8 of 10");
    assert!(server.passes("device", "b", 10).await, "what the policy lets pass at once is not impossible");
    assert!(!server.passes("device", "c", 11).await);
}

#[tokio::test]
async fn each_policy_says_what_holds_without_its_store() {
    let (server, store) = start();
    store.break_with(Some(AWAY));
    for _ in 0..12 {
        assert!(server.passes("open", "a", 10).await);
    }
    server.check(of_device("closed", "a", 1)).await.assert_refused(503, "LIMITER_UNAVAILABLE");
    let both =
        json!({ "shop": "alpha", "policies": ["device", "closed"], "keys": { "device": "a" }, "cost": 10 });
    server.check(both).await.assert_refused(503, "LIMITER_UNAVAILABLE");
    assert!(server.passes("device", "a", 10).await, "where one is closed nothing is taken");
    let metrics = server.metrics().await;
    assert!(metrics.contains("fairgate_limit_store_up 0"), "{metrics}");
    assert!(metrics.contains(r#"fairgate_limit_decisions_total{policy="open",outcome="undecided"} 12"#));
}

#[tokio::test]
async fn a_black_hole_costs_the_budget_a_few_times_and_then_nothing() {
    let (server, store) = start();
    store.break_with(Some(Fault::BlackHole));
    let start = Instant::now();
    for _ in 0..200 {
        server.passes("device", "a", 0).await;
    }
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(store.calls.load(Ordering::SeqCst), 5, "then the breaker is open");
    store.break_with(None);
    server.advance_ms(250);
    let result = &server.check_all(vec![of_device("device", "a", 1)]).await[0];
    assert_eq!(result["decidedBy"], "store", "one probe, and it closes");
    assert!(server.metrics().await.contains("fairgate_limit_store_up 1"));
}

#[tokio::test]
async fn a_refusal_is_no_failure() {
    let (server, store) = start();
    assert!(server.passes("device", "a", 10).await);
    for _ in 0..20 {
        let result = &server.check_all(vec![of_device("device", "a", 1)]).await[0];
        assert_eq!((&result["allowed"], &result["decidedBy"]), (&json!(false), &json!("store")));
    }
    assert_eq!(store.calls.load(Ordering::SeqCst), 21);
}

#[tokio::test]
async fn a_store_that_is_set_up_wrong_lets_nothing_pass() {
    let (server, store) = start();
    store.break_with(Some(Fault::Error(LimitStoreError::Misconfigured("CROSSSLOT".to_owned()))));
    for policy in ["device", "open", "closed"] {
        server.check(of_device(policy, "a", 1)).await.assert_refused(503, "MISCONFIGURED");
    }
}

#[tokio::test]
async fn off_calls_no_store() {
    let (server, store) = start();
    assert!(server.passes("off", "a", 1).await);
    assert_eq!(store.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_the_store_took_is_given_back_to_the_store() {
    let (server, store) = start();
    let receipt = server.check_all(vec![of_device("device", "a", 10)]).await[0]["receipt"].clone();
    store.break_with(Some(AWAY));
    let refund = json!({ "receipts": [receipt] });
    let lost = server.call(&server.check_key, "POST", "/v1/limits/refund", Some(refund)).await;
    lost.assert_refused(503, "LIMITER_UNAVAILABLE");
    store.break_with(None);
    assert!(!server.passes("device", "a", 1).await, "nothing is invented");
}
