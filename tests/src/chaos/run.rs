//! `cargo xtask chaos`: scenarios by seed, one after the other.

use super::check::violations;
use super::crowd::{Crowd, setup};
use super::plants::{NAMES, PLANTS};
use super::scenario::Scenario;
use crate::stack::fleet::Fleet;
use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use std::fmt;
use std::time::{Duration, Instant};

/// Faults under a living crowd: real queue servers, real Redis, and a checker of everything that buyers were told
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Which kind of fault; all, where none is named
    #[arg(value_enum)]
    pub scenario: Option<Scenario>,
    /// Chooses moments and buyers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// So many seeds, one after the other
    #[arg(long, default_value_t = 1)]
    pub seeds: u64,
    /// A fault of the program to plant, which the checker has to find, in the scenario where it shows if none is named; or all of them,
    /// one after the other
    #[arg(long, value_parser = NAMES)]
    pub plant: Option<String>,
}

/// What one run of one scenario came to.
#[derive(Clone, Debug)]
pub struct Summary {
    pub scenario: Scenario,
    pub seed: u64,
    /// The fault that was planted.
    pub plant: Option<&'static str>,
    pub faults: u32,
    /// Operations in flight when a fault struck, at the least.
    pub in_flight: u64,
    pub operations: u64,
    pub places: usize,
    pub violations: Vec<String>,
    pub took: Duration,
}

impl Options {
    /// What is run for each seed: a scenario, and the fault that is planted in it.
    fn runs(&self) -> Vec<(Scenario, Option<&'static str>)> {
        let Some(plant) = self.plant.as_deref() else {
            return self.scenarios().into_iter().map(|scenario| (scenario, None)).collect();
        };
        let planted = PLANTS.into_iter().filter(|(name, _)| plant == "all" || plant == *name);
        planted.map(|(name, shows)| (self.scenario.unwrap_or(shows), Some(name))).collect()
    }

    /// The scenarios without a planted fault.
    fn scenarios(&self) -> Vec<Scenario> {
        self.scenario.map_or_else(|| Scenario::ALL.to_vec(), |scenario| vec![scenario])
    }

    /// Whether programs with planted faults are run.
    pub fn needs_planted(&self) -> bool {
        self.plant.is_some() || self.scenarios().into_iter().any(Scenario::is_skewed)
    }

    /// Whether the Worker is run.
    pub fn needs_edge(&self) -> bool {
        self.runs().into_iter().any(|(scenario, _)| scenario.has_edge())
    }
}

impl Summary {
    /// Nothing that buyers were told was taken back; with a planted fault: something was, and it was found.
    pub fn is_good(&self) -> bool {
        self.violations.is_empty() == self.plant.is_none()
    }
}

/// Runs what the options ask for; `tell` hears of each run as it ends.
pub async fn run(options: &Options, mut tell: impl FnMut(&Summary)) -> Result<Vec<Summary>> {
    let mut summaries = Vec::new();
    for seed in options.seed..options.seed.saturating_add(options.seeds) {
        for (scenario, plant) in options.runs() {
            let ran = run_one(scenario, seed, plant).await;
            let summary = ran.with_context(|| format!("{scenario:?}, seed {seed}"))?;
            tell(&summary);
            summaries.push(summary);
        }
    }
    Ok(summaries)
}

async fn run_one(scenario: Scenario, seed: u64, plant: Option<&'static str>) -> Result<Summary> {
    let started = Instant::now();
    let mut rng = Rng::with_seed(seed);
    let mut ground = scenario.ground().await?;
    let mut setup = setup(ground.url(), CAPACITY)?;
    scenario.prepare(&ground, &mut setup);
    setup.plant = plant;
    let mut fleet = Fleet::start(setup).await?;
    let crowd = Crowd::gather(&fleet, BUYERS, Duration::from_millis(1), seed)?;
    let mut in_flight = u64::MAX;
    for _ in 0..scenario.faults() {
        tokio::time::sleep(Duration::from_millis(rng.u64(500..1_500))).await;
        match busy(&crowd).await {
            Ok(so_many) => in_flight = in_flight.min(so_many),
            // A planted fault may leave nothing that many could ask: what was seen until then has to do.
            Err(_) if plant.is_some() && in_flight < u64::MAX => break,
            Err(idle) => return Err(idle),
        }
        let struck = scenario.strike(&mut ground, &mut fleet, &crowd, &mut rng).await;
        struck.inspect_err(|_| fleet.dir.show_logs())?;
    }
    let operations = crowd.operations();
    let buyers = crowd.go_home().await?;
    let places = buyers.len();
    let violations = violations(&fleet, buyers, usize::try_from(CAPACITY)?).await?;
    let (faults, took) = (scenario.faults(), started.elapsed());
    Ok(Summary { scenario, seed, plant, faults, in_flight, operations, places, violations, took })
}

/// Waits until so many operations are in flight that a fault counts.
async fn busy(crowd: &Crowd) -> Result<u64> {
    let asked = Instant::now();
    loop {
        let in_flight = crowd.in_flight();
        if in_flight >= IN_FLIGHT_MIN {
            return Ok(in_flight);
        }
        ensure!(asked.elapsed() < Duration::from_secs(5), "only {in_flight} operations are in flight");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, seed, plant, faults, in_flight, operations, places, violations, took } = self;
        write!(
            f,
            "{:<20} seed {seed}: {faults} faults with at least {in_flight} operations in flight, {operations} operations, \
             {places} places, {} violations, {:.0} s",
            format!("{scenario:?}"),
            violations.len(),
            took.as_secs_f64(),
        )?;
        if let Some(plant) = plant {
            write!(f, ", with {plant}: {}", if self.is_good() { "found" } else { "NOT FOUND" })?;
        }
        for violation in violations.iter().take(VIOLATIONS_TOLD) {
            write!(f, "\n    {violation}")?;
        }
        Ok(())
    }
}

const CAPACITY: u32 = 40;
const BUYERS: usize = 160;
const IN_FLIGHT_MIN: u64 = 100;
const VIOLATIONS_TOLD: usize = 10;
