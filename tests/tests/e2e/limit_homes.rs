//! Where limits live: stages and what goes back, leases, and states that outlive their object.

use crate::fixtures::{
    CART, TICKET, add_to_cart, assert_refused, buyer, item, join, limit_cart, plant, planted_stack, press,
    stack,
};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use tests::device::Reply;
use tests::stack::{Setup, Stack};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Nothing comes back while a test runs.
fn hourly(name: &str, key: &str, burst: u32, more: &str) -> String {
    format!(
        "[[policy]]\nname = \"{name}\"\nkey = {key}\nburst_capacity = {burst}\nrate = 1\nperiod_s = 3600\n{more}\n"
    )
}

fn by_shop(burst: u32, more: &str) -> String {
    hourly("shop-cart", "\"shop\"", burst, more)
}

fn by_sku(burst: u32, more: &str) -> String {
    hourly("sku-cart", "[\"shop\", \"sku\"]", burst, more)
}

fn by_ip(burst: u32) -> String {
    hourly("ip-cart", "\"ip\"", burst, "")
}

/// Buyers from addresses of their own press at once; how often each status came.
async fn press_at_once(stack: &Stack, presses: u16, address_of: fn(u16) -> u16) -> (usize, Vec<Reply>) {
    let mut pressing = JoinSet::new();
    for nth in 0..presses {
        let mut device = buyer(stack, address_of(nth));
        pressing.spawn(async move { press(&mut device).await });
    }
    let (passed, refused): (Vec<Reply>, Vec<Reply>) =
        pressing.join_all().await.into_iter().partition(|reply| reply.status == 201);
    (passed.len(), refused)
}

/// The address of the nth buyer.
type AddressOf = fn(u16) -> u16;

#[tokio::test]
async fn of_twenty_at_once_against_ten_exactly_ten_pass_in_every_home() {
    let one_address = |_| 1;
    let own_addresses = |nth| nth;
    let cases: [(String, &str, AddressOf, &str); 4] = [
        (by_ip(10), "ip-cart", one_address, "RATE_LIMITED"),
        (by_shop(10, ""), "shop-cart", own_addresses, "SHOP_BUSY"),
        (by_shop(10, "lease = true"), "shop-cart", own_addresses, "SHOP_BUSY"),
        (by_sku(10, ""), "sku-cart", own_addresses, "SKU_BUSY"),
    ];
    for (policy, name, address_of, code) in cases {
        let stack = stack("limit-homes", |config| limit_cart(config, &policy, &[name])).await;
        let (passed, refused) = press_at_once(&stack, 20, address_of).await;
        assert_eq!((passed, stack.shop.log().len()), (10, 10), "{policy}");
        for reply in refused {
            assert_refused(&reply, 429, code);
            assert_eq!(reply.json()["policy"], name);
        }
    }
}

#[tokio::test]
async fn shop_and_sku_are_both_taken_or_neither() {
    let policies = by_shop(5, "") + &by_sku(2, "");
    let limits = ["shop-cart", "sku-cart"];
    let stack = stack("limit-homes", |config| limit_cart(config, &policies, &limits)).await;
    let mut device = buyer(&stack, 1);
    assert_eq!(press(&mut device).await.status, 201);
    let second = press(&mut device).await;
    assert_eq!(second.status, 201);
    assert!(second.header("ratelimit").unwrap().starts_with("\"sku-cart\";r=0"), "{:?}", second.headers);
    for _ in 0..4 {
        let refused = press(&mut device).await;
        assert_refused(&refused, 429, "SKU_BUSY");
        assert_eq!(refused.json()["policy"], "sku-cart");
    }
    // The refused ones took nothing of the shop: three of five are left.
    let mut others = Vec::new();
    for sku in ["A-1", "A-2", "A-1", "A-2"] {
        others.push(buyer(&stack, 2).post(CART, &item(sku)).await.unwrap());
    }
    let statuses: Vec<u16> = others.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses, [201, 201, 201, 429]);
    assert_refused(&others[3], 429, "SHOP_BUSY");
}

#[tokio::test]
async fn a_later_refusal_gives_the_personal_quota_back() {
    let policies = by_ip(3) + &by_sku(1, "");
    let stack = stack("limit-homes", |config| limit_cart(config, &policies, &["ip-cart", "sku-cart"])).await;
    assert_eq!(press(&mut buyer(&stack, 1)).await.status, 201);
    let mut device = buyer(&stack, 2);
    for _ in 0..10 {
        assert_refused(&press(&mut device).await, 429, "SKU_BUSY");
    }
    // All three of this address are there yet.
    let mut statuses = Vec::new();
    for sku in ["A-1", "A-2", "A-1", "A-2"] {
        statuses.push(device.post(CART, &item(sku)).await.unwrap().status);
    }
    assert_eq!(statuses[..2], [201, 201], "{statuses:?}");
    assert_eq!(statuses[2..], [429, 429], "one unit of each SKU: {statuses:?}");
}

#[tokio::test]
async fn who_enters_an_empty_line_and_finds_the_shop_busy_keeps_the_pass() {
    let stack = stack("limit-homes", |config| limit_cart(config, &by_shop(1, ""), &["shop-cart"])).await;
    assert_eq!(add_to_cart(&mut buyer(&stack, 1)).await.status, 201);
    let mut device = buyer(&stack, 2);
    assert_refused(&add_to_cart(&mut device).await, 429, "SHOP_BUSY");
    assert!(device.pass_jti("drop").is_some(), "the session that was won is not lost");
}

#[tokio::test]
async fn quota_goes_back_when_the_shop_cannot_be_called_and_never_when_it_was() {
    let mut setup = Setup::demo("limit-homes").unwrap();
    limit_cart(&mut setup.config, &by_ip(3), &["ip-cart"]);
    // A port where nobody listens.
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    setup.origin = Some(nobody.local_addr().unwrap());
    drop(nobody);
    let gone = Stack::start(setup.clone()).await.unwrap();
    let mut device = buyer(&gone, 1);
    // The first may have reached the shop, as far as the runtime tells; all others certainly have not.
    for _ in 0..20 {
        assert_refused(&press(&mut device).await, 502, "ORIGIN_UNREACHABLE");
    }
    drop(gone);

    let breaks_off = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    setup.origin = Some(breaks_off.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        while let Ok((socket, _)) = breaks_off.accept().await {
            // It takes the request and dies over it.
            let mut request = [0; 64];
            socket.readable().await.unwrap();
            let _ = socket.try_read(&mut request);
        }
    });
    let broken = Stack::start(setup).await.unwrap();
    let mut device = buyer(&broken, 1);
    let mut codes = Vec::new();
    for _ in 0..5 {
        codes.push(press(&mut device).await.code());
    }
    assert_eq!(codes[..3], ["ORIGIN_UNREACHABLE"; 3]);
    assert_eq!(codes[3..], ["RATE_LIMITED"; 2], "what the shop may have worked on is spent");
    serving.abort();
}

#[tokio::test]
async fn a_hot_shop_asks_its_object_a_few_times_a_second() {
    let policy = "[[policy]]\nname = \"shop-cart\"\nkey = \"shop\"\nburst_capacity = 5000\nrate = 5000\nperiod_s = 1\nlease = true\n";
    let stack = planted_stack("limit-leases", policy, &["shop-cart"]).await;
    let before: u64 = plant(&stack, "limiter-calls").await.parse().unwrap();
    let began = Instant::now();
    for nth in 0..30 {
        let mut device = buyer(&stack, nth);
        for _ in 0..10 {
            assert_eq!(press(&mut device).await.status, 201);
        }
    }
    let took_s = began.elapsed().as_secs();
    let calls = plant(&stack, "limiter-calls").await.parse::<u64>().unwrap() - before;
    assert!(calls <= 20 + 5 * took_s, "{calls} calls for 300 requests in {took_s} s");
}

#[tokio::test]
async fn what_is_off_makes_no_call() {
    let policy = by_shop(5, "mode = \"off\"");
    let stack = planted_stack("limit-calls", &policy, &["shop-cart"]).await;
    let mut device = buyer(&stack, 1);
    for _ in 0..10 {
        assert_eq!(press(&mut device).await.status, 201, "off refuses nobody");
        assert_eq!(device.get("/.fairgate/events/drop").await.unwrap().status, 200);
        assert_eq!(device.get("/health").await.unwrap().status, 200);
    }
    assert_eq!(plant(&stack, "limiter-calls").await, "0");
}

/// Whatever the number of limits: one call for the device, one for the address, one for the shop with its SKU and what is in
/// shadow there. Polls are counted where they are answered.
#[tokio::test]
async fn each_home_is_called_once_and_polls_call_none() {
    let policies = [
        hourly("ip-cart", "\"ip\"", 50, ""),
        hourly("ip-route", "[\"ip\", \"route\"]", 50, ""),
        hourly("device-cart", "\"device\"", 50, ""),
        hourly("device-shadow", "\"device\"", 50, "mode = \"shadow\""),
        by_shop(50, ""),
        by_sku(50, ""),
        hourly("shop-shadow", "\"shop\"", 50, "mode = \"shadow\""),
    ]
    .concat();
    let names =
        ["ip-cart", "ip-route", "device-cart", "device-shadow", "shop-cart", "sku-cart", "shop-shadow"];
    let stack = planted_stack("limit-calls", &policies, &names).await;
    let mut device = buyer(&stack, 1);
    join(&mut device).await;
    let before: u64 = plant(&stack, "limiter-calls").await.parse().unwrap();
    for _ in 0..4 {
        assert_eq!(press(&mut device).await.status, 201);
        assert_eq!(device.get(TICKET).await.unwrap().status, 200);
    }
    let calls = plant(&stack, "limiter-calls").await.parse::<u64>().unwrap() - before;
    assert_eq!(calls, 4 * 3);
}

#[tokio::test]
async fn a_shadow_refuses_nobody_and_says_whom_it_would_have_refused() {
    let policy = hourly("ip-cart", "\"ip\"", 2, "mode = \"shadow\"");
    let stack = planted_stack("limit-calls", &policy, &["ip-cart"]).await;
    for _ in 0..6 {
        assert_eq!(press(&mut buyer(&stack, 1)).await.status, 201);
    }
    assert!(stack.edge.log_tail().contains("policy ip-cart in shadow would have refused 4 requests so far"));
}

#[tokio::test]
async fn a_refused_key_inside_its_wait_makes_no_call() {
    let stack = planted_stack("limit-calls", &by_ip(1), &["ip-cart"]).await;
    let mut device = buyer(&stack, 1);
    for expected in [201, 429, 429, 429, 429] {
        assert_eq!(press(&mut device).await.status, expected);
    }
    assert_eq!(plant(&stack, "limiter-calls").await, "2");
}

#[tokio::test]
async fn locks_and_long_windows_outlive_a_crash_and_an_eviction() {
    let policies = "[[policy]]\nname = \"lock\"\nkey = \"ip\"\nlockout = \"true|2|60|600\"\n".to_owned()
        + "[[policy]]\nname = \"daily\"\nkey = \"ip\"\nalgorithm = \"long_quota\"\nlimit = 3\nper = \"day\"\n"
        + &by_ip(4)
        + "[[policy]]\nname = \"second\"\nkey = \"ip\"\nburst_capacity = 1\nrate = 1\nperiod_s = 1\n";
    for (limit, presses, code) in
        [("lock", 2, "LOCKED"), ("daily", 3, "RATE_LIMITED"), ("ip-cart", 4, "RATE_LIMITED")]
    {
        let mut stack = planted_stack("limit-kept", &policies, &[limit]).await;
        let mut device = buyer(&stack, 1);
        let (passed, _) = press_at_once(&stack, presses + 2, |_| 1).await;
        assert_eq!(passed, usize::from(presses), "{limit}");
        if limit == "ip-cart" {
            // Within 5 s, and before an idle object is evicted after 10 s.
            tokio::time::sleep(Duration::from_millis(5_500)).await;
        }
        stack.edge.restart().await.unwrap();
        assert_eq!(press(&mut device).await.code(), code, "{limit} after a crash");
        let loads: u64 = plant(&stack, "limiter-loads").await.parse().unwrap();
        tokio::time::sleep(Duration::from_millis(11_500)).await;
        assert_eq!(press(&mut device).await.code(), code, "{limit} after a pause");
        let loads_later: u64 = plant(&stack, "limiter-loads").await.parse().unwrap();
        assert!(loads_later > loads, "the pause did evict the object");
        assert_eq!(press(&mut buyer(&stack, 2)).await.status, 201, "others are as before");
    }
}

#[tokio::test]
async fn locked_keys_stay_locked_through_a_flood_of_made_up_ones() {
    let policy = "[[policy]]\nname = \"lock\"\nkey = \"ip\"\nlockout = \"true|2|60|600\"\n";
    let stack = stack("limit-flood", |config| limit_cart(config, policy, &["lock"])).await;
    press_at_once(&stack, 4, |_| 1).await;
    assert_refused(&press(&mut buyer(&stack, 1)).await, 403, "LOCKED");
    for round in 0..10 {
        let mut flood = JoinSet::new();
        for nth in 0..200_u8 {
            let mut device = stack.device(Ipv4Addr::new(10, 9, round, nth));
            flood.spawn(async move { press(&mut device).await.status });
        }
        assert!(flood.join_all().await.iter().all(|status| *status == 201));
    }
    assert_refused(&press(&mut buyer(&stack, 1)).await, 403, "LOCKED");
}
