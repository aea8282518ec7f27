//! Polls cost the queue server nothing, and go on without it.

use crate::fixtures::{TICKET, add_to_cart, assert_refused, buyer, join, redeem, stack_with_capacity};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tests::device::Device;
use tests::stack::Stack;
use tokio::task::JoinSet;

const TICKETS: u16 = 1_000;

#[tokio::test]
async fn a_thousand_polling_tickets_cost_the_server_a_snapshot_a_second() {
    let mut stack = stack_with_capacity("polls", 1).await;
    assert_eq!(add_to_cart(&mut buyer(&stack, 0)).await.status, 201);
    let mut devices = joined(&stack, TICKETS).await;

    let before = total(&stack.queue_server.requests_by_route().await.unwrap());
    let start = Instant::now();
    let mut polls = 0;
    while start.elapsed() < Duration::from_secs(5) || polls < 2 * u64::from(TICKETS) {
        let statuses;
        (devices, statuses) = poll_all(devices).await;
        assert_eq!(statuses, BTreeMap::from([(200, usize::from(TICKETS))]));
        polls += u64::from(TICKETS);
    }
    let seconds = start.elapsed().as_secs() + 1;
    let routes = stack.queue_server.requests_by_route().await.unwrap();
    let asked = total(&routes) - before;
    // The snapshot and the feed of ended sessions, each once a second and once more.
    assert!(asked <= 2 * (seconds + 1), "{asked} requests for {polls} polls in {seconds} s: {routes:?}");

    stack.queue_server.kill();
    let (mut devices, statuses) = poll_all(devices).await;
    assert_eq!(statuses, BTreeMap::from([(200, usize::from(TICKETS))]), "polls go on");
    let device = &mut devices[0];
    let number = device.get(TICKET).await.unwrap().json()["ticketNumber"].clone();
    assert_refused(&redeem(device).await, 503, "QUEUE_UNREACHABLE");
    assert_refused(&join(&mut buyer(&stack, TICKETS + 1)).await, 503, "QUEUE_UNREACHABLE");
    stale(device).await;

    stack.queue_server.restart().await.unwrap();
    assert_eq!(join(device).await.json()["ticketNumber"], number, "the place is kept");
}

/// Polls one ticket until it is told that the line is paused.
async fn stale(device: &mut Device) {
    for _ in 0..40 {
        let status = device.get(TICKET).await.unwrap();
        assert_eq!(status.status, 200);
        if status.json()["stale"] == true {
            return;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    panic!("a snapshot older than 10 s is told as fresh");
}

/// So many tickets, taken a few at a time: how a storm of joins is borne is another test's question.
async fn joined(stack: &Stack, count: u16) -> Vec<Device> {
    let mut devices = Vec::new();
    for first in (1..=count).step_by(AT_ONCE) {
        let mut joins = JoinSet::new();
        for nth in (first..=count).take(AT_ONCE) {
            let mut device = buyer(stack, nth);
            joins.spawn(async move {
                let reply = join(&mut device).await;
                assert_eq!(reply.status, 201, "{}", reply.code());
                device
            });
        }
        devices.extend(joins.join_all().await);
    }
    devices
}

const AT_ONCE: usize = 50;

/// Each device polls once; how often each status came.
async fn poll_all(devices: Vec<Device>) -> (Vec<Device>, BTreeMap<u16, usize>) {
    let mut polls = JoinSet::new();
    for mut device in devices {
        polls.spawn(async move {
            let status = device.get(TICKET).await.unwrap().status;
            (device, status)
        });
    }
    let mut statuses = BTreeMap::new();
    let mut devices = Vec::new();
    for (device, status) in polls.join_all().await {
        *statuses.entry(status).or_default() += 1;
        devices.push(device);
    }
    (devices, statuses)
}

/// All requests but those of this test for the counts themselves.
fn total(routes: &BTreeMap<String, u64>) -> u64 {
    routes.iter().filter(|(route, _)| *route != "metrics").map(|(_, count)| count).sum()
}
