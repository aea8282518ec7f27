//! Quota of hot keys that a server holds ahead of use, where several share a store.

use crate::server::{Breakable, CONFIG, Fault, Server};
use queue_server::limits::{Home, LimitStoreError};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, atomic::Ordering};

/// So many servers of one store, and it.
fn start(count: usize) -> (Vec<Server>, Arc<Breakable>) {
    let shared: Mutex<Option<Arc<Breakable>>> = Mutex::new(None);
    let server = || {
        Server::with(&format!("{CONFIG}{POLICIES}"), |local, clock| {
            let mut shared = shared.lock().unwrap();
            let store = shared.get_or_insert_with(|| Breakable::new(clock.clone()));
            Home::remote(Arc::clone(store) as _, count.try_into().unwrap(), local, clock)
        })
    };
    let servers = (0..count).map(|_| server()).collect();
    (servers, shared.into_inner().unwrap().unwrap())
}

async fn ask(server: &Server, policy: &str) -> Value {
    let check = json!({ "shop": "alpha", "policies": [policy], "keys": { "sku": "A-1" }, "cost": 1 });
    let told = server.check_all(vec![check]).await.remove(0);
    // Leases are fetched beside the answer.
    tokio::task::yield_now().await;
    told
}

/// How many of so many checks pass, each a millisecond after the last one, at one server after the other.
async fn passed(servers: &[Server], policy: &str, checks: usize) -> u32 {
    let mut passed = 0;
    for nth in 0..checks {
        passed += u32::from(ask(&servers[nth % servers.len()], policy).await["allowed"] == true);
        for server in servers {
            server.advance_ms(1);
        }
    }
    passed
}

#[tokio::test]
async fn a_hot_key_passes_what_its_policy_says_with_few_calls_of_the_store() {
    let (servers, store) = start(1);
    assert_eq!(passed(&servers, "hot", 400).await, 400);
    let calls = store.calls.load(Ordering::SeqCst);
    assert!(calls < 60, "{calls} calls for 400 checks");
    assert_eq!(passed(&servers, "hot", 300).await, 100);
}

#[tokio::test]
async fn servers_with_leases_together_pass_what_the_policy_says() {
    let (servers, store) = start(3);
    assert_eq!(passed(&servers, "hot", 400).await, 400);
    let calls = store.calls.load(Ordering::SeqCst);
    assert!(calls < 150, "{calls} calls for 400 checks");
    assert_eq!(passed(&servers, "hot", 3_000).await, 100, "nothing is lost and nothing is made up");
}

#[tokio::test]
async fn what_is_not_leased_or_not_hot_asks_the_store_each_time() {
    let (servers, store) = start(1);
    passed(&servers, "exact", 100).await;
    assert_eq!(store.calls.load(Ordering::SeqCst), 100);
    for _ in 0..10 {
        ask(&servers[0], "hot").await;
        servers[0].advance_ms(500);
    }
    assert_eq!(store.calls.load(Ordering::SeqCst), 110);
}

#[tokio::test]
async fn a_lease_outlives_its_store_by_a_second_and_then_the_fallback_decides() {
    let (servers, store) = start(1);
    passed(&servers, "hot", 40).await;
    store.break_with(Some(Fault::Error(LimitStoreError::Unavailable)));
    let leased = ask(&servers[0], "hot").await;
    assert_eq!((&leased["allowed"], &leased["decidedBy"]), (&json!(true), &json!("store")));
    servers[0].advance_ms(1_000);
    let fallback = ask(&servers[0], "hot").await;
    assert_eq!((&fallback["allowed"], &fallback["decidedBy"]), (&json!(true), &json!("fallback")));
}

/// Of both nothing comes back while a test runs.
const POLICIES: &str = r#"
[[policy]]
name = "hot"
key = "sku"
burst_capacity = 500
rate = 1
period_s = 86400
lease = true

[[policy]]
name = "exact"
key = "sku"
burst_capacity = 500
rate = 1
period_s = 86400
"#;
