//! Permits on a route: as many requests at once as the shop bears, whatever each of them takes.

use crate::fixtures::{assert_refused, buyer, limit_cart, press, stack};
use serde_json::json;
use std::time::{Duration, Instant};
use tests::device::Reply;
use tests::stack::Stack;
use tokio::task::JoinSet;

fn permits(key: &str, permits: u32, life_s: u32) -> String {
    format!(
        "[[policy]]\nname = \"places\"\nkey = {key}\nalgorithm = \"concurrency\"\npermits = {permits}\nlife_s = {life_s}\n\
         message_zh_tw = \"結帳人數已滿\"\n"
    )
}

async fn let_the_shop_take(stack: &Stack, latency_ms: u64) {
    let url = format!("http://{}/control", stack.shop.control_address);
    let change = json!({ "latency_ms": latency_ms });
    assert!(reqwest::Client::new().post(url).json(&change).send().await.unwrap().status().is_success());
}

/// Buyers from addresses of their own press at once.
fn press_at_once(stack: &Stack, presses: u16) -> JoinSet<Reply> {
    let mut pressing = JoinSet::new();
    for nth in 0..presses {
        let mut device = buyer(stack, nth);
        pressing.spawn(async move { press(&mut device).await });
    }
    pressing
}

#[tokio::test]
async fn no_more_are_at_the_shop_than_it_has_permits_and_each_goes_back_with_its_reply() {
    let places = permits("\"shop\"", 10, 60);
    let stack = stack("permits", |config| limit_cart(config, &places, &["places"])).await;
    let_the_shop_take(&stack, 2_000).await;
    for round in 1..=2 {
        let replies = press_at_once(&stack, 20).join_all().await;
        let (passed, refused): (Vec<Reply>, Vec<Reply>) =
            replies.into_iter().partition(|reply| reply.status == 201);
        assert_eq!((passed.len(), stack.shop.log().len()), (10, 10 * round), "round {round}");
        for reply in refused {
            assert_refused(&reply, 429, "SHOP_BUSY");
            assert_eq!(reply.header("retry-after"), Some("1"), "sooner than the life of a permit");
            assert!(reply.answered_ms - reply.sent_ms < 1_500, "nobody waits for a permit");
        }
    }
}

#[tokio::test]
async fn a_callers_permits_are_their_own_and_a_refusal_is_forgotten_at_once() {
    let places = permits("\"ip\"", 1, 60);
    let stack = stack("permits", |config| limit_cart(config, &places, &["places"])).await;
    let_the_shop_take(&stack, 1_000).await;
    let mut slow = press_at_once(&stack, 1);
    tokio::time::sleep(Duration::from_millis(400)).await;
    let mut same = buyer(&stack, 0);
    assert_refused(&press(&mut same).await, 429, "RATE_LIMITED");
    assert_eq!(press(&mut buyer(&stack, 1)).await.status, 201, "another address has a permit of its own");
    assert_eq!(slow.join_next().await.unwrap().unwrap().status, 201);
    let_the_shop_take(&stack, 0).await;
    let start = Instant::now();
    while press(&mut same).await.status != 201 {
        assert!(start.elapsed() < Duration::from_millis(500), "the permit did not come back");
    }
}

#[tokio::test]
async fn a_permit_ends_with_its_life_where_the_shop_takes_longer_or_the_buyer_has_gone() {
    let places = permits("\"ip\"", 1, 2);
    let stack = stack("permits", |config| limit_cart(config, &places, &["places"])).await;
    let_the_shop_take(&stack, 8_000).await;
    let mut slow = press_at_once(&stack, 1);
    let mut gone = buyer(&stack, 1);
    let gave_up = tokio::time::timeout(Duration::from_millis(400), press(&mut gone)).await;
    assert!(gave_up.is_err(), "the shop answered");
    let_the_shop_take(&stack, 0).await;
    let mut same = buyer(&stack, 0);
    assert_refused(&press(&mut same).await, 429, "RATE_LIMITED");
    for mut device in [same, gone] {
        let start = Instant::now();
        while press(&mut device).await.status != 201 {
            assert!(start.elapsed() < Duration::from_millis(2_500), "the permit outlives its life");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    assert!(slow.try_join_next().is_none(), "the first is at the shop still");
    assert_eq!(slow.join_next().await.unwrap().unwrap().status, 201);
    assert_eq!(
        press(&mut buyer(&stack, 0)).await.status,
        201,
        "what is late gives back nobody else's permit"
    );
}

#[tokio::test]
async fn who_is_refused_later_gives_the_permit_back_and_reads_the_policys_own_words() {
    let places = permits("\"ip\"", 1, 60);
    let once = "[[policy]]\nname = \"once\"\nkey = \"shop\"\nburst_capacity = 1\nrate = 1\nperiod_s = 3600\n\
                message_zh_tw = \"今日名額已用完\"\n";
    let policies = format!("{places}{once}");
    let stack = stack("permits", |config| limit_cart(config, &policies, &["places", "once"])).await;
    let mut device = buyer(&stack, 1);
    assert_eq!(press(&mut device).await.status, 201);
    for _ in 0..3 {
        let request = device.request(axum::http::Method::POST, crate::fixtures::CART);
        let request = request.header("accept-language", "zh-TW").json(&crate::fixtures::item("A-3"));
        let refused = device.send(request).await.unwrap();
        assert_refused(&refused, 429, "SHOP_BUSY");
        assert_eq!(refused.json()["message"], "今日名額已用完");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let spoken = press(&mut device).await;
    assert_ne!(spoken.json()["message"], "今日名額已用完", "without words of its own in this language");
}
