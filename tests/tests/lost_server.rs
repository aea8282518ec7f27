//! A rush whose queue server dies and stays dead still ends with its table, and claims nothing. A test program of its own, so that
//! the one queue server that it starts can be told among all processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use clap::{Args, FromArgMatches};
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};
use tests::rush::Options;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rush_that_loses_its_server_says_what_is_missing() {
    let words = "rush --buyers 40 --arrive-over 3 --session 30 --capacity 2";
    let matches = Options::augment_args(clap::Command::new("rush")).get_matches_from(words.split(' '));
    let options = Options::from_arg_matches(&matches).unwrap();
    let started = Instant::now();
    let murder = async {
        let server = loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            if let Some(server) = queue_server_of_this_program() {
                break server;
            }
        };
        tokio::time::sleep(Duration::from_secs(3)).await;
        kill_process(server, Signal::KILL).unwrap();
    };
    let (summary, ()) = tokio::join!(tests::rush::run(&options), murder);
    let summary = summary.unwrap();
    let table = summary.to_string();
    assert!(table.contains("MISSING the queue server ended by itself"), "{table}");
    assert!(table.contains("proves nothing") && !table.contains("kept"), "{table}");
    assert!(summary.joined > 0, "{table}");
    assert!(started.elapsed() < Duration::from_secs(40), "{:?}", started.elapsed());
}

/// The process that serves from a run directory of this program.
fn queue_server_of_this_program() -> Option<Pid> {
    let mark = format!("run/rush-{}-", std::process::id());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|process| process.file_name().to_str()?.parse().ok()).find_map(|pid: i32| {
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        let is_server = command.contains(&mark) && command.contains("\0serve\0");
        Pid::from_raw(pid).filter(|_| is_server)
    })
}
