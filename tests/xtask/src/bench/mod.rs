//! `cargo xtask bench`: figures as ratios of one run, each beside the mark that it has to reach.

mod figure;
mod limits;
mod wasm;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};

use crate::progress::Progress;
use figure::{Figure, Report};

/// Measure, beside others and in turns
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The limiters: against governor and throttlecrab, under a flood of keys, as WebAssembly, on Redis
    Limits {
        #[command(flatten)]
        how: How,
    },
}

#[derive(Args)]
struct How {
    /// Samples of each figure; their median counts
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Fail when a figure misses its mark
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(progress: &Progress, options: &Options) -> Result<()> {
    let What::Limits { how } = &options.what;
    let report = Report::new(limits::figures(progress, how.rounds)?);
    if how.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        println!("{report}");
    }
    let missed = report.missed();
    ensure!(!how.check || missed == 0, "{missed} figures miss their mark");
    Ok(())
}
