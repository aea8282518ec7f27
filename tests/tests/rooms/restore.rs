//! A copy of the rooms takes the place of what was there, or of what was lost, and no number is given twice.

use serde_json::json;
use shared::ids::Place;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use tests::chaos::{JOIN, REDEEM, join, setup};
use tests::device::{Clock, Device};
use tests::stack::fleet::Fleet;
use tests::stack::programs;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_joined_before_and_since_the_copy_keeps_the_place_and_no_newcomer_gets_it() {
    let mut fleet = alone().await;
    let before = joined(&fleet, 6).await;
    let copy = back_up(&fleet);
    let since = joined(&fleet, 100).await;
    let data_dir = fleet.data_dir(0);
    let early = restore(&fleet, &copy, &data_dir, &["--joined", "100", "--force"]);
    assert!(early.contains("is in use by another fairgate"), "{early}");
    fleet.servers[0].kill();
    let kept = fs::read(data_dir.join(ROOMS)).unwrap();
    let refused = restore(&fleet, &copy, &data_dir, &["--joined", "100"]);
    assert!(refused.contains("holds rooms: with --force they are set aside"), "{refused}");
    assert!(fs::read(data_dir.join(ROOMS)).unwrap() == kept, "nothing was changed");
    let told = restore(&fleet, &copy, &data_dir, &["--joined", "100", "--force"]);
    assert!(told.contains("drop: 2 inside, 4 wait"), "{told}");
    let aside = told.split_once("is kept as ").unwrap().1.trim().trim_end_matches('.');
    assert!(fs::read(aside).unwrap() == kept, "what was there is there");
    assert!(!data_dir.join("rooms.restored.partial").exists());

    fleet.servers[0].restart().await.unwrap();
    let mut places = Vec::new();
    for (mut device, place) in before.into_iter().chain(since) {
        come_again(&mut device).await;
        assert_eq!(device.ticket_place("drop"), Some(place), "a place was lost");
        places.push(place);
    }
    for (_, place) in joined(&fleet, 100).await {
        assert_eq!(place.epoch, places[0].epoch);
        assert!(!places.contains(&place), "{place:?} is another's");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_disk_is_replaced_by_its_copy_and_without_a_word_of_the_joins_every_ticket_is_void() {
    let mut fleet = alone().await;
    let mut buyers = joined(&fleet, 6).await;
    let copy = back_up(&fleet);
    fleet.servers[0].kill();
    let (data_dir, lost) = (fleet.data_dir(0), fleet.dir.path().join("lost"));
    fs::rename(&data_dir, &lost).unwrap();
    let keyless = restore(&fleet, &copy, &data_dir, &[]);
    assert!(keyless.contains("holds no keys.toml"), "{keyless}");
    fs::copy(lost.join("keys.toml"), data_dir.join("keys.toml")).unwrap();
    let empty = fleet.dir.path().join("empty.redb");
    fs::write(&empty, "").unwrap();
    for (no_copy, why) in [
        (lost.join("limits.redb"), "it holds no rooms"),
        (empty, "it holds no rooms"),
        (fleet.config_file(0), "cannot be read"),
        (lost.join("nothing"), "No such file"),
    ] {
        let told = restore(&fleet, &no_copy, &data_dir, &[]);
        assert!(told.contains("is no copy of rooms that can be used") && told.contains(why), "{told}");
        assert!(!data_dir.join(ROOMS).exists() && !data_dir.join("rooms.restored.partial").exists());
    }
    let told = restore(&fleet, &copy, &data_dir, &[]);
    assert!(told.contains("drop: 2 inside. Every ticket is void"), "{told}");

    fleet.servers[0].restart().await.unwrap();
    for (device, place) in &mut buyers {
        let inside = device.pass_jti("drop");
        if inside.is_some() {
            let renewed = device.post(RENEW, &json!({})).await.unwrap();
            assert_eq!(
                (renewed.code(), device.pass_jti("drop")),
                (String::new(), inside),
                "a session was lost"
            );
        } else {
            come_again(device).await;
            let new = device.ticket_place("drop").unwrap();
            assert!(new.epoch > place.epoch, "{new:?} may be another's");
        }
    }
}

async fn alone() -> Fleet {
    let mut setup = setup(String::new(), 2).unwrap();
    (setup.servers, setup.embedded) = (1, true);
    Fleet::start(setup).await.unwrap()
}

/// So many who have just joined, with their places.
async fn joined(fleet: &Fleet, count: usize) -> Vec<(Device, Place)> {
    let mut buyers = Vec::new();
    for _ in 0..count {
        let mut device = Device::new(&fleet.client, fleet.addresses[0], Ipv4Addr::LOCALHOST, Clock::start());
        join(&mut device).await.unwrap();
        let place = device.ticket_place("drop").unwrap();
        buyers.push((device, place));
    }
    buyers
}

/// What a buyer's browser does who is back.
async fn come_again(device: &mut Device) {
    let path = if device.pass_jti("drop").is_some() { REDEEM } else { JOIN };
    assert!(device.post(path, &json!({})).await.unwrap().status < 300);
}

fn back_up(fleet: &Fleet) -> std::path::PathBuf {
    let copy = fleet.dir.path().join("copy.redb");
    let mut command = Command::new(programs::queue_server().unwrap());
    command.args(["store", "backup", "--to"]).arg(&copy).arg("--data-dir").arg(fleet.data_dir(0));
    assert!(command.status().unwrap().success());
    copy
}

/// What the command says, good or bad.
fn restore(fleet: &Fleet, copy: &Path, data_dir: &Path, options: &[&str]) -> String {
    let mut command = Command::new(programs::queue_server().unwrap());
    command.args(["store", "restore"]).args(options).arg("--from").arg(copy);
    command.arg("--config").arg(fleet.config_file(0)).arg("--data-dir").arg(data_dir);
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

const RENEW: &str = "/.fairgate/events/drop/session/renew";
const ROOMS: &str = "rooms.redb";
