//! Limiter objects that fail or hang: what holds meanwhile is what each policy says, and it ends with the fault.

use crate::fixtures::{assert_refused, buyer, plant, planted_stack, press};
use std::time::{Duration, Instant};

fn policy(name: &str, key: &str, on_store_failure: &str) -> String {
    format!(
        "[[policy]]\nname = \"{name}\"\nkey = \"{key}\"\nburst_capacity = 3\nrate = 1\nperiod_s = 3600\n\
         on_store_failure = \"{on_store_failure}\"\n"
    )
}

#[tokio::test]
async fn each_policy_says_what_holds_while_its_home_is_away() {
    for (way, key) in [("local", "ip"), ("open", "ip"), ("closed", "shop"), ("local", "shop")] {
        let stack = planted_stack("limit-faults", &policy("cart", key, way), &["cart"]).await;
        let mut device = buyer(&stack, 1);
        assert_eq!(press(&mut device).await.status, 201, "while it works");
        plant(&stack, "limiters-fail").await;
        let mut statuses = Vec::new();
        for _ in 0..5 {
            statuses.push(press(&mut device).await.status);
        }
        match way {
            // The isolate has counted the first one too: it is warm.
            "local" => assert_eq!(statuses, [201, 201, 429, 429, 429], "{key}"),
            "open" => assert_eq!(statuses, [201; 5]),
            _ => assert_eq!(statuses, [503; 5]),
        }
        if way == "closed" {
            assert_refused(&press(&mut device).await, 503, "LIMITER_UNAVAILABLE");
        }
        assert!(stack.edge.log_tail().contains("did not answer"), "{}", stack.edge.log_tail());

        plant(&stack, "limiters-work").await;
        // A home that failed is left alone for a second; a refusal of the isolate's own is remembered for no longer.
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        let mut after = Vec::new();
        for _ in 0..3 {
            after.push(press(&mut device).await.status);
        }
        assert_eq!(after, [201, 201, 429], "{way}: exact again, and what passed unasked does not count");
    }
}

#[tokio::test]
async fn a_home_that_hangs_is_waited_for_once() {
    let stack = planted_stack("limit-faults", &policy("cart", "ip", "open"), &["cart"]).await;
    let mut device = buyer(&stack, 1);
    assert_eq!(press(&mut device).await.status, 201);
    plant(&stack, "limiters-hang").await;
    let start = Instant::now();
    assert_eq!(press(&mut device).await.status, 201);
    assert!(start.elapsed() < Duration::from_millis(900), "{:?}", start.elapsed());
    let start = Instant::now();
    for _ in 0..10 {
        assert_eq!(press(&mut device).await.status, 201);
    }
    assert!(start.elapsed() < Duration::from_millis(400), "{:?}", start.elapsed());
}
