//! `cargo xtask simulate`: builds the simulator under a profile of its own and runs it.

use anyhow::{Result, ensure};

use crate::progress::Progress;
use crate::workspace;

/// Simulated sales around the production room: figures with their marks, charts, invariants at every event
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Scenarios by name, `all` or `list`, and options: see `cargo xtask simulate -- --help`
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Only the simulator and `shared` are compiled here, so the profile costs what they cost.
pub(crate) fn run(progress: &Progress, options: &Options) -> Result<()> {
    let mut build = vec!["build", "--package=simulator", "--profile=simulate"];
    if options.arguments.iter().any(|argument| argument.starts_with("--plant")) {
        build.push("--features=plant");
    }
    progress.run("build the simulator", &mut workspace::cargo(&build))?;
    let target = workspace::target();
    let charts = target.join("charts");
    let mut simulator = std::process::Command::new(target.join("simulate/simulator"));
    simulator.args(&options.arguments);
    if !options.arguments.iter().any(|argument| argument.starts_with("--charts")) {
        simulator.arg("--charts").arg(charts);
    }
    ensure!(simulator.status()?.success(), "the simulation failed");
    Ok(())
}
