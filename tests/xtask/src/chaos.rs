//! `cargo xtask chaos`: builds the queue server and lets `tests::chaos` break things around it.

use crate::progress::Progress;
use crate::worker::Faults;
use crate::{server, tools, worker};
use anyhow::{Result, ensure};
use tests::chaos::{self, Options};

/// Fails where something that a buyer was told did not hold; with a planted fault, where nothing was found.
pub(crate) fn run(progress: &Progress, options: &Options) -> Result<()> {
    tools::redis(progress)?;
    if options.needs_planted() {
        server::build(progress, Faults::Planted)?;
    }
    server::build(progress, Faults::None)?;
    if options.needs_edge() {
        worker::build(progress, Faults::None)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let summaries = runtime.block_on(chaos::run(options, |summary| println!("{summary}")))?;
    let faults: u32 = summaries.iter().map(|summary| summary.faults).sum();
    let operations: u64 = summaries.iter().map(|summary| summary.operations).sum();
    let violations: usize = summaries.iter().map(|summary| summary.violations.len()).sum();
    println!("{faults} faults, {operations} operations, {violations} violations");
    let bad = summaries.iter().filter(|summary| !summary.is_good()).count();
    match &options.plant {
        None => ensure!(bad == 0, "something that a buyer was told did not hold"),
        Some(_) => ensure!(bad == 0, "{bad} planted faults were not found"),
    }
    Ok(())
}
