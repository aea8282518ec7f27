//! `cargo xtask chaos`: builds the queue server and lets `tests::chaos` break things around it.

use crate::progress::Progress;
use crate::worker::Faults;
use crate::{server, tools};
use anyhow::{Result, ensure};
use tests::chaos::{self, Options};

/// Fails where something that a buyer was told did not hold; with a planted fault, where nothing was found.
pub(crate) fn run(progress: &Progress, options: &Options) -> Result<()> {
    tools::redis(progress)?;
    server::build(progress, if options.plant.is_some() { Faults::Planted } else { Faults::None })?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let summaries = runtime.block_on(chaos::run(options, |summary| println!("{summary}")))?;
    let violations: usize = summaries.iter().map(|summary| summary.violations.len()).sum();
    let faults: u32 = summaries.iter().map(|summary| summary.faults).sum();
    let operations: u64 = summaries.iter().map(|summary| summary.operations).sum();
    println!("{faults} faults, {operations} operations, {violations} violations");
    match &options.plant {
        None => ensure!(violations == 0, "something that a buyer was told did not hold"),
        Some(plant) => ensure!(violations > 0, "the planted fault {plant} was not found"),
    }
    Ok(())
}
