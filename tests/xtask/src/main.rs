//! `cargo xtask`: everything a person or CI does with this repository.

mod bench;
mod chaos;
mod conform;
mod load;
mod npm;
mod progress;
mod rush;
mod server;
mod simulate;
mod stop;
mod suite;
mod tidy;
mod tools;
mod up;
mod worker;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};

use progress::Progress;
use worker::Faults;

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "Builds, runs and tests Fairgate")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Up(up::Options),
    Rush(tests::rush::Options),
    Chaos(tests::chaos::Options),
    Load(tests::load::Options),
    Simulate(simulate::Options),
    Conform(conform::Options),
    /// Build the Worker into target/edge and the queue server
    Build {
        /// Compile planted faults in, for the tests of the checkers
        #[arg(long)]
        plant: bool,
    },
    Bench(bench::Options),
    /// Run every check and every test
    Test,
    /// Check the rules that no compiler knows
    Tidy,
}

fn main() -> ExitCode {
    match run(&Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> Result<()> {
    let progress = Progress::start();
    match task {
        Task::Build { plant } => {
            let faults = if *plant { Faults::Planted } else { Faults::None };
            worker::build(&progress, faults)?;
            server::build(&progress, faults).map(|_program| ())
        }
        Task::Up(options) => up::run(&progress, options),
        Task::Rush(options) => rush::run(&progress, options),
        Task::Chaos(options) => chaos::run(&progress, options),
        Task::Load(options) => load::run(&progress, options),
        Task::Simulate(options) => simulate::run(&progress, options),
        Task::Bench(options) => bench::run(&progress, options),
        Task::Conform(options) => conform::run(&progress, options),
        Task::Test => suite::run(&progress),
        Task::Tidy => {
            let findings = tidy::check()?;
            for finding in &findings {
                println!("{finding}");
            }
            ensure!(findings.is_empty(), "{} findings", findings.len());
            Ok(())
        }
    }
}
