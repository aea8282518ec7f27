//! A trap in the Worker, planted: the requests that were inside get a clean 500, the next one finds a sound instance.

use shared::http::problem::Problem;
use shared::http::reason::Reason;
use std::net::Ipv4Addr;
use std::time::Duration;
use tests::device::{Clock, Device, Reply};
use tests::stack::edge::{Edge, EdgeSetup};
use tests::stack::free_addresses;
use tests::stack::programs::Programs;
use tests::stack::run_dir::{RunDir, target_dir};

/// The edge alone, built with planted faults: they come before anything that needs a configuration.
async fn planted_edge(dir: &RunDir) -> Edge {
    let [address] = free_addresses().unwrap();
    let setup = EdgeSetup {
        workerd: Programs::built().unwrap().workerd,
        bundle: target_dir().join("edge-plant"),
        config: String::new(),
        keys: String::new(),
        address,
        data_dir: dir.path().join("limits"),
        log: dir.path().join("edge.log"),
        ready_path: path("sound"),
    };
    Edge::start(setup).await.unwrap()
}

fn path(fault: &str) -> String {
    format!("/.fairgate/plant/{fault}")
}

fn device(edge: &Edge) -> Device {
    let client = reqwest::Client::builder().timeout(Duration::from_secs(10)).build().unwrap();
    Device::new(&client, edge.address, Ipv4Addr::new(10, 1, 0, 1), Clock::start())
}

async fn get(edge: &Edge, fault: &str) -> Reply {
    device(edge).get(&path(fault)).await.unwrap()
}

/// The entry module writes this refusal without `shared`, and to the letter as `shared` would.
#[track_caller]
fn assert_internal(reply: &Reply) {
    let request_id = reply.json()["requestId"].as_str().unwrap_or_default().to_owned();
    let expected = Problem::new(Reason::Internal).request_id(request_id);
    assert_eq!(reply.status, expected.status());
    assert_eq!(String::from_utf8_lossy(&reply.body), expected.body());
    for (name, value) in expected.headers() {
        assert_eq!(reply.header(name), Some(value.as_str()));
    }
}

#[tokio::test]
async fn every_trap_is_answered_and_survived() {
    let dir = RunDir::create("worker-panic").unwrap();
    let edge = planted_edge(&dir).await;
    for fault in ["panic", "panic-after-io", "panic-in-object", "stack-overflow"] {
        for _twice in 0..2 {
            assert_internal(&get(&edge, fault).await);
            assert_eq!(get(&edge, "sound").await.status, 200, "after {fault}");
            assert_eq!(get(&edge, "sound-object").await.status, 200, "after {fault}");
        }
    }
}

#[tokio::test]
async fn whoever_was_inside_is_answered_at_once() {
    let dir = RunDir::create("worker-panic").unwrap();
    let edge = planted_edge(&dir).await;
    // The slow request takes 20 s, longer than the client waits.
    let bystander = async { assert_internal(&get(&edge, "slow").await) };
    let panics = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_internal(&get(&edge, "panic-after-io").await);
    };
    tokio::join!(bystander, panics);
    assert_eq!(get(&edge, "sound").await.status, 200);
}
