//! What the end-to-end tests share: a stack of their own, and what every refusal must look like.

use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::time::Duration;
use tests::device::{Device, Reply};
use tests::stack::config::DemoConfig;
use tests::stack::programs::Programs;
use tests::stack::{Setup, Stack};

pub(crate) const TICKET: &str = "/.fairgate/events/drop/ticket";
pub(crate) const REDEEM: &str = "/.fairgate/events/drop/ticket/redeem";
pub(crate) const RENEW: &str = "/.fairgate/events/drop/session/renew";
pub(crate) const CART: &str = "/api/cart/items";

/// The demo with a change of its configuration.
pub(crate) async fn stack(name: &'static str, change: impl FnOnce(&mut DemoConfig)) -> Stack {
    let mut setup = Setup::demo(name).unwrap();
    change(&mut setup.config);
    Stack::start(setup).await.unwrap()
}

/// The demo where these `[[policy]]` tables, named in `limits`, are all that limits adding to the cart; for a Worker with
/// faults compiled in.
pub(crate) async fn planted_stack(name: &'static str, policies: &str, limits: &[&str]) -> Stack {
    let mut setup = Setup::demo(name).unwrap();
    setup.programs = Programs::planted_edge().unwrap();
    limit_cart(&mut setup.config, policies, limits);
    Stack::start(setup).await.unwrap()
}

/// These `[[policy]]` tables, named in `limits`, are all that limits adding to the cart.
pub(crate) fn limit_cart(config: &mut DemoConfig, policies: &str, limits: &[&str]) {
    config.append(policies).unwrap();
    config.limit_gated_routes("alpha", limits).unwrap();
}

/// What a planted Worker answers to `/.fairgate/plant/…`.
pub(crate) async fn plant(stack: &Stack, what: &str) -> String {
    let reply = buyer(stack, 0).get(&format!("/.fairgate/plant/{what}")).await.unwrap();
    assert_eq!(reply.status, 200, "{what}");
    String::from_utf8(reply.body).unwrap()
}

/// Presses "add to cart" for a product without an event, so that nothing but limits can refuse.
pub(crate) async fn press(device: &mut Device) -> Reply {
    device.post(CART, &item("A-3")).await.unwrap()
}

/// The demo with room for so many sessions.
pub(crate) async fn stack_with_capacity(name: &'static str, capacity: u32) -> Stack {
    stack(name, |config| config.event("drop", "capacity", capacity).unwrap()).await
}

/// The device of buyer `nth`, with an address of its own.
pub(crate) fn buyer(stack: &Stack, nth: u16) -> Device {
    let [high, low] = nth.to_be_bytes();
    stack.device(Ipv4Addr::new(10, 1, high, low))
}

pub(crate) fn item(sku: &str) -> Value {
    json!({ "sku": sku, "quantity": 1 })
}

pub(crate) async fn add_to_cart(device: &mut Device) -> Reply {
    device.post(CART, &item("A-1")).await.unwrap()
}

pub(crate) async fn join(device: &mut Device) -> Reply {
    device.post(TICKET, &json!({})).await.unwrap()
}

pub(crate) async fn redeem(device: &mut Device) -> Reply {
    device.post(REDEEM, &json!({})).await.unwrap()
}

/// Polls until the turn has come, then redeems until the door opens.
pub(crate) async fn enter(device: &mut Device) -> Reply {
    for _ in 0..TRIES {
        let status = device.get(TICKET).await.unwrap();
        if status.status == 200 && status.json()["state"] != "waiting" {
            let reply = redeem(device).await;
            if reply.status == 200 {
                return reply;
            }
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    panic!("the turn never came: {:?}", device.get(TICKET).await.unwrap().json());
}

/// Holds a refusal to the contract.
#[track_caller]
pub(crate) fn assert_refused(reply: &Reply, status: u16, code: &str) {
    let body = String::from_utf8_lossy(&reply.body);
    assert_eq!((reply.status, reply.code().as_str()), (status, code), "{body}");
    assert!(reply.header("content-type").unwrap().starts_with("application/problem+json"), "{body}");
    assert!(reply.header("cache-control").unwrap().contains("no-store"), "{:?}", reply.headers);
    let problem = reply.json();
    assert_eq!(problem["status"], status);
    for key in ["type", "title", "message", "requestId"] {
        assert!(problem[key].as_str().is_some_and(|text| !text.is_empty()), "{key} in {problem}");
    }
    if let Some(seconds) = problem["retryAfterSeconds"].as_u64() {
        let told: u64 = reply.header("retry-after").unwrap().parse().unwrap();
        assert_eq!(told, seconds);
        assert!(told >= 1);
    }
}

/// What must not change when nothing happened: the next number, the numbers called, and the shop's log.
pub(crate) async fn traces(stack: &Stack) -> (Value, usize) {
    let url = format!("{}/.fairgate/events/drop", stack.queue_server.url());
    let snapshot: Value = reqwest::get(url).await.unwrap().json().await.unwrap();
    let lane = &snapshot["lanes"][0];
    let shown = json!([lane["nextNumber"], lane["servingNumber"], snapshot["endedSeq"], snapshot["epoch"]]);
    (shown, stack.shop.log().len())
}

const TRIES: usize = 60;
