//! What several runs of one scenario say together.

use crate::{Bound, Figure, Figures, Outcome, Peer, PeerFigures, Scenario, Violation};
use serde::Serialize;
use std::fmt;

/// A scenario over its seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the scenario.
    pub scenario: &'static str,
    /// What it is there for.
    pub about: &'static str,
    /// How many people come.
    pub buyers: u32,
    /// How many seeds were run.
    pub seeds: usize,
    /// The figures.
    pub rows: Vec<Row>,
    /// Promises that were broken; such a run stopped there.
    pub broken: Vec<Broken>,
    /// Models of other rooms' rules on the same people, twice as long as our room needed.
    pub peers: Vec<PeerRow>,
}

/// One model over all seeds: means, but for the fullest second of all.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PeerRow {
    /// The means.
    #[serde(flatten)]
    pub figures: PeerFigures,
    /// Half of the 95 % interval of the mean true use; 0 for one seed.
    pub true_use_interval: f64,
}

/// One figure over all seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The figure.
    pub figure: Figure,
    /// Mean over the seeds.
    pub mean: f64,
    /// Half of the 95 % interval of the mean, by the normal approximation; 0 for one seed.
    pub interval: f64,
    /// The lowest value.
    pub low: f64,
    /// The highest value.
    pub high: f64,
    /// What it has to reach, with every seed.
    pub mark: Option<Bound>,
    /// Whether it did.
    pub met: Option<bool>,
}

/// A promise that one run broke.
#[derive(Clone, Debug, Serialize)]
pub struct Broken {
    /// Seed of the run.
    pub seed: u64,
    /// Second of the run.
    pub at_s: f64,
    /// What broke.
    pub violation: Violation,
}

impl Report {
    /// Puts the runs of a scenario together.
    pub fn new(scenario: &Scenario, outcomes: &[(u64, Outcome)]) -> Self {
        let runs: Vec<Figures> =
            outcomes.iter().map(|(_, outcome)| outcome.measured.figures(scenario)).collect();
        let broken = outcomes.iter().filter_map(|(seed, outcome)| {
            outcome.violation.map(|(at_s, violation)| Broken { seed: *seed, at_s, violation })
        });
        Self {
            scenario: scenario.name,
            about: scenario.about,
            buyers: scenario.buyers(),
            seeds: outcomes.len(),
            rows: Figure::ALL.iter().filter_map(|&figure| row(scenario, figure, &runs)).collect(),
            broken: broken.collect(),
            peers: peers(scenario, outcomes),
        }
    }

    /// Whether every promise was kept and every mark reached with every seed.
    pub fn passed(&self) -> bool {
        self.broken.is_empty() && self.rows.iter().all(|row| row.met != Some(false))
    }
}

fn peers(scenario: &Scenario, outcomes: &[(u64, Outcome)]) -> Vec<PeerRow> {
    let all = if scenario.with_peers { &Peer::ALL[..] } else { &[] };
    let run = |peer: Peer, (seed, outcome): &(u64, Outcome)| {
        peer.run(scenario, *seed, outcome.measured.samples.len() as u32 * 2)
    };
    let row = |&peer: &Peer| {
        let runs: Vec<PeerFigures> = outcomes.iter().map(|outcome| run(peer, outcome)).collect();
        let of = |figure: fn(&PeerFigures) -> f64| runs.iter().map(figure).collect::<Vec<f64>>();
        let (true_use, true_use_interval) = mean_and_interval(&of(|run| run.true_use));
        let figures = PeerFigures {
            peer,
            true_use,
            fullest: of(|run| run.fullest).into_iter().fold(0.0, f64::max),
            inversions_percent: mean_and_interval(&of(|run| run.inversions_percent)).0,
            served_percent: mean_and_interval(&of(|run| run.served_percent)).0,
        };
        PeerRow { figures, true_use_interval }
    };
    all.iter().map(row).collect()
}

/// The mean, and half of its 95 % interval by the normal approximation; 0 for one value.
fn mean_and_interval(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let interval =
        if values.len() > 1 { 1.96 * (squares / (count - 1.0)).sqrt() / count.sqrt() } else { 0.0 };
    (mean, interval)
}

/// `None` where no run measured the figure and none has to.
fn row(scenario: &Scenario, figure: Figure, runs: &[Figures]) -> Option<Row> {
    let values: Vec<f64> = runs.iter().filter_map(|run| run.0.get(&figure).copied()).collect();
    let mark = scenario.marks.iter().find(|mark| mark.figure == figure);
    let met = mark.map(|mark| runs.iter().all(|run| mark.is_met(run)));
    if values.is_empty() && mark.is_none() {
        return None;
    }
    let (mean, interval) = mean_and_interval(&values);
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Row { figure, mean, interval, low, high, mark: mark.map(|mark| mark.bound), met })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}: {} ({} buyers, {} seeds)", self.scenario, self.about, self.buyers, self.seeds)?;
        for row in &self.rows {
            let spread = if self.seeds > 1 {
                format!("± {:<8.3} {:>9.3} to {:<9.3}", row.interval, row.low, row.high)
            } else {
                String::new()
            };
            let mark = match row.mark {
                Some(Bound::AtLeast(least)) => format!("≥ {least}"),
                Some(Bound::AtMost(most)) => format!("≤ {most}"),
                None => String::new(),
            };
            let verdict = row.met.map_or("", |met| if met { "ok" } else { "MISSED" });
            let line =
                format!("  {:<26} {:>9.3} {spread}  {mark:<7} {verdict}", row.figure.label(), row.mean);
            writeln!(f, "{}", line.trim_end())?;
        }
        for PeerRow { figures: peer, true_use_interval } in &self.peers {
            let spread = if self.seeds > 1 { format!(" ± {true_use_interval:.3}") } else { String::new() };
            writeln!(
                f,
                "  model of {:<20} true use {:.2}{spread}, fullest {:.2}, inversions {:.2} %, served {:.0} %",
                format!("{:?}", peer.peer),
                peer.true_use,
                peer.fullest,
                peer.inversions_percent,
                peer.served_percent
            )?;
        }
        for broken in &self.broken {
            writeln!(f, "  BROKEN with --seed {} at {} s: {}", broken.seed, broken.at_s, broken.violation)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mark, all};

    fn runs(values: &[f64]) -> Vec<Figures> {
        values.iter().map(|&value| Figures([(Figure::TrueUse, value)].into())).collect()
    }

    #[test]
    fn a_mark_is_missed_when_one_seed_misses_it() {
        let mut scenario = all().remove(0);
        scenario.marks = vec![Mark::at_least(Figure::TrueUse, 0.5)];
        let row_of = |values: &[f64]| row(&scenario, Figure::TrueUse, &runs(values));
        let good = row_of(&[0.5, 0.7]);
        assert_eq!(good.as_ref().map(|row| (row.mean, row.low, row.high)), Some((0.6, 0.5, 0.7)));
        assert!(good.is_some_and(|row| row.met == Some(true) && (row.interval - 0.196).abs() < 1e-9));
        assert_eq!(row_of(&[0.49, 0.9]).and_then(|row| row.met), Some(false));
        let unmeasured = row(&scenario, Figure::TrueUse, &[Figures::default()]);
        assert_eq!(unmeasured.and_then(|row| row.met), Some(false), "what was not measured was not reached");
        assert!(row(&scenario, Figure::JainP5, &runs(&[0.5])).is_none());
    }
}
