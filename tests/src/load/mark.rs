//! What a figure has to reach, and whether it did.

use std::cell::Cell;

/// A bound that belongs to what it allows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mark {
    AtLeast(f64),
    AtMost(f64),
}

impl Mark {
    fn is_met_by(self, figure: f64) -> bool {
        match self {
            Self::AtLeast(least) => figure >= least,
            Self::AtMost(most) => figure <= most,
        }
    }
}

/// Tells each line as it is known, and counts the marks that were missed.
pub(super) struct Report<T> {
    tell: T,
    missed: Cell<usize>,
}

impl<T: Fn(&str)> Report<T> {
    pub(super) fn new(tell: T) -> Self {
        Self { tell, missed: Cell::new(0) }
    }

    pub(super) fn tell(&self, line: &str) {
        (self.tell)(line);
    }

    /// Tells a figure beside its mark.
    pub(super) fn mark(&self, name: &str, figure: f64, mark: Mark) {
        let (word, bound) = match mark {
            Mark::AtLeast(least) => ("at least", least),
            Mark::AtMost(most) => ("at most", most),
        };
        let is_met = mark.is_met_by(figure);
        let verdict = if is_met { "met" } else { "MISSED" };
        self.tell(&format!("  {name:<60} {figure:>8.2}   {word} {bound}: {verdict}"));
        if !is_met {
            self.missed.set(self.missed.get() + 1);
        }
    }

    pub(super) fn missed(&self) -> usize {
        self.missed.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_met_up_to_its_bound() {
        for (mark, figure, is_met) in [
            (Mark::AtLeast(0.5), 0.5, true),
            (Mark::AtLeast(0.5), 0.49, false),
            (Mark::AtMost(10.0), 10.0, true),
            (Mark::AtMost(10.0), 10.1, false),
            // Nothing was measured.
            (Mark::AtLeast(0.5), f64::NAN, false),
            (Mark::AtMost(10.0), f64::NAN, false),
        ] {
            let report = Report::new(|_: &str| {});
            report.mark("figure", figure, mark);
            assert_eq!(report.missed() == 0, is_met, "{mark:?} {figure}");
        }
    }
}
