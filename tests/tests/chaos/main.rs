//! Chaos: faults of every kind among a crowd; and the queue server is killed (`SIGKILL`) while buyers are joining, waiting and inside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod scenarios;

use clap::{Args, FromArgMatches};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;
use tests::device::Device;
use tests::rush::Options;
use tests::stack::{Setup, Stack};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rush_survives_the_death_of_the_server() {
    let words =
        "rush --buyers 100 --arrive-over 4 --session 1 --leave-share 0.2 --capacity 10 --kill-server-at 3";
    let matches = Options::augment_args(clap::Command::new("rush")).get_matches_from(words.split(' '));
    let summary = tests::rush::run(&Options::from_arg_matches(&matches).unwrap()).await.unwrap();
    println!("{summary}");
    assert_eq!(summary.violations, Vec::<String>::new());
    assert!(summary.bought > 60);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_join_outlives_a_kill_among_joins() {
    let mut setup = Setup::demo("chaos").unwrap();
    setup.config.event("drop", "capacity", 1).unwrap();
    let mut stack = Stack::start(setup).await.unwrap();
    let mut kept = Vec::new();
    for round in 0..3 {
        let mut joins = JoinSet::new();
        let (tell, mut told) = mpsc::unbounded_channel();
        for nth in 0..JOINS {
            let mut device = stack.device(Ipv4Addr::new(10, round, 0, nth));
            let tell = tell.clone();
            joins.spawn(async move {
                tokio::time::sleep(Duration::from_millis(u64::from(nth) * 3)).await;
                let reply = join(&mut device).await.filter(|reply| reply["ticketNumber"].is_u64())?;
                let _ = tell.send(());
                Some((device, reply))
            });
        }
        drop(tell);
        for _ in 0..ACKNOWLEDGED_BEFORE_THE_KILL {
            told.recv().await.unwrap();
        }
        stack.queue_server.kill();
        let acknowledged: Vec<_> = joins.join_all().await.into_iter().flatten().collect();
        kept.extend(acknowledged);
        stack.queue_server.restart().await.unwrap();
    }
    assert!(kept.len() < 3 * usize::from(JOINS), "no kill fell among the joins");

    let numbers: BTreeSet<u64> = kept.iter().map(|(_, reply)| number_of(reply)).collect();
    assert_eq!(numbers.len(), kept.len(), "no number is given twice");
    for (device, reply) in &mut kept {
        let again = join(device).await.unwrap();
        assert_eq!(number_of(&again), number_of(reply), "the place is kept");
    }
    let newcomer = join(&mut stack.device(Ipv4Addr::new(10, 9, 0, 1))).await.unwrap();
    assert!(number_of(&newcomer) > *numbers.last().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_still_counted_after_a_kill() {
    let mut setup = Setup::demo("chaos").unwrap();
    setup.config.event("drop", "capacity", 3).unwrap();
    let mut stack = Stack::start(setup).await.unwrap();
    let item = json!({ "sku": "A-1", "quantity": 1 });
    let mut inside = Vec::new();
    for nth in 0..3 {
        let mut device = stack.device(Ipv4Addr::new(10, 0, 0, nth));
        assert_eq!(device.post("/api/cart/items", &item).await.unwrap().status, 201);
        inside.push(device);
    }
    stack.queue_server.kill();
    for device in &mut inside {
        let reply = device.post("/api/cart/items", &item).await.unwrap();
        assert_eq!(reply.status, 201, "passes work while the server is gone");
    }
    stack.queue_server.restart().await.unwrap();
    let mut outside = stack.device(Ipv4Addr::new(10, 0, 1, 1));
    assert_eq!(outside.post("/api/cart/items", &item).await.unwrap().status, 429, "the shop is still full");
    let redeemed = inside[0].post("/.fairgate/events/drop/ticket/redeem", &json!({})).await.unwrap();
    assert_eq!(redeemed.status, 200, "the same session gives the same pass");
    assert_eq!(inside[0].pass_jti("drop").unwrap(), "drop:1:0:1");
}

async fn join(device: &mut Device) -> Option<Value> {
    let reply = device.post("/.fairgate/events/drop/ticket", &json!({})).await.ok()?;
    Some(reply.json())
}

fn number_of(reply: &Value) -> u64 {
    reply["ticketNumber"].as_u64().unwrap_or_else(|| panic!("no ticket number in {reply}"))
}

const JOINS: u8 = 120;
const ACKNOWLEDGED_BEFORE_THE_KILL: usize = 15;
