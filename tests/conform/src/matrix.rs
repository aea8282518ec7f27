//! Who passes what: verdicts of several targets, as tables and as JSON lines.

use crate::judge::{Verdict, judge};
use crate::reply::{Hello, Reply};
use crate::vector::{LIMITERS, Vector};
use crate::vectors::CONCERNS;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::{self, Write};

/// What one target made of the vectors.
#[derive(Debug)]
pub struct Run {
    pub hello: Hello,
    /// One for each vector.
    pub verdicts: Vec<Verdict>,
}

/// The runs of several targets with the same vectors.
#[derive(Debug)]
pub struct Matrix<'a> {
    pub vectors: &'a [Vector],
    pub runs: Vec<Run>,
}

impl Run {
    /// Judges what a target replied to each of the vectors.
    pub fn judged(hello: Hello, vectors: &[Vector], replies: &[Reply]) -> Self {
        let silence = Reply::Broken("no reply".to_owned());
        let replies = replies.iter().chain(std::iter::repeat(&silence));
        let verdicts =
            vectors.iter().zip(replies).map(|(vector, reply)| judge(vector, reply, hello.resolution_us));
        Self { verdicts: verdicts.collect(), hello }
    }

    /// Whether everything that could be asked was right, and could be judged.
    pub fn is_right(&self) -> bool {
        let is_right =
            |verdict: &Verdict| verdict.is_right() || matches!(verdict, Verdict::NotApplicable { .. });
        self.verdicts.iter().all(is_right)
    }

    /// Whether every vector could be judged, right or not.
    pub fn is_judged(&self) -> bool {
        !self.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Unjudged { .. }))
    }

    /// What became of each vector that did not pass whole, as ours have to. About the promises that a home `may_refuse` it may
    /// say that it cannot be asked; and whether a refusal is a lock is told by the limiter's state, which a store keeps to itself.
    pub fn not_whole(&self, vectors: &[Vector], may_refuse: &[&str]) -> Vec<String> {
        let is_whole = |vector: &Vector, verdict: &Verdict| match verdict {
            Verdict::Passed => true,
            Verdict::PassedInPart { untold } => untold.iter().all(|field| field == "locked"),
            Verdict::NotApplicable { .. } => {
                vector.about.as_deref().is_some_and(|about| may_refuse.contains(&about))
            }
            _ => false,
        };
        let each = vectors.iter().zip(&self.verdicts).filter(|(vector, verdict)| !is_whole(vector, verdict));
        each.map(|(vector, verdict)| format!("{}, {}: {verdict}", self.hello.target, vector.name)).collect()
    }
}

impl Matrix<'_> {
    /// One line of JSON for each target and vector.
    pub fn to_json_lines(&self) -> String {
        let mut lines = String::new();
        for (run, vector, verdict) in self.each() {
            let line = json!({
                "target": run.hello.target, "version": run.hello.version, "vector": vector.name, "limiter": vector.limiter,
                "about": vector.about, "faults": vector.faults, "verdict": verdict.word(), "detail": verdict.to_string(),
            });
            // Writing into a String cannot fail.
            let _ = writeln!(lines, "{line}");
        }
        lines
    }

    /// Everything that is wrong or could not be judged, target by target.
    pub fn findings(&self) -> String {
        let mut text = String::new();
        for run in &self.runs {
            let found = self.vectors.iter().zip(&run.verdicts);
            let found =
                found.filter(|(_, verdict)| matches!(verdict, Verdict::Failed(_) | Verdict::Unjudged { .. }));
            let found = found.map(|(vector, verdict)| finding(vector, verdict));
            let lines: Vec<String> = found.chain(self.beside(run)).collect();
            if !lines.is_empty() {
                let _ = writeln!(
                    text,
                    "\n**{} {}**\n\n{}",
                    run.hello.target,
                    run.hello.version,
                    lines.join("\n")
                );
            }
        }
        text
    }

    /// One line for each set of fields that was wrong beside what vectors are about, with the first of them.
    fn beside(&self, run: &Run) -> Vec<String> {
        let mut kinds: Vec<(&BTreeSet<String>, usize, String)> = Vec::new();
        for (vector, verdict) in self.vectors.iter().zip(&run.verdicts) {
            let Verdict::WrongBeside(mismatch) = verdict else { continue };
            match kinds.iter_mut().find(|(fields, ..)| *fields == &mismatch.wrong_fields) {
                Some((_, vectors, _)) => *vectors += 1,
                None => kinds.push((&mismatch.wrong_fields, 1, finding(vector, verdict))),
            }
        }
        let line = |(_, vectors, first): (_, usize, String)| {
            format!("{first} (wrong beside what it is about, in {vectors} vectors)")
        };
        kinds.into_iter().map(line).collect()
    }

    /// Why vectors do not apply, or are judged in part, with how many of them.
    pub fn limits(&self) -> String {
        let mut text = String::new();
        for run in &self.runs {
            let mut reasons: Vec<(String, usize)> = Vec::new();
            for verdict in &run.verdicts {
                let reason = match verdict {
                    Verdict::NotApplicable { .. } | Verdict::PassedInPart { .. } => verdict.to_string(),
                    _ => continue,
                };
                match reasons.iter_mut().find(|(known, _)| *known == reason) {
                    Some((_, vectors)) => *vectors += 1,
                    None => reasons.push((reason, 1)),
                }
            }
            for (reason, vectors) in reasons {
                let _ = writeln!(text, "- {}: {vectors} × {reason}", run.hello.target);
            }
        }
        text
    }

    /// Two tables: by concern and by limiter.
    pub fn tables(&self) -> String {
        let concerns = CONCERNS.iter().map(|concern| {
            let is_here = move |vector: &Vector| vector.about.as_deref() == Some(concern.name);
            self.row(format!("{}: {}", concern.name, concern.promise), is_here)
        });
        let others = self.row("other vectors".to_owned(), |vector| {
            !CONCERNS.iter().any(|concern| vector.about.as_deref() == Some(concern.name))
        });
        let all = self.row("**all**".to_owned(), |_| true);
        let by_concern: Vec<Vec<String>> = concerns.chain([others, all]).flatten().collect();
        let limiters = LIMITERS
            .iter()
            .filter_map(|limiter| self.row((*limiter).to_owned(), move |vector| vector.limiter == *limiter));
        format!(
            "{}\n{}",
            table(&self.heads("promise"), &by_concern),
            table(&self.heads("limiter"), &limiters.collect::<Vec<_>>())
        )
    }

    fn heads(&self, first: &str) -> Vec<String> {
        let targets = self.runs.iter().map(|run| run.hello.target.clone());
        [first.to_owned(), "vectors".to_owned()].into_iter().chain(targets).collect()
    }

    /// A line of a table; none where no vector belongs to it.
    fn row(&self, head: String, is_here: impl Fn(&Vector) -> bool) -> Option<Vec<String>> {
        let vectors = self.vectors.iter().filter(|vector| is_here(vector)).count();
        let cell = |run: &Run| {
            let here = self.vectors.iter().zip(&run.verdicts).filter(|(vector, _)| is_here(vector));
            Cell::of(here.map(|(_, verdict)| verdict)).to_string()
        };
        let cells = self.runs.iter().map(cell);
        (vectors > 0).then(|| [head, vectors.to_string()].into_iter().chain(cells).collect())
    }

    fn each(&self) -> impl Iterator<Item = (&Run, &Vector, &Verdict)> {
        self.runs.iter().flat_map(|run| {
            self.vectors.iter().zip(&run.verdicts).map(move |(vector, verdict)| (run, vector, verdict))
        })
    }
}

/// Counts of some verdicts of one target.
#[derive(Default)]
struct Cell {
    asked: usize,
    failed: usize,
    in_part: usize,
    beside: usize,
    unjudged: usize,
}

impl Cell {
    fn of<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Self {
        let mut cell = Self::default();
        for verdict in verdicts {
            cell.asked += usize::from(verdict.is_asked());
            cell.failed += usize::from(matches!(verdict, Verdict::Failed(_)));
            cell.in_part += usize::from(matches!(verdict, Verdict::PassedInPart { .. }));
            cell.beside += usize::from(matches!(verdict, Verdict::WrongBeside(_)));
            cell.unjudged += usize::from(matches!(verdict, Verdict::Unjudged { .. }));
        }
        cell
    }
}

/// `9/9`: all that could be asked are right; `3/7`: four are wrong. `*`: of some that are right not everything was told; `!`: of
/// some something else is wrong, which they are not about. `-`: nothing could be asked.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.unjudged > 0 {
            return write!(f, "{} unjudged", self.unjudged);
        }
        if self.asked == 0 {
            return f.write_str("-");
        }
        let marks = [(self.in_part, "*"), (self.beside, "!")];
        let marks = marks.into_iter().filter(|(vectors, _)| *vectors > 0).map(|(_, mark)| mark);
        write!(f, "{}/{}{}", self.asked - self.failed, self.asked, marks.collect::<String>())
    }
}

fn finding(vector: &Vector, verdict: &Verdict) -> String {
    let faults =
        if vector.faults.is_empty() { String::new() } else { format!(" ({})", vector.faults.join(", ")) };
    format!("- `{}`{faults}: {verdict}", vector.name)
}

/// A Markdown table that reads well in a terminal too.
fn table(heads: &[String], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).chain(heads.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
    };
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    std::iter::once(line(heads)).chain([line(&rule)]).chain(rows.iter().map(|row| line(row))).collect()
}
