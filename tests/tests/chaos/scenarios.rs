//! Scenarios of `cargo xtask chaos`: the promises hold, and a checker that is given a broken program says so. The command runs all of
//! them, on as many seeds as one likes.

use tests::chaos::{self, Options, Scenario, Summary};
use tokio::sync::Mutex;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_without_its_redis_tells_nothing_that_the_next_one_takes_back() {
    holds(Scenario::PartitionLeader).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_loses_nothing_that_was_acknowledged_and_ends_by_itself() {
    holds(Scenario::DiskFull).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_rotate_in_mid_sale_and_every_server_hands_over() {
    holds(Scenario::RotateKeys).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_an_hour_ahead_and_behind_take_nothing_back() {
    holds(Scenario::SkewedClocks).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fence_that_is_ignored_is_found() {
    finds("fence_ignored").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_that_are_not_reserved_are_found() {
    finds("reservation_unwritten").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_is_found() {
    finds("clock_forward").await;
}

async fn holds(scenario: Scenario) {
    let summary = run(Some(scenario), None).await;
    assert_eq!(summary.violations, Vec::<String>::new());
    assert!(summary.in_flight >= 100, "a fault counts only among a crowd");
}

async fn finds(plant: &str) {
    let summary = run(None, Some(plant.to_owned())).await;
    assert!(!summary.violations.is_empty(), "{plant} was not found");
}

/// One run at a time: a crowd that waits for another crowd's processors is none.
async fn run(scenario: Option<Scenario>, plant: Option<String>) -> Summary {
    static TURN: Mutex<()> = Mutex::const_new(());
    let _turn = TURN.lock().await;
    let options = Options { scenario, seed: 1, seeds: 1, plant };
    let mut summaries = chaos::run(&options, |summary| println!("{summary}")).await.unwrap();
    summaries.pop().unwrap()
}
