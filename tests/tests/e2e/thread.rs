//! The thread: from the shop's page through the line into the cart, and out again.

use crate::fixtures::{
    CART, RENEW, TICKET, add_to_cart, assert_refused, buyer, enter, item, join, redeem, stack,
    stack_with_capacity,
};
use axum::http::Method;
use serde_json::json;
use std::time::Duration;
use tests::shop::ledger::Kind;

#[tokio::test]
async fn one_purchase_frees_the_place_of_the_next() {
    let stack = stack_with_capacity("thread", 1).await;
    let (mut first, mut second) = (buyer(&stack, 1), buyer(&stack, 2));
    let page = first.get("/p/A-1").await.unwrap();
    assert_eq!(page.status, 200);
    assert!(page.header("set-cookie").is_none(), "nothing is set on the shop's own pages");
    assert_eq!(add_to_cart(&mut first).await.status, 201);

    let refused = add_to_cart(&mut second).await;
    assert_refused(&refused, 429, "QUEUE_REQUIRED");
    assert!(refused.json()["waitUrl"].as_str().unwrap().starts_with("/.fairgate/wait/drop"));
    let joined = join(&mut second).await;
    // It asked whether it may enter at once, and so it is in line already.
    assert_eq!(joined.status, 200);
    let joined = joined.json();
    assert_eq!(joined["status"]["state"], "waiting");
    // The snapshot behind the answer may be from before the first buyer entered.
    assert!(joined["status"]["position"].as_u64().unwrap() <= 1);
    assert!(joined["pass"].is_null());
    assert_refused(&redeem(&mut second).await, 409, "NOT_YOUR_TURN");

    let spent = first.cookies["fg-ticket-drop"].clone();
    let bought = first.post("/api/checkout", &json!({})).await.unwrap();
    assert_eq!(bought.status, 200);
    assert!(bought.header("fairgate-session").is_none(), "what the shop tells the edge stays there");
    enter(&mut second).await;
    assert_eq!(add_to_cart(&mut second).await.status, 201);

    let again = first.post_with_ticket(crate::fixtures::REDEEM, &spent).await.unwrap();
    assert_refused(&again, 410, "TICKET_SPENT");
    assert_refused(&add_to_cart(&mut first).await, 429, "QUEUE_REQUIRED");
    let log: Vec<_> = stack.shop.log().into_iter().map(|entry| (entry.kind, entry.jti.unwrap())).collect();
    let (one, two) = ("drop:1:0:1".to_owned(), format!("drop:1:0:{}", joined["ticketNumber"]));
    assert_eq!(log, [(Kind::Add, one.clone()), (Kind::Finish, one), (Kind::Add, two)]);
}

#[tokio::test]
async fn a_place_survives_reloads_tabs_and_a_change_of_address() {
    let stack = stack_with_capacity("place", 1).await;
    add_to_cart(&mut buyer(&stack, 1)).await;
    let mut device = buyer(&stack, 2);
    let number = join(&mut device).await.json()["ticketNumber"].clone();
    for _ in 0..3 {
        let again = join(&mut device).await;
        assert_eq!((again.status, &again.json()["ticketNumber"]), (200, &number));
    }
    let mut on_mobile = stack.device([172, 16, 0, 9].into());
    on_mobile.cookies.clone_from(&device.cookies);
    let status = on_mobile.get(TICKET).await.unwrap();
    assert_eq!((status.status, &status.json()["ticketNumber"]), (200, &number));
    assert_eq!(join(&mut on_mobile).await.json()["ticketNumber"], number);
    // Without the ticket's cookie the device is still known.
    on_mobile.cookies.remove("fg-ticket-drop");
    assert_eq!(join(&mut on_mobile).await.json()["ticketNumber"], number);
}

#[tokio::test]
async fn who_abandons_has_left() {
    let stack = stack_with_capacity("abandon", 1).await;
    add_to_cart(&mut buyer(&stack, 1)).await;
    let mut device = buyer(&stack, 2);
    let first = join(&mut device).await.json();
    assert_eq!(device.delete(TICKET).await.unwrap().status, 204);
    assert!(!device.cookies.contains_key("fg-ticket-drop"));
    assert_refused(&device.get(TICKET).await.unwrap(), 401, "NO_TICKET");
    let old = first["ticket"].as_str().unwrap();
    let redeemed = device.post_with_ticket(crate::fixtures::REDEEM, old).await.unwrap();
    assert_eq!(redeemed.status, 410, "{}", redeemed.code());
    let second = join(&mut device).await.json();
    assert_ne!(second["ticketNumber"], first["ticketNumber"]);
}

#[tokio::test]
async fn a_session_lives_by_renewal_and_ends_when_idle() {
    let stack = stack("idle", |config| {
        config.event("drop", "capacity", 1).unwrap();
        config.event("drop", "pass_life_s", 10).unwrap();
        config.event("drop", "session_max_s", 60).unwrap();
    })
    .await;
    let (mut first, mut second) = (buyer(&stack, 1), buyer(&stack, 2));
    assert_eq!(add_to_cart(&mut first).await.status, 201);
    tokio::time::sleep(Duration::from_secs(7)).await;
    let renewed = first.post(RENEW, &json!({})).await.unwrap();
    assert_eq!(renewed.status, 200);
    assert!(renewed.json()["pass"]["token"].is_string());
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(add_to_cart(&mut first).await.status, 201, "13 s after it began");

    join(&mut second).await;
    enter(&mut second).await;
    assert_eq!(add_to_cart(&mut second).await.status, 201);
    assert_eq!(first.post(RENEW, &json!({})).await.unwrap().status, 410);
    assert_eq!(add_to_cart(&mut first).await.status, 429);
}

#[tokio::test]
async fn the_gate_stands_only_before_what_the_event_sells() {
    let stack = stack_with_capacity("gate", 1).await;
    let mut device = buyer(&stack, 1);
    assert_eq!(device.post(CART, &item("A-3")).await.unwrap().status, 201);
    assert_eq!(device.get("/health").await.unwrap().status, 200);
    assert_eq!(stack.shop.log()[0].jti, None);

    // A pass of one shop's event opens no other.
    assert_eq!(add_to_cart(&mut device).await.status, 201);
    add_to_cart(&mut buyer(&stack, 2)).await;
    let mut other = buyer(&stack, 3);
    other.host = format!("beta.{}", other.host);
    other.cookies.clone_from(&device.cookies);
    assert_eq!(other.post(CART, &item("B-1")).await.unwrap().status, 201, "an empty line of its own");
    let log = stack.shop.log();
    assert!(log.last().unwrap().jti.as_ref().unwrap().starts_with("beta-drop:"));
}

#[tokio::test]
async fn a_refused_navigation_gets_the_waiting_page() {
    let stack = stack_with_capacity("navigation", 1).await;
    add_to_cart(&mut buyer(&stack, 1)).await;
    let mut device = buyer(&stack, 2);
    let form = device.request(Method::POST, "/cart/items").body("sku=A-1&quantity=1");
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let form = form.header("sec-fetch-mode", "navigate").header("accept", "text/html");
    let page = device.send(form).await.unwrap();
    assert_eq!(page.status, 503);
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
    assert!(page.header("cache-control").unwrap().contains("no-store"));
    assert!(page.header("x-robots-tag").is_some_and(|tag| tag.contains("noindex")));
    assert!(page.header("retry-after").is_some());
    let html = String::from_utf8_lossy(&page.body);
    assert!(html.contains("role=\"status\"") && !html.contains("http-equiv=\"refresh\""), "{html}");
    assert_eq!(stack.shop.log().len(), 1);
}

#[tokio::test]
async fn the_shops_own_refusals_pass_through_and_spend_nothing() {
    let stack = stack_with_capacity("refusals", 1).await;
    let mut device = buyer(&stack, 1);
    let control = format!("http://{}/control", stack.shop.control_address);
    let tell = async |change| {
        let told = stack.client.post(&control).json(&change).send().await.unwrap();
        assert_eq!(told.status(), 200);
    };
    tell(json!({ "reject_share": 1.0 })).await;
    let rejected = add_to_cart(&mut device).await;
    assert_eq!((rejected.status, rejected.code().as_str()), (422, "CART_REJECTED"));
    tell(json!({ "reject_share": 0.0, "fail_share": 1.0 })).await;
    let failed = add_to_cart(&mut device).await;
    assert_eq!((failed.status, failed.code().as_str()), (500, "CART_FAILED"));
    tell(json!({ "fail_share": 0.0, "stock": { "A-1": 1 } })).await;
    assert_eq!(add_to_cart(&mut device).await.status, 201, "the session was not spent");
    let sold_out = add_to_cart(&mut device).await;
    assert_eq!((sold_out.status, sold_out.code().as_str()), (409, "OUT_OF_STOCK"));
    assert_eq!(stack.shop.log().len(), 1);
}
