//! The table that a rush ends with.

use super::summary::{Eta, Summary};
use std::fmt::{self, Write};

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reasons = String::new();
        for (code, times) in &self.refused_by_reason {
            write!(reasons, "\n  {code:<38}{times:>8}")?;
        }
        row(f, "joined", self.joined)?;
        row(f, "redeemed", self.redeemed)?;
        row(f, "bought (shop's log)", self.bought)?;
        writeln!(f, "refused by reason{reasons}")?;
        row(f, "no answer", self.unreached)?;
        row(f, "most sessions at once (shop's log)", format!("{} of {}", self.most_sessions, self.capacity))?;
        row(f, "positions that rose", self.positions_risen)?;
        row(f, "numbers issued twice", self.numbers_twice)?;
        row(f, "stayed and never got in", self.stayed_outside)?;
        let share = self.inversion_share() * 100.0;
        row(f, "order inversions", format!("{} of {} pairs ({share:.2} %)", self.inversions, self.pairs))?;
        row(f, "most overtakes of one buyer", self.most_overtakes)?;
        row(f, "first ETA", self.first_eta)?;
        row(f, "every ETA", self.every_eta)?;
        row(f, "server requests per poll", format!("{:.3}", self.server_requests_per_poll))?;
        let rate = format!("{:.0} ({} in {:.0} s)", self.requests_per_s, self.requests, self.seconds);
        row(f, "requests per second", rate)?;
        for violation in self.violations.iter().take(VIOLATIONS_SHOWN) {
            writeln!(f, "BROKEN  {violation}")?;
        }
        let hidden = self.violations.len().saturating_sub(VIOLATIONS_SHOWN);
        if hidden > 0 {
            writeln!(f, "BROKEN  and {hidden} more")?;
        }
        for missing in &self.missing {
            writeln!(f, "MISSING {missing}")?;
        }
        match self.violations.len() {
            _ if !self.missing.is_empty() => {
                write!(f, "the rush was not complete and proves nothing (seed {})", self.seed)
            }
            0 => write!(f, "every promise was kept (seed {})", self.seed),
            broken => write!(f, "{broken} broken promises; --seed {} repeats the crowd", self.seed),
        }
    }
}

impl fmt::Display for Eta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { told, within, shorter, longer, mean_error_s, mean_wait_s } = self;
        write!(f, "{within} of {told} within their range ({shorter} came sooner, {longer} later), ")?;
        write!(f, "mean error {mean_error_s:.1} s of {mean_wait_s:.1} s")
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, value: impl fmt::Display) -> fmt::Result {
    writeln!(f, "{name:<40}{value}")
}

const VIOLATIONS_SHOWN: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_the_seed_of_a_broken_promise() {
        let kept = Summary { seed: 7, ..Summary::default() };
        assert!(kept.to_string().ends_with("every promise was kept (seed 7)"));
        let cut_off = Summary { missing: vec!["the queue server".to_owned()], ..kept.clone() }.to_string();
        assert!(cut_off.contains("MISSING the queue server") && !cut_off.contains("kept"), "{cut_off}");
        let broken = Summary { violations: vec!["a place".to_owned(); VIOLATIONS_SHOWN + 1], ..kept };
        let text = broken.to_string();
        assert_eq!(text.matches("BROKEN  a place").count(), VIOLATIONS_SHOWN);
        assert!(
            text.contains("BROKEN  and 1 more")
                && text.ends_with("21 broken promises; --seed 7 repeats the crowd")
        );
    }
}
