//! A text key in, a decision out: ours, governor and throttlecrab in turns.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use bench::{KEYS, names};
use governor::clock::{Clock, DefaultClock, FakeRelativeClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use shared::limiter::Policy;
use shared::limiter::check::Charge;
use shared::limiter::gcra::GcraPolicy;
use shared::limiter::key::{LocalKeys, TableSeed};
use shared::limiter::table::ShardedTable;
use shared::time::Timestamp;
use throttlecrab::{PeriodicStore, RateLimiter as CrabLimiter};

use crate::figure::{Figure, cpu_ns_each, median, ns_each};

/// One limiter that was told a rate, and is asked for one unit at a time. Keys are `String`s, as governor stores them.
trait Contestant: Sync {
    fn name(&self) -> &'static str;
    #[expect(clippy::ptr_arg, reason = "governor looks a key up as it stores it")]
    fn passes(&self, key: &String, given: Timestamp) -> bool;
}

/// Who tells the time of a check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Time {
    /// The caller, who read it once for many checks.
    Given,
    /// Each limiter reads the clock that it has in use: the processor's counter (governor), the system's (the others).
    Read,
}

/// Rates that let everything pass, or nearly nothing; both with a burst of one second.
const RATES: [(&str, u32); 2] = [("all pass", 1_000_000), ("nearly all refused", 1)];

pub(crate) fn figures(rounds: usize) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (clock, time) in [("time given", Time::Given), ("own clocks", Time::Read)] {
        for (traffic, rate) in RATES {
            for threads in [1, 2] {
                let contestants = contestants(time, rate)?;
                let plural = if threads == 1 { "" } else { "s" };
                let name = format!("GCRA keyed, {threads} thread{plural}, {clock}, {traffic}");
                figures.push(figure(name, &contestants, &race(&contestants, threads, rounds)));
            }
        }
    }
    Ok(figures)
}

fn contestants(time: Time, rate: u32) -> Result<[Box<dyn Contestant>; 3]> {
    let governor: Box<dyn Contestant> = match time {
        Time::Given => Box::new(Governor::new(rate, FakeRelativeClock::default())?),
        Time::Read => Box::new(Governor::new(rate, DefaultClock::default())?),
    };
    Ok([Box::new(Ours::new(rate, time)?), governor, Box::new(Crab::new(rate, time))])
}

/// The times of each contestant in ns a check, a sample a round, all in turns.
fn race(contestants: &[Box<dyn Contestant>; 3], threads: usize, rounds: usize) -> [Vec<f64>; 3] {
    let names = names(KEYS);
    let orders: Vec<Vec<&String>> = (0..threads).map(|thread| rotated(order(&names), thread)).collect();
    let mut samples = [Vec::new(), Vec::new(), Vec::new()];
    // The first round fills the tables.
    for round in 0..=rounds {
        for (samples, contestant) in samples.iter_mut().zip(contestants) {
            let ns = slowest_thread(contestant.as_ref(), &orders);
            if round > 0 {
                samples.push(ns);
            }
        }
    }
    samples
}

/// Each round's time of ours, the first, by the better of the others.
fn figure(name: String, contestants: &[Box<dyn Contestant>; 3], samples: &[Vec<f64>; 3]) -> Figure {
    let [ours, governor, crab] = samples;
    let ratio = |((ours, governor), crab): ((&f64, &f64), &f64)| ours / governor.min(*crab);
    let ratios = ours.iter().zip(governor).zip(crab).map(ratio).collect();
    let medians = contestants.iter().zip(samples);
    let note: Vec<String> =
        medians.map(|(contestant, ns)| format!("{} {:.0} ns", contestant.name(), median(ns))).collect();
    Figure { name, unit: "ratio", at_most: Some(0.8), samples: ratios, note: note.join(", ") }
}

/// One thread is timed on its processor; several wait for each other too, and are timed on the wall.
fn slowest_thread(contestant: &dyn Contestant, orders: &[Vec<&String>]) -> f64 {
    if let [order] = orders {
        return time(order, contestant, |count, work| cpu_ns_each(count, work));
    }
    let start = Barrier::new(orders.len());
    thread::scope(|scope| {
        let spawn = |order| {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                time(order, contestant, |count, work| ns_each(count, work))
            })
        };
        let threads: Vec<_> = orders.iter().map(|order| spawn(order.as_slice())).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).fold(0.0, f64::max)
    })
}

/// ns a check, over [`CALLS`] of them.
fn time(
    order: &[&String],
    contestant: &dyn Contestant,
    timed: impl FnOnce(usize, &mut dyn FnMut()) -> f64,
) -> f64 {
    let mut now = Timestamp::from_millis(1_764_480_000_000);
    let mut passed = 0_usize;
    let ns = timed(CALLS, &mut || {
        for key in order.iter().cycle().take(CALLS) {
            now = now.saturating_add(Duration::from_micros(1));
            passed += usize::from(contestant.passes(black_box(key), now));
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
    clock: Option<ProcessClock>,
}

impl Ours {
    fn new(rate: u32, time: Time) -> Result<Self> {
        let policy = Policy::Gcra(GcraPolicy::new(rate.into(), rate.into(), Duration::from_secs(1))?);
        let hashes = LocalKeys::new(SEED, "shop", "cart")?;
        let clock = (time == Time::Read).then(ProcessClock::start);
        Ok(Self { table: ShardedTable::new(SERVER_KEYS_MAX, SEED), hashes, policy, clock })
    }
}

impl Contestant for Ours {
    fn name(&self) -> &'static str {
        "ours"
    }

    fn passes(&self, key: &String, given: Timestamp) -> bool {
        let now = self.clock.as_ref().map_or(given, ProcessClock::now);
        let key = self.hashes.hash(key.as_bytes());
        key.is_ok_and(|key| self.table.check_one(&Charge::new(self.policy, key, 1), now).is_allowed())
    }
}

/// With its defaults, but for the clock.
struct Governor<C: Clock>(RateLimiter<String, DashMapStateStore<String>, C, NoOpMiddleware<C::Instant>>);

impl<C: Clock> Governor<C> {
    fn new(rate: u32, clock: C) -> Result<Self> {
        let rate = NonZeroU32::new(rate).context("a rate of 0")?;
        Ok(Self(RateLimiter::new(Quota::per_second(rate), DashMapStateStore::default(), clock)))
    }
}

impl<C: Clock + Sync> Contestant for Governor<C>
where
    C::Instant: Sync,
{
    fn name(&self) -> &'static str {
        "governor"
    }

    fn passes(&self, key: &String, _given: Timestamp) -> bool {
        self.0.check_key(key).is_ok()
    }
}

/// Behind the lock that its documentation asks for.
struct Crab {
    limiter: Mutex<CrabLimiter<PeriodicStore>>,
    rate: i64,
    time: Time,
}

impl Crab {
    fn new(rate: u32, time: Time) -> Self {
        let limiter = Mutex::new(CrabLimiter::new(PeriodicStore::with_capacity(KEYS)));
        Self { limiter, rate: rate.into(), time }
    }
}

impl Contestant for Crab {
    fn name(&self) -> &'static str {
        "throttlecrab"
    }

    fn passes(&self, key: &String, given: Timestamp) -> bool {
        let now = match self.time {
            Time::Given => UNIX_EPOCH + Duration::from_micros(given.as_micros()),
            Time::Read => SystemTime::now(),
        };
        let Ok(mut limiter) = self.limiter.lock() else { return false };
        limiter.rate_limit(key, self.rate, self.rate, 1, 1, now).is_ok_and(|(passes, _)| passes)
    }
}

const SEED: TableSeed = TableSeed([7; 16]);

/// A table as a server has it.
const SERVER_KEYS_MAX: usize = 1 << 20;

/// A few milliseconds of them, so that whatever else the machine does meets few of the samples.
const CALLS: usize = 40_000;
