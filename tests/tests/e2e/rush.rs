//! A small rush keeps every promise, and every planted fault is caught.

use clap::{Args, FromArgMatches};
use tests::rush::{Options, Summary};

/// A rush as the command line would start it.
async fn rush(arguments: &str) -> Summary {
    let words = std::iter::once("rush").chain(arguments.split_whitespace());
    let matches = Options::augment_args(clap::Command::new("rush")).get_matches_from(words);
    let summary = tests::rush::run(&Options::from_arg_matches(&matches).unwrap()).await.unwrap();
    println!("{summary}");
    summary
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_rush_keeps_every_promise() {
    let summary =
        rush("--buyers 120 --arrive-over 3 --session 1 --leave-share 0.3 --bots 10 --capacity 10").await;
    assert_eq!(summary.violations, Vec::<String>::new());
    assert!(summary.bought >= 80, "{} of some 84 who stayed bought", summary.bought);
    assert!(summary.polls > 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_server_breaks_no_promise() {
    let summary = rush("--buyers 60 --arrive-over 3 --session 1 --capacity 5 --stall-server 4").await;
    assert_eq!(summary.violations, Vec::<String>::new());
}

/// The fault is found by its own check; others may be found beside it.
async fn caught(plant: &str, sign: &str, arguments: &str) {
    let summary = rush(&format!("--plant {plant} {arguments}")).await;
    let found = summary.violations.iter().any(|violation| violation.contains(sign));
    assert!(found, "{plant} was not caught: {:?}", summary.violations);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_door_that_is_off_by_one_is_caught() {
    let arguments = "--buyers 30 --arrive-over 1 --session 2 --leave-share 0 --capacity 5";
    caught("door_off_by_one", "6 sessions at once, capacity 5", arguments).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_bit_is_caught() {
    let arguments = "--buyers 60 --arrive-over 1 --session 1 --leave-share 0 --capacity 20";
    caught("bit_dropped", "redeemed again after its session ended", arguments).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reissued_number_is_caught() {
    let arguments = "--buyers 60 --arrive-over 1 --session 1 --leave-share 0 --capacity 10";
    caught("number_reissued", "and to buyer", arguments).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rising_position_is_caught() {
    let arguments = "--buyers 14 --arrive-over 1 --session 4 --leave-share 0 --capacity 2";
    caught("position_rising", "position rose", arguments).await;
}
