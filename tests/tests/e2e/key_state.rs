//! How a key stands that the edge counts, for an operator who has the log of a refusal, or an address.

use crate::fixtures::{assert_refused, buyer, press, stack};
use axum::http::Method;
use tests::device::{Device, Reply};
use tests::stack::Stack;
use tests::stack::access::access_key;
use tests::stack::programs::Programs;

#[tokio::test]
async fn an_operator_is_told_how_a_key_stands() {
    let stack = stack("key-state", |config| {
        config.policy("device", "burst_capacity", 3).unwrap();
        config.policy("device", "rate", 1).unwrap();
        config.policy("device", "period_ms", 60_000).unwrap();
        config.policy("ip", "period_ms", 86_400_000).unwrap();
    })
    .await;
    let mut device = buyer(&stack, 1);
    crate::fixtures::join(&mut device).await;
    for _ in 0..4 {
        press(&mut device).await;
    }
    let log = stack.edge.log_tail();
    let line = log.lines().find(|line| line.contains("a limit refuses: policy=device")).unwrap();
    let told = |name: &str| line.split(' ').find_map(|word| word.strip_prefix(name)).unwrap();
    let by_digits = format!("policy=device&key={}&home={}", told("key="), told("home="));

    let key = operators_key(&stack).await;
    let mut operator = buyer(&stack, 2);
    let state = ask(&mut operator, &by_digits, Some(&key)).await;
    assert_eq!(state.status, 200, "{}", String::from_utf8_lossy(&state.body));
    assert_eq!(state.header("cache-control"), Some("private, no-store"));
    let (edge, server) = (&state.json()["edge"], &state.json()["queueServer"]);
    assert_eq!((edge["remaining"].as_u64(), edge["home"].as_str()), (Some(0), Some(told("home="))));
    assert!(edge["resetAfterUs"].as_u64().unwrap() > 100_000_000, "{edge}");
    assert_eq!((server["policy"].as_str(), server["quota"].as_u64()), (Some("device"), Some(3)));

    // By its address: one unit each of four presses, whichever limit refused the last.
    let by_address = ask(&mut operator, "policy=ip&ip=10.1.0.1", Some(&key)).await.json();
    assert_eq!(by_address["edge"]["remaining"], 200 - 3, "a press that a device's limit refuses goes back");
    let again = ask(&mut operator, "policy=ip&ip=10.1.0.1", Some(&key)).await.json();
    assert_eq!(again["edge"]["remaining"], 200 - 3, "a look takes nothing");
}

#[tokio::test]
async fn whoever_may_not_look_is_told_nothing_and_floods_nobody() {
    let stack = stack("key-state", |config| {
        config.policy("join-ip", "burst_capacity", 10).unwrap();
        config.policy("join-ip", "rate", 1).unwrap();
        config.policy("join-ip", "period_ms", 60_000).unwrap();
    })
    .await;
    let key = operators_key(&stack).await;
    let mut asker = buyer(&stack, 1);
    let mut of_beta = buyer(&stack, 1);
    of_beta.host = format!("beta.{}", asker.host);
    let digits = "0".repeat(32);
    let of_key = |rest: &str| format!("policy=device&key={digits}{rest}");
    for (shop, query, key, status, code) in [
        ("alpha", of_key("&home=device-00"), None, 401, "ACCESS_KEY_MISSING"),
        ("alpha", of_key("&home=device-00"), Some("fgk_no"), 401, "ACCESS_KEY_INVALID"),
        ("beta", of_key("&home=device-00"), Some(key.as_str()), 403, "SHOP_NOT_ALLOWED"),
        ("beta", of_key("&home=device-00&shop=alpha"), Some(key.as_str()), 403, "SHOP_NOT_ALLOWED"),
        ("alpha", of_key(""), Some(key.as_str()), 400, "KEY_PART_MISSING"),
        ("alpha", of_key("&home=shop-beta"), Some(key.as_str()), 400, "KEY_PART_INVALID"),
        ("alpha", of_key("&home=device-3F"), Some(key.as_str()), 400, "KEY_PART_INVALID"),
        ("alpha", of_key("&home=anything"), Some(key.as_str()), 400, "KEY_PART_INVALID"),
        (
            "alpha",
            "policy=device&key=xyz&home=device-00".to_owned(),
            Some(key.as_str()),
            400,
            "KEY_PART_INVALID",
        ),
        ("alpha", "policy=nothing&ip=10.1.0.1".to_owned(), Some(key.as_str()), 404, "POLICY_UNKNOWN"),
        ("alpha", "policy=ip&ip=here".to_owned(), Some(key.as_str()), 400, "KEY_PART_INVALID"),
        ("alpha", "policy=device&device=a".to_owned(), Some(key.as_str()), 400, "KEY_PART_MISSING"),
    ] {
        let device = if shop == "beta" { &mut of_beta } else { &mut asker };
        let reply = ask(device, &query, key).await;
        assert_eq!((reply.status, reply.code().as_str()), (status, code), "{shop} {query}");
    }
    assert_refused(&ask(&mut asker, &of_key("&home=device-00"), None).await, 429, "RATE_LIMITED");
}

async fn operators_key(stack: &Stack) -> String {
    let program = Programs::built().unwrap().queue_server;
    let data_dir = stack.dir.path().join("data");
    access_key(&program, &data_dir, &stack.queue_server.url(), &stack.client, &[]).await.unwrap()
}

async fn ask(device: &mut Device, query: &str, key: Option<&str>) -> Reply {
    let request = device.request(Method::GET, &format!("/.fairgate/limits/state?{query}"));
    let request = match key {
        Some(key) => request.bearer_auth(key),
        None => request,
    };
    device.send(request).await.unwrap()
}
