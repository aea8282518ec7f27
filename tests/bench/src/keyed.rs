//! A text key in, a decision out: ours, governor and throttlecrab in turns, each with the clock it has in use.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use bench::{KEYS, names};
use governor::{DefaultKeyedRateLimiter, Quota};
use shared::limiter::Policy;
use shared::limiter::check::Charge;
use shared::limiter::gcra::GcraPolicy;
use shared::limiter::key::{LocalKeys, TableSeed};
use shared::limiter::table::{LimiterTable, ShardedTable};
use shared::time::Timestamp;
use throttlecrab::{PeriodicStore, RateLimiter};

use crate::figure::{Figure, median};

/// One limiter that was told a rate, and is asked for one unit at a time. Keys are `String`s, as governor stores them.
trait Contestant: Sync {
    fn name(&self) -> &'static str;
    fn passes(&self, key: &String) -> bool;
}

/// Rates that let everything pass, or nearly nothing; both with a burst of one second.
const RATES: [(&str, u32); 2] = [("all pass", 1_000_000), ("nearly all refused", 1)];

pub(crate) fn figures(rounds: usize) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (traffic, rate) in RATES {
        figures.push(alone(traffic, rate, rounds)?);
        for threads in [1, 2] {
            figures.push(shared_by(threads, traffic, rate, rounds)?);
        }
    }
    Ok(figures)
}

/// One owner, as in a Durable Object: ours and throttlecrab have no lock, governor cannot be had without.
fn alone(traffic: &str, rate: u32, rounds: usize) -> Result<Figure> {
    let names = names(KEYS);
    let order = order(&names);
    let clock = ProcessClock::start();
    let (mut ours, hashes) = (LimiterTable::new(KEYS, SEED), LocalKeys::new(SEED, "shop", "cart")?);
    let policy = policy(rate)?;
    let governor = Governor::new(rate)?;
    let mut crab = RateLimiter::new(PeriodicStore::with_capacity(KEYS));
    let mut samples = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..=rounds {
        let ns = [
            time(&order, |key| {
                let key = hashes.hash(key.as_bytes()).ok()?;
                Some(ours.check_one(&Charge::new(policy, key, 1), clock.now()).is_allowed())
            }),
            time(&order, |key| Some(governor.passes(key))),
            time(&order, |key| crab_passes(&mut crab, key, rate)),
        ];
        // The first round fills the tables.
        if round > 0 {
            samples.iter_mut().zip(ns).for_each(|(samples, ns)| samples.push(ns));
        }
    }
    Ok(figure(format!("GCRA keyed, 1 owner, {traffic}"), &["ours", "governor", "throttlecrab"], &samples))
}

/// Several threads, as in a server: ours in shards, throttlecrab behind the lock that its documentation asks for.
fn shared_by(threads: usize, traffic: &str, rate: u32, rounds: usize) -> Result<Figure> {
    let contestants: [Box<dyn Contestant>; 3] =
        [Box::new(Ours::new(rate)?), Box::new(Governor::new(rate)?), Box::new(Crab::new(rate))];
    let names = names(KEYS);
    let orders: Vec<Vec<&String>> = (0..threads).map(|thread| rotated(order(&names), thread)).collect();
    let mut samples = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for (samples, contestant) in samples.iter_mut().zip(&contestants) {
            let ns = slowest_thread(contestant.as_ref(), &orders);
            if round > 0 {
                samples.push(ns);
            }
        }
    }
    let names = contestants.each_ref().map(|contestant| contestant.name());
    Ok(figure(format!("GCRA keyed, {threads} threads, {traffic}"), &names, &samples))
}

/// Each round's time of ours, the first, by the better of the others.
fn figure(name: String, names: &[&str; 3], samples: &[Vec<f64>; 3]) -> Figure {
    let [ours, governor, crab] = samples;
    let ratio = |((ours, governor), crab): ((&f64, &f64), &f64)| ours / governor.min(*crab);
    let ratios = ours.iter().zip(governor).zip(crab).map(ratio).collect();
    let note: Vec<String> =
        names.iter().zip(samples).map(|(name, ns)| format!("{name} {:.0} ns", median(ns))).collect();
    Figure { name, unit: "ratio", at_most: Some(0.8), samples: ratios, note: note.join(", ") }
}

fn slowest_thread(contestant: &dyn Contestant, orders: &[Vec<&String>]) -> f64 {
    let start = Barrier::new(orders.len());
    thread::scope(|scope| {
        let spawn = |order| {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                time(order, |key| Some(contestant.passes(key)))
            })
        };
        let threads: Vec<_> = orders.iter().map(|order| spawn(order.as_slice())).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).fold(0.0, f64::max)
    })
}

/// ns a call of `passes`, over [`CALLS`] of them.
fn time(order: &[&String], mut passes: impl FnMut(&String) -> Option<bool>) -> f64 {
    let mut passed = 0_usize;
    let ns = crate::figure::ns_each(CALLS, || {
        for key in order.iter().cycle().take(CALLS) {
            passed += usize::from(passes(black_box(key)) == Some(true));
        }
    });
    black_box(passed);
    ns
}

/// The keys, each four times, in an order that no prefetcher guesses and that is the same for everybody.
fn order(names: &[String]) -> Vec<&String> {
    let mut order: Vec<&String> = names.iter().cycle().take(4 * names.len()).collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for last in (1..order.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(last, usize::try_from(state >> 33).unwrap_or(0) % (last + 1));
    }
    order
}

fn rotated(mut order: Vec<&String>, thread: usize) -> Vec<&String> {
    let start = thread * order.len() / 2 % order.len();
    order.rotate_left(start);
    order
}

fn policy(rate: u32) -> Result<Policy> {
    Ok(Policy::Gcra(GcraPolicy::new(rate.into(), rate.into(), Duration::from_secs(1))?))
}

/// The clock of the queue server: wall time at the start, and monotonic time since.
struct ProcessClock {
    started_at: Timestamp,
    start: Instant,
}

impl ProcessClock {
    fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started_at: Timestamp::default().saturating_add(wall), start: Instant::now() }
    }

    fn now(&self) -> Timestamp {
        self.started_at.saturating_add(self.start.elapsed())
    }
}

struct Ours {
    table: ShardedTable,
    hashes: LocalKeys,
    policy: Policy,
    clock: ProcessClock,
}

impl Ours {
    fn new(rate: u32) -> Result<Self> {
        let hashes = LocalKeys::new(SEED, "shop", "cart")?;
        // Room for every key, however unevenly the shards get them.
        let table = ShardedTable::new(8 * KEYS, SEED);
        Ok(Self { table, hashes, policy: policy(rate)?, clock: ProcessClock::start() })
    }
}

impl Contestant for Ours {
    fn name(&self) -> &'static str {
        "ours"
    }

    fn passes(&self, key: &String) -> bool {
        self.hashes.hash(key.as_bytes()).is_ok_and(|key| {
            self.table.check_one(&Charge::new(self.policy, key, 1), self.clock.now()).is_allowed()
        })
    }
}

/// With its defaults: a sharded map, the clock of the processor.
struct Governor(DefaultKeyedRateLimiter<String>);

impl Governor {
    fn new(rate: u32) -> Result<Self> {
        let rate = NonZeroU32::new(rate).context("a rate of 0")?;
        Ok(Self(DefaultKeyedRateLimiter::keyed(Quota::per_second(rate))))
    }
}

impl Contestant for Governor {
    fn name(&self) -> &'static str {
        "governor"
    }

    fn passes(&self, key: &String) -> bool {
        self.0.check_key(key).is_ok()
    }
}

struct Crab(Mutex<RateLimiter<PeriodicStore>>, u32);

impl Crab {
    fn new(rate: u32) -> Self {
        Self(Mutex::new(RateLimiter::new(PeriodicStore::with_capacity(KEYS))), rate)
    }
}

impl Contestant for Crab {
    fn name(&self) -> &'static str {
        "throttlecrab"
    }

    fn passes(&self, key: &String) -> bool {
        self.0.lock().is_ok_and(|mut limiter| crab_passes(&mut limiter, key, self.1) == Some(true))
    }
}

fn crab_passes(limiter: &mut RateLimiter<PeriodicStore>, key: &str, rate: u32) -> Option<bool> {
    limiter.rate_limit(key, rate.into(), rate.into(), 1, 1, SystemTime::now()).ok().map(|(passes, _)| passes)
}

const SEED: TableSeed = TableSeed([7; 16]);
const CALLS: usize = 200_000;
