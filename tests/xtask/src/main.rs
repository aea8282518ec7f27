//! `cargo xtask`: everything a person or CI does with this repository.

mod npm;
mod progress;
mod tools;
mod worker;
mod workspace;

use clap::{Parser, Subcommand};

use progress::Progress;

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "Builds, runs and tests Fairgate")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build the Worker into target/edge
    Build,
}

fn main() -> std::process::ExitCode {
    let mut progress = Progress::start();
    let outcome = match Arguments::parse().task {
        Task::Build => worker::build(&mut progress, worker::Faults::None).map(|_bundle| ()),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}
