//! What is printed of a figure.

use std::fmt;
use std::fs;

use serde::{Deserialize, Serialize};

/// One line of the table: samples of one run, and the mark that their median has to reach.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: String,
    /// `None` where nothing was promised.
    pub(crate) at_most: Option<f64>,
    pub(crate) samples: Vec<f64>,
    /// What the samples were made of.
    pub(crate) note: String,
}

/// All figures of a run, and how busy the machine was.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    load: String,
    figures: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    #[serde(flatten)]
    figure: Figure,
    min: f64,
    median: f64,
    max: f64,
    passes: Option<bool>,
}

impl Report {
    pub(crate) fn new(figures: Vec<Figure>) -> Self {
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        Self { load, figures: figures.into_iter().map(Line::new).collect() }
    }

    /// Figures that miss their mark.
    pub(crate) fn missed(&self) -> usize {
        self.figures.iter().filter(|line| line.passes == Some(false)).count()
    }
}

impl Line {
    fn new(figure: Figure) -> Self {
        let mut sorted = figure.samples.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let (min, median, max) = (at(0), at(sorted.len() / 2), at(sorted.len().saturating_sub(1)));
        let passes = figure.at_most.map(|mark| median <= mark);
        Self { figure, min, median, max, passes }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "load average {}", self.load)?;
        writeln!(f, "{:<58} {:>8} {:>8} {:>8} {:>8}", "figure", "min", "median", "max", "at most")?;
        for Line { figure, min, median, max, passes } in &self.figures {
            let name = format!("{} ({})", figure.name, figure.unit);
            let mark = figure.at_most.map_or_else(|| "-".to_owned(), |mark| format!("{mark:.2}"));
            let verdict = match passes {
                Some(true) => "pass",
                Some(false) => "MISS",
                None => "",
            };
            writeln!(
                f,
                "{name:<58} {min:>8.2} {median:>8.2} {max:>8.2} {mark:>8}  {verdict:<4}  {}",
                figure.note
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(at_most: Option<f64>, samples: &[f64]) -> Figure {
        let (name, unit, note) = ("figure".to_owned(), "ratio".to_owned(), String::new());
        Figure { name, unit, at_most, samples: samples.to_vec(), note }
    }

    #[test]
    fn the_median_decides() {
        let report = Report::new(vec![
            figure(Some(2.0), &[9.0, 1.0, 2.0]),
            figure(Some(2.0), &[1.0, 2.1, 2.1]),
            figure(None, &[9.0]),
            figure(Some(2.0), &[]),
        ]);
        let passes: Vec<Option<bool>> = report.figures.iter().map(|line| line.passes).collect();
        assert_eq!(passes, [Some(true), Some(false), None, Some(false)]);
        assert_eq!(report.missed(), 2);
        assert!(report.to_string().contains("MISS"));
    }
}
