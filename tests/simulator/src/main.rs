//! `simulator`: runs scenarios over seeds, on all cores, and prints what they measured.

mod batch;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use shared::room::Planted;
use simulator::{Change, Report, Scenario, svg};
use std::path::PathBuf;

/// Simulated sales around the production room: figures, and whether every promise was kept
#[derive(Parser)]
#[command(name = "cargo xtask simulate")]
struct Options {
    /// Scenarios by name, or `all`, or `list`
    #[arg(required = true)]
    scenarios: Vec<String>,
    /// First seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds, from the first on
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    seeds: u64,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Draw the first seed's run of each scenario into this folder
    #[arg(long)]
    charts: Option<PathBuf>,
    /// Plant a known fault, which must be found
    #[arg(long)]
    plant: Option<String>,
    #[command(flatten)]
    change: Change,
}

fn main() -> Result<()> {
    let options = Options::parse();
    if options.scenarios == ["list"] {
        for scenario in simulator::all().iter().chain(&simulator::huge()) {
            println!("{:<16} {}", scenario.name, scenario.about);
        }
        return Ok(());
    }
    let scenarios = chosen(&options.scenarios)?.into_iter();
    let scenarios: Vec<Scenario> = scenarios.map(|scenario| options.change.apply(scenario)).collect();
    let seeds: Vec<u64> = (options.seed..options.seed.saturating_add(options.seeds)).collect();
    let outcomes = batch::run_all(&scenarios, &seeds, planted(options.plant.as_deref())?);
    let mut reports = Vec::new();
    for (scenario, outcomes) in scenarios.iter().zip(&outcomes) {
        let report = Report::new(scenario, outcomes);
        if !options.json {
            print!("{report}");
        }
        reports.push(report);
        if let (Some(folder), Some((_, outcome))) = (&options.charts, outcomes.first()) {
            let picture = svg(scenario, &outcome.measured.samples).map_err(anyhow::Error::msg)?;
            std::fs::create_dir_all(folder)?;
            let path = folder.join(scenario.name).with_extension("svg");
            std::fs::write(&path, picture).with_context(|| path.display().to_string())?;
        }
    }
    if options.json {
        println!("{}", serde_json::to_string(&reports)?);
    }
    let failed: Vec<&str> =
        reports.iter().filter(|report| !report.passed()).map(|report| report.scenario).collect();
    ensure!(failed.is_empty(), "not reached: {}", failed.join(", "));
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<Scenario>> {
    let all = simulator::all();
    if names == ["all"] {
        return Ok(all);
    }
    let huge = simulator::huge();
    let find = |name: &String| {
        let found = all.iter().chain(&huge).find(|scenario| scenario.name == name).cloned();
        found.with_context(|| format!("no scenario `{name}`: see `list`"))
    };
    names.iter().map(find).collect()
}

#[cfg(feature = "plant")]
fn planted(name: Option<&str>) -> Result<Planted> {
    use shared::room::Fault;
    let Some(name) = name else { return Ok(Planted::default()) };
    match Fault::ALL.iter().find(|fault| fault.name() == name) {
        Some(&fault) => Ok(Planted::fault(fault)),
        None => anyhow::bail!("no fault `{name}`: {}", Fault::ALL.map(Fault::name).join(", ")),
    }
}

#[cfg(not(feature = "plant"))]
fn planted(name: Option<&str>) -> Result<Planted> {
    ensure!(name.is_none(), "built without the feature `plant`");
    Ok(Planted::default())
}
