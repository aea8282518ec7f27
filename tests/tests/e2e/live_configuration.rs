//! A change of the configuration is in use at the edge within 5 s, without a deploy.

use crate::fixtures::{buyer, limit_cart, press, stack};
use std::time::{Duration, Instant};
use tests::device::Device;
use tests::stack::Stack;
use tests::stack::config::DemoConfig;

/// Starts the queue server again with another file; the edge runs on.
async fn change(stack: &mut Stack, change: impl FnOnce(&mut DemoConfig)) {
    let file = stack.dir.path().join("fairgate.toml");
    let mut config = DemoConfig::parse(&std::fs::read_to_string(&file).unwrap()).unwrap();
    change(&mut config);
    std::fs::write(&file, config.to_text().unwrap()).unwrap();
    stack.queue_server.restart().await.unwrap();
}

async fn policies_told(device: &mut Device) -> String {
    press(device).await.header("ratelimit-policy").unwrap_or_default().to_owned()
}

async fn in_use_soon(device: &mut Device, policy: &str) {
    let changed = Instant::now();
    loop {
        let told = policies_told(device).await;
        if told.contains(policy) {
            return;
        }
        assert!(changed.elapsed() < Duration::from_secs(5), "{told}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn another_limit_is_in_use_within_five_seconds_and_outlives_the_server() {
    let mut stack =
        stack("live-configuration", |config| config.policy("ip", "burst_capacity", 150).unwrap()).await;
    let mut device = buyer(&stack, 1);
    let before = policies_told(&mut device).await;
    assert!(before.contains("\"ip\";q=150"), "{before}");
    change(&mut stack, |config| config.policy("ip", "burst_capacity", 151).unwrap()).await;
    in_use_soon(&mut device, "\"ip\";q=151").await;
    stack.queue_server.kill();
    tokio::time::sleep(Duration::from_millis(4_500)).await;
    let told = policies_told(&mut device).await;
    assert!(told.contains("\"ip\";q=151"), "the last good one stays: {told}");
}

/// L125, L126: nobody has a fresh bucket by a reload, and a lower limit holds for those who have used more.
#[tokio::test]
async fn what_was_taken_before_a_change_counts_under_the_new_numbers() {
    let policy = "[[policy]]\nname = \"cart\"\nkey = \"ip\"\nburst_capacity = 4\nrate = 1\nperiod_s = 3600\n";
    let mut stack = stack("live-configuration", |config| limit_cart(config, policy, &["cart"])).await;
    let (mut device, mut other) = (buyer(&stack, 1), buyer(&stack, 2));
    for _ in 0..3 {
        assert_eq!(press(&mut device).await.status, 201);
    }
    change(&mut stack, |config| config.policy("cart", "burst_capacity", 6).unwrap()).await;
    in_use_soon(&mut other, "\"cart\";q=6").await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(press(&mut device).await.status);
    }
    assert_eq!(statuses, [201, 201, 201, 429]);
    change(&mut stack, |config| config.policy("cart", "burst_capacity", 2).unwrap()).await;
    in_use_soon(&mut other, "\"cart\";q=2").await;
    assert_eq!(press(&mut device).await.status, 429);
}
