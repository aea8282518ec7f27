//! A change of the configuration is in use at the edge within 5 s, without a deploy.

use crate::fixtures::{buyer, press, stack};
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

#[tokio::test]
async fn another_limit_is_in_use_within_five_seconds_and_outlives_the_server() {
    let mut stack =
        stack("live-configuration", |config| config.policy("ip", "burst_capacity", 150).unwrap()).await;
    let mut device = buyer(&stack, 1);
    let before = policies_told(&mut device).await;
    assert!(before.contains("\"ip\";q=150"), "{before}");
    change(&mut stack, |config| config.policy("ip", "burst_capacity", 151).unwrap()).await;
    let changed = Instant::now();
    loop {
        let told = policies_told(&mut device).await;
        if told.contains("\"ip\";q=151") {
            break;
        }
        assert!(changed.elapsed() < Duration::from_secs(5), "{told}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    stack.queue_server.kill();
    tokio::time::sleep(Duration::from_millis(4_500)).await;
    let told = policies_told(&mut device).await;
    assert!(told.contains("\"ip\";q=151"), "the last good one stays: {told}");
}
