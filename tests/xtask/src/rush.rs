//! `cargo xtask rush`: builds what the rush starts, runs it, and fails when a promise was broken.

use anyhow::{Result, bail, ensure};
use tests::rush::Options;

use crate::progress::Progress;
use crate::worker::Faults;
use crate::{server, stop, worker};

/// Runs one rush and prints its table, or one line of JSON.
pub(crate) fn run(progress: &Progress, options: &Options) -> Result<()> {
    let faults = if options.plant.is_some() { Faults::Planted } else { Faults::None };
    // The faults that a rush plants are the queue server's.
    worker::build(progress, Faults::None)?;
    server::build(progress, faults)?;
    let summary = tokio::runtime::Runtime::new()?.block_on(async {
        tokio::select! {
            summary = tests::rush::run(options) => summary,
            // What was started goes with it, and so does its directory.
            stopped = stop::told() => stopped.and_then(|()| bail!("stopped in the midst of it: nothing was proved")),
        }
    })?;
    if options.json {
        println!("{}", serde_json::to_string(&summary)?);
    } else {
        println!("{summary}");
    }
    ensure!(summary.missing.is_empty(), "a part of it was lost");
    ensure!(summary.violations.is_empty(), "a promise was broken");
    Ok(())
}
