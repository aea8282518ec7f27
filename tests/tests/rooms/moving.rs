//! From one server with its own disk to several with Redis, in the middle of a sale.

use serde_json::json;
use std::net::Ipv4Addr;
use std::process::Command;
use tests::chaos::{JOIN, REDEEM, join, setup};
use tests::device::{Clock, Device};
use tests::redis::RedisServer;
use tests::stack::fleet::Fleet;
use tests::stack::programs;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rooms_move_to_redis_without_losing_a_place() {
    let redis = RedisServer::start().await.unwrap();
    let mut on_disk = setup(redis.url(), 2).unwrap();
    (on_disk.servers, on_disk.embedded) = (1, true);
    let mut fleet = Fleet::start(on_disk).await.unwrap();
    let mut buyers = Vec::new();
    for _ in 0..6 {
        let mut device = Device::new(&fleet.client, fleet.addresses[0], Ipv4Addr::LOCALHOST, Clock::start());
        let number = join(&mut device).await.unwrap();
        buyers.push((device, number));
    }
    let early = move_rooms(&fleet, &redis);
    assert!(early.contains("is in use by another fairgate"), "{early}");
    fleet.servers[0].kill();
    let moved = move_rooms(&fleet, &redis);
    assert!(moved.contains("drop: ") && moved.contains(" records moved."), "{moved}");
    let again = move_rooms(&fleet, &redis);
    assert!(again.contains("has a room of drop already"), "{again}");

    fleet.keep_in(&redis.url()).unwrap();
    fleet.servers[0].restart().await.unwrap();
    fleet.leader_among(|_| true).await.unwrap();
    for (device, number) in &mut buyers {
        let inside = device.pass_jti("drop");
        if inside.is_some() {
            let reply = device.post(REDEEM, &json!({})).await.unwrap();
            assert_eq!((reply.status, device.pass_jti("drop")), (200, inside), "a session was lost");
        } else {
            let reply = device.post(JOIN, &json!({})).await.unwrap();
            assert_eq!(reply.json()["ticketNumber"].as_u64(), Some(*number), "a place was lost");
        }
    }
    let mut newcomer = Device::new(&fleet.client, fleet.addresses[0], Ipv4Addr::LOCALHOST, Clock::start());
    let number = join(&mut newcomer).await.unwrap();
    assert!(buyers.iter().all(|(_, known)| *known < number), "{number}");
}

/// What the command says, good or bad.
fn move_rooms(fleet: &Fleet, redis: &RedisServer) -> String {
    fleet.keep_in(&redis.url()).unwrap();
    let mut command = Command::new(programs::queue_server().unwrap());
    command.args(["store", "move", "--config"]).arg(fleet.config_file(0));
    let output = command.arg("--data-dir").arg(fleet.data_dir(0)).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
