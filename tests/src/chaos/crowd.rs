//! Buyers who join, enter and leave at whichever server, and remember everything that they were told.

use crate::device::{Clock, Device};
use crate::stack::fleet::{Fleet, FleetSetup};
use anyhow::{Result, ensure};
use fastrand::Rng;
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Buyers at work until they are sent home.
pub struct Crowd {
    shared: Arc<Shared>,
    buyers: JoinSet<Result<Vec<Buyer>>>,
}

struct Shared {
    stop: AtomicBool,
    in_flight: AtomicU64,
    operations: AtomicU64,
    /// Acknowledged joins: when, and at which server.
    joined: Mutex<Vec<(Instant, SocketAddr)>>,
}

/// A buyer with an acknowledged place.
pub struct Buyer {
    pub device: Device,
    pub number: u64,
    /// The session, once inside, and when that was told.
    pub entered: Option<(String, Instant)>,
    /// When the place was given up, and whether that was acknowledged.
    pub left: Option<(Instant, bool)>,
    /// A position that was shown, and the higher one that was shown after it.
    pub rose: Option<(u64, u64)>,
}

impl Buyer {
    /// One who was told a place and nothing else.
    pub fn waiting(device: Device, number: u64) -> Self {
        Self { device, number, entered: None, left: None, rose: None }
    }
}

impl Crowd {
    /// `count` buyers at once; after each comes another one, `pause` later. Whose turn comes enters, and leaves now and then.
    pub fn gather(fleet: &Fleet, count: usize, pause: Duration, seed: u64) -> Result<Self> {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            in_flight: AtomicU64::new(0),
            operations: AtomicU64::new(0),
            joined: Mutex::default(),
        });
        // Who does not answer is left for another server.
        let impatience = if fleet.edge.is_some() { IMPATIENCE_AT_AN_EDGE } else { IMPATIENCE };
        let client = reqwest::Client::builder().timeout(impatience).build()?;
        let mut buyers = JoinSet::new();
        for nth in 0..count.saturating_add(WATCHERS) {
            let place = Counter { shared: Arc::clone(&shared), client: client.clone() };
            let rng = Rng::with_seed(seed.wrapping_mul(1_000).wrapping_add(u64::try_from(nth)?));
            if nth < count {
                buyers.spawn(place.serve(fleet.doors(), pause, rng));
            } else {
                buyers.spawn(place.watch(fleet.doors(), rng));
            }
        }
        Ok(Self { shared, buyers })
    }

    /// Operations that are sent and not answered.
    pub fn in_flight(&self) -> u64 {
        self.shared.in_flight.load(Ordering::Relaxed)
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.shared.operations.load(Ordering::Relaxed)
    }

    /// Waits until `count` more joins are acknowledged, by servers for which `by` holds; how long it took from now.
    pub async fn more(&self, count: usize, by: impl Fn(SocketAddr) -> bool) -> Result<Duration> {
        let asked = Instant::now();
        loop {
            let news = {
                let joined = self.shared.joined.lock().unwrap_or_else(PoisonError::into_inner);
                let since = joined.iter().filter(|(at, server)| *at > asked && by(*server));
                since.map(|(at, _)| *at).nth(count.saturating_sub(1))
            };
            if let Some(at) = news {
                return Ok(at - asked);
            }
            ensure!(asked.elapsed() < PATIENCE, "{count} more joins were not acknowledged in {PATIENCE:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Everybody who was told a place.
    pub async fn go_home(self) -> Result<Vec<Buyer>> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let mut buyers = Vec::new();
        for kept in self.buyers.join_all().await {
            buyers.extend(kept?);
        }
        Ok(buyers)
    }
}

/// Where one buyer after the other comes from.
struct Counter {
    shared: Arc<Shared>,
    client: reqwest::Client,
}

impl Counter {
    async fn serve(self, addresses: Vec<SocketAddr>, pause: Duration, mut rng: Rng) -> Result<Vec<Buyer>> {
        let mut kept = Vec::new();
        let mut asks_again = 0;
        while !self.shared.stop.load(Ordering::Relaxed) && kept.len() < BUYERS_MAX {
            let server = addresses[rng.usize(..addresses.len())];
            let address = somewhere(&mut rng);
            let mut device = Device::new(&self.client, server, address, Clock::start());
            if let Some(number) = self.counted(join(&mut device)).await {
                self.shared
                    .joined
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((Instant::now(), server));
                let mut buyer = Buyer::waiting(device, number);
                buyer.device.edge = addresses[rng.usize(..addresses.len())];
                self.visit(&mut buyer, &mut rng).await;
                kept.push(buyer);
                self.ask_again(&mut kept, &mut asks_again, &mut rng).await;
                tokio::time::sleep(pause).await;
            } else {
                // Sooner than they are told to, but not so that a machine with two processors does nothing but refuse.
                tokio::time::sleep(AGAIN_AFTER).await;
            }
        }
        Ok(kept)
    }

    /// Whoever of those that wait came first looks whether the turn has come, so that people go in and out all along.
    async fn ask_again(&self, kept: &mut [Buyer], next: &mut usize, rng: &mut Rng) {
        while kept.get(*next).is_some_and(|buyer| buyer.entered.is_some()) {
            *next += 1;
        }
        if let Some(buyer) = kept.get_mut(*next) {
            self.visit(buyer, rng).await;
        }
    }

    /// Waits in line and looks at the position now and then, always at the same door.
    async fn watch(self, addresses: Vec<SocketAddr>, mut rng: Rng) -> Result<Vec<Buyer>> {
        let mut kept = Vec::new();
        while !self.shared.stop.load(Ordering::Relaxed) && kept.len() < BUYERS_MAX {
            let server = addresses[rng.usize(..addresses.len())];
            let mut device = Device::new(&self.client, server, somewhere(&mut rng), Clock::start());
            if let Some(number) = join(&mut device).await {
                let mut buyer = Buyer::waiting(device, number);
                if let Some(jti) = buyer.device.pass_jti("drop") {
                    buyer.entered = Some((jti, Instant::now()));
                }
                self.look(&mut buyer).await;
                kept.push(buyer);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(kept)
    }

    /// Polls until the turn comes.
    async fn look(&self, buyer: &mut Buyer) {
        let mut shown = u64::MAX;
        while !self.shared.stop.load(Ordering::Relaxed) {
            tokio::time::sleep(LOOK_EVERY).await;
            let Ok(poll) = buyer.device.get(JOIN).await else { continue };
            let poll = poll.json();
            if let Some(position) = poll["position"].as_u64() {
                if position > shown {
                    buyer.rose = Some((shown, position));
                }
                shown = position;
            } else if poll["state"].is_string() {
                return;
            }
        }
    }

    /// Enters if the turn has come, and half of those leave.
    async fn visit(&self, buyer: &mut Buyer, rng: &mut Rng) {
        if buyer.device.pass_jti("drop").is_none() {
            // Not your turn, a full door or a server that is gone: the place stays.
            let _ = self.counted(buyer.device.post(REDEEM, &json!({}))).await;
        }
        let Some(jti) = buyer.device.pass_jti("drop") else { return };
        buyer.entered = Some((jti, Instant::now()));
        if rng.bool() {
            tokio::time::sleep(Duration::from_millis(rng.u64(10..200))).await;
            let asked = Instant::now();
            let ticket = buyer.device.cookies.clone();
            let reply = self.counted(buyer.device.delete(JOIN)).await;
            // The ticket is kept to see that it is worth nothing any more.
            buyer.device.cookies = ticket;
            buyer.left = Some((asked, reply.is_ok_and(|reply| reply.status == 204)));
        }
    }

    async fn counted<T>(&self, operation: impl Future<Output = T>) -> T {
        self.shared.in_flight.fetch_add(1, Ordering::Relaxed);
        let answer = operation.await;
        self.shared.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.shared.operations.fetch_add(1, Ordering::Relaxed);
        answer
    }
}

/// An address of a private network, so that no limit by address is met.
fn somewhere(rng: &mut Rng) -> Ipv4Addr {
    let [_, b, c, d] = rng.u32(..).to_be_bytes();
    Ipv4Addr::new(10, b, c, d)
}

/// Three servers whose first room has this capacity, and sessions that end only when their buyer leaves.
pub fn setup(redis_url: String, capacity: u32) -> Result<FleetSetup> {
    let mut setup = FleetSetup::demo(redis_url)?;
    setup.config.event("drop", "capacity", i64::from(capacity))?;
    setup.config.event("drop", "pass_life_s", 3_600)?;
    setup.config.event("drop", "session_max_s", 3_600)?;
    Ok(setup)
}

/// The number of an acknowledged join.
pub async fn join(device: &mut Device) -> Option<u64> {
    let reply = device.post(JOIN, &json!({})).await.ok()?;
    reply.json()["ticketNumber"].as_u64()
}

pub const JOIN: &str = "/.fairgate/events/drop/ticket";
pub const REDEEM: &str = "/.fairgate/events/drop/ticket/redeem";
const IMPATIENCE: Duration = Duration::from_millis(700);
/// An edge waits for the queue server behind it.
const IMPATIENCE_AT_AN_EDGE: Duration = Duration::from_secs(4);
/// Buyers who only wait and look, beside the others.
const WATCHERS: usize = 8;
const LOOK_EVERY: Duration = Duration::from_millis(300);
const AGAIN_AFTER: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(20);
/// From one counter.
const BUYERS_MAX: usize = 400;
