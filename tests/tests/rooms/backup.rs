//! A copy of the rooms, made while their server runs.

use serde_json::json;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use tests::chaos::{Crowd, JOIN, REDEEM, join, setup};
use tests::device::{Clock, Device};
use tests::stack::fleet::Fleet;
use tests::stack::programs;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_a_running_server_holds_every_place_that_was_acknowledged_before() {
    let mut setup = setup(String::new(), 2).unwrap();
    (setup.servers, setup.embedded) = (1, true);
    let mut fleet = Fleet::start(setup).await.unwrap();
    let mut buyers = Vec::new();
    for _ in 0..6 {
        let mut device = Device::new(&fleet.client, fleet.addresses[0], Ipv4Addr::LOCALHOST, Clock::start());
        let number = join(&mut device).await.unwrap();
        buyers.push((device, number));
    }
    let crowd = Crowd::gather(&fleet, 8, std::time::Duration::from_millis(1), 1).unwrap();
    crowd.more(20, |_| true).await.unwrap();
    let copy = fleet.dir.path().join("copy.redb");
    let told = back_up(&fleet.data_dir(0), &copy);
    assert!(told.contains(" records are in "), "{told}");
    let again = back_up(&fleet.data_dir(0), &copy);
    assert!(again.contains("exists already"), "{again}");
    crowd.more(20, |_| true).await.unwrap();
    crowd.go_home().await.unwrap();
    fleet.servers[0].kill();

    let stopped = fleet.dir.path().join("stopped.redb");
    assert!(back_up(&fleet.data_dir(0), &stopped).contains(" records are in "));
    assert!(stopped.exists());
    std::fs::rename(copy, fleet.data_dir(0).join("rooms.redb")).unwrap();
    fleet.servers[0].restart().await.unwrap();
    for (device, number) in &mut buyers {
        let inside = device.pass_jti("drop");
        let path = if inside.is_some() { REDEEM } else { JOIN };
        let reply = device.post(path, &json!({})).await.unwrap();
        match inside {
            Some(_) => {
                assert_eq!((reply.status, device.pass_jti("drop")), (200, inside), "a session was lost");
            }
            None => assert_eq!(reply.json()["ticketNumber"].as_u64(), Some(*number), "a place was lost"),
        }
    }
}

/// What the command says, good or bad.
fn back_up(data_dir: &Path, to: &Path) -> String {
    let mut command = Command::new(programs::queue_server().unwrap());
    let output = command.args(["store", "backup", "--to"]).arg(to).arg("--data-dir").arg(data_dir).output();
    let output = output.unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
