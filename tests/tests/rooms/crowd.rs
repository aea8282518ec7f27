//! Buyers who join and try to enter at whichever server, and remember everything that they were told.

use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tests::device::{Clock, Device};
use tests::stack::fleet::{Fleet, FleetSetup};
use tokio::task::JoinSet;

/// Buyers at work until they are sent home.
pub(crate) struct Crowd {
    stop: Arc<AtomicBool>,
    told: Arc<Mutex<Vec<Told>>>,
    buyers: JoinSet<Vec<Buyer>>,
}

/// One acknowledged answer.
pub(crate) struct Told {
    pub(crate) at: Instant,
    /// The server that was asked.
    pub(crate) server: SocketAddr,
}

/// A buyer with an acknowledged place.
pub(crate) struct Buyer {
    device: Device,
    number: u64,
    /// The session, once inside.
    jti: Option<String>,
}

impl Buyer {
    pub(crate) fn waiting(device: Device, number: u64) -> Self {
        Self { device, number, jti: None }
    }
}

impl Crowd {
    /// `count` buyers come one after the other without a pause, at each server in turn.
    pub(crate) fn gather(fleet: &Fleet, count: usize) -> Self {
        let (stop, told) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        // Who does not answer is left for another server.
        let client = reqwest::Client::builder().timeout(IMPATIENCE).build().unwrap();
        let mut buyers = JoinSet::new();
        for lane in 0..count {
            let (stop, told) = (Arc::clone(&stop), Arc::clone(&told));
            let (client, addresses) = (client.clone(), fleet.addresses.clone());
            buyers.spawn(async move {
                let mut kept = Vec::new();
                let mut nth = lane;
                while !stop.load(Ordering::Relaxed) && kept.len() < BUYERS_MAX {
                    nth += 1;
                    let server = addresses[nth % addresses.len()];
                    let mut device = Device::new(&client, server, Ipv4Addr::LOCALHOST, Clock::start());
                    if let Some(number) = join(&mut device).await {
                        told.lock().unwrap().push(Told { at: Instant::now(), server });
                        // Somewhere else than it joined.
                        device.edge = addresses[(nth + 1) % addresses.len()];
                        let jti = enter(&mut device).await;
                        kept.push(Buyer { device, number, jti });
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                kept
            });
        }
        Self { stop, told, buyers }
    }

    pub(crate) fn count(&self) -> usize {
        self.told.lock().unwrap().len()
    }

    /// Waits until `count` more joins are acknowledged, by servers for which `by` holds; how long it took from now.
    pub(crate) async fn more(&self, count: usize, by: impl Fn(SocketAddr) -> bool) -> Duration {
        let asked = Instant::now();
        loop {
            let news = {
                let told = self.told.lock().unwrap();
                told.iter()
                    .filter(|told| told.at > asked && by(told.server))
                    .map(|told| told.at)
                    .nth(count - 1)
            };
            if let Some(at) = news {
                return at - asked;
            }
            assert!(asked.elapsed() < PATIENCE, "{} joins were acknowledged and no more", self.count());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Everybody who was told a place.
    pub(crate) async fn go_home(self) -> Vec<Buyer> {
        self.stop.store(true, Ordering::Relaxed);
        self.buyers.join_all().await.into_iter().flatten().collect()
    }
}

/// No number twice, never more inside than the capacity, and every place and session is still there.
pub(crate) async fn check(fleet: &Fleet, buyers: Vec<Buyer>, capacity: usize) {
    let numbers: BTreeSet<u64> = buyers.iter().map(|buyer| buyer.number).collect();
    assert_eq!(numbers.len(), buyers.len(), "a number was given twice");
    let mut inside: BTreeMap<String, u64> = BTreeMap::new();
    for buyer in &buyers {
        if let Some(jti) = &buyer.jti {
            assert_eq!(inside.insert(jti.clone(), buyer.number), None, "{jti} was given twice");
        }
    }
    // No session ends while a test runs.
    assert!(inside.len() <= capacity, "{} inside of {capacity}", inside.len());
    let alive = fleet.leader_among(|_| true).await.unwrap();
    for mut buyer in buyers {
        buyer.device.edge = fleet.addresses[alive];
        let number = join_patiently(&mut buyer.device).await;
        assert_eq!(number, buyer.number, "a place was lost");
        if let Some(jti) = buyer.jti {
            let redeemed = buyer.device.post(REDEEM, &json!({})).await.unwrap();
            assert_eq!(
                (redeemed.status, buyer.device.pass_jti("drop")),
                (200, Some(jti)),
                "a session was lost"
            );
        }
    }
}

/// Three servers whose first room has this capacity.
pub(crate) fn setup(redis_url: String, capacity: u32) -> FleetSetup {
    let mut setup = FleetSetup::demo(redis_url).unwrap();
    setup.config.event("drop", "capacity", i64::from(capacity)).unwrap();
    setup.config.event("drop", "pass_life_s", 3_600).unwrap();
    setup.config.event("drop", "session_max_s", 3_600).unwrap();
    setup
}

/// The number of an acknowledged join.
pub(crate) async fn join(device: &mut Device) -> Option<u64> {
    let reply = device.post(JOIN, &json!({})).await.ok()?;
    reply.json()["ticketNumber"].as_u64()
}

async fn join_patiently(device: &mut Device) -> u64 {
    let asked = Instant::now();
    loop {
        if let Some(number) = join(device).await {
            return number;
        }
        assert!(asked.elapsed() < PATIENCE, "a place cannot be asked for");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The session of an acknowledged pass. An arrival at an empty line may have one already.
pub(crate) async fn enter(device: &mut Device) -> Option<String> {
    if device.pass_jti("drop").is_none() {
        device.post(REDEEM, &json!({})).await.ok()?;
    }
    device.pass_jti("drop")
}

pub(crate) const JOIN: &str = "/.fairgate/events/drop/ticket";
pub(crate) const REDEEM: &str = "/.fairgate/events/drop/ticket/redeem";
const IMPATIENCE: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(20);
/// Of one who comes again and again.
const BUYERS_MAX: usize = 400;
