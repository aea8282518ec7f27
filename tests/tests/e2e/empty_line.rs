//! Nobody waits and a session is free: one round trip, and no queue is seen.

use crate::fixtures::{TICKET, add_to_cart, assert_refused, buyer, stack, stack_with_capacity};
use tests::stack::config::DemoConfig;

#[tokio::test]
async fn the_first_press_reaches_the_shop() {
    let stack = stack_with_capacity("empty-line", 100).await;
    let mut device = buyer(&stack, 1);
    let reply = add_to_cart(&mut device).await;
    assert_eq!(reply.status, 201, "{}", String::from_utf8_lossy(&reply.body));
    let log = stack.shop.log();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0].jti, device.pass_jti("drop"), "the cookie and the shop's log name one session");
    for cookie in ["fg-device", "fg-ticket-drop", "fg-pass-drop"] {
        assert!(device.cookies.contains_key(cookie), "{cookie}");
    }

    let again = add_to_cart(&mut device).await;
    assert_eq!(again.status, 201);
    let log = stack.shop.log();
    assert_eq!((log.len(), &log[0].jti), (2, &log[1].jti), "the same session");
    assert!(again.header("set-cookie").is_none_or(|cookie| !cookie.contains("fg-")), "nothing new to keep");
}

#[tokio::test]
async fn as_many_as_fit_enter_at_once_and_no_more() {
    let stack = stack_with_capacity("empty-line", 5).await;
    let mut statuses = Vec::new();
    for nth in 0..8 {
        statuses.push(add_to_cart(&mut buyer(&stack, nth)).await.status);
    }
    assert_eq!(statuses, [201, 201, 201, 201, 201, 429, 429, 429]);
    assert_eq!(stack.shop.log().len(), 5);
}

/// One who had their visit pressed again and again: they were told of a line, and so was everybody else.
#[tokio::test]
async fn who_may_not_enter_makes_no_line_for_others() {
    let one_visit = |config: &mut DemoConfig| config.event("drop", "sessions_per_buyer", 1).unwrap();
    let stack = stack("empty-line", one_visit).await;
    let mut first = buyer(&stack, 0);
    assert_eq!(add_to_cart(&mut first).await.status, 201);
    assert_eq!(first.delete(TICKET).await.unwrap().status, 204);
    for nth in 1..4 {
        assert_refused(&add_to_cart(&mut first).await, 403, "BUYER_LIMIT");
        assert_eq!(add_to_cart(&mut buyer(&stack, nth)).await.status, 201, "buyer {nth} finds an empty shop");
    }
}
