//! What a figure says, and how time is taken.

use std::time::{Duration, Instant};

use anyhow::Result;
use bench::{GcraLoop, KEYS};
use serde::Serialize;

/// One line of the table: a sample a round.
#[derive(Serialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    /// The median passes up to here; `None` where nothing was promised.
    pub(crate) at_most: Option<f64>,
    pub(crate) samples: Vec<f64>,
    /// What the samples were made of.
    pub(crate) note: String,
}

impl Figure {
    pub(crate) fn print(&self) -> Result<()> {
        println!("{}", serde_json::to_string(self)?);
        Ok(())
    }
}

/// Nanoseconds a piece of `work` that was done `count` times in one go, as the clock on the wall tells.
#[expect(clippy::cast_precision_loss, reason = "a figure has three digits")]
pub(crate) fn ns_each(count: usize, work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_nanos() as f64 / count as f64
}

/// [`ns_each`] by the time that this thread had on a processor, which others who want it too do not lengthen.
#[expect(clippy::cast_precision_loss, reason = "a figure has three digits")]
pub(crate) fn cpu_ns_each(count: usize, work: impl FnOnce()) -> f64 {
    let started = thread_time();
    work();
    thread_time().saturating_sub(started).as_nanos() as f64 / count as f64
}

/// The time that this thread has had on a processor.
pub(crate) fn thread_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let (seconds, nanos) = (spent.tv_sec.unsigned_abs(), spent.tv_nsec.unsigned_abs());
    Duration::from_secs(seconds) + Duration::from_nanos(nanos)
}

pub(crate) fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// One sample of the loop that WebAssembly runs too: ns a check.
pub(crate) fn print_loop_ns(rounds: usize) -> Result<()> {
    let mut gcra = GcraLoop::new();
    let rounds = u32::try_from(rounds)?;
    let mut passed = gcra.run(rounds.div_ceil(4));
    let checks = usize::try_from(rounds)? * KEYS;
    let ns = cpu_ns_each(checks, || passed = gcra.run(rounds));
    println!("{}", serde_json::json!({"ns": ns, "passed": passed}));
    Ok(())
}
