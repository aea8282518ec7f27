//! The sessions as buyers know them, counted apart from the room: the room's own count is what is being checked.

/// Counts sessions by the millisecond in which they run out.
pub(crate) struct Ledger {
    ends: Vec<u32>,
    inside: u32,
    now_ms: u32,
}

impl Ledger {
    /// For sessions that run out at most `life_ms` after they began or were renewed.
    pub(crate) fn new(life_ms: u32) -> Self {
        Self { ends: vec![0; (life_ms as usize + 1).next_power_of_two()], inside: 0, now_ms: 0 }
    }

    /// Ends what runs out up to `now_ms`.
    pub(crate) fn advance(&mut self, now_ms: u32) {
        while self.now_ms < now_ms {
            self.now_ms += 1;
            let now_ms = self.now_ms;
            let ending = core::mem::take(self.slot(now_ms));
            self.inside -= ending;
        }
    }

    pub(crate) fn begin(&mut self, expires_ms: u32) {
        *self.slot(expires_ms) += 1;
        self.inside += 1;
    }

    /// Whether a session that runs out at `expires_ms` is still there.
    pub(crate) fn lives(&self, expires_ms: u32) -> bool {
        expires_ms > self.now_ms
    }

    /// Ends a session that lives.
    pub(crate) fn end(&mut self, expires_ms: u32) {
        *self.slot(expires_ms) -= 1;
        self.inside -= 1;
    }

    pub(crate) fn inside(&self) -> u32 {
        self.inside
    }

    fn slot(&mut self, at_ms: u32) -> &mut u32 {
        let slots = self.ends.len();
        &mut self.ends[at_ms as usize % slots]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_counts_until_it_ends_or_runs_out() {
        let mut ledger = Ledger::new(10);
        ledger.begin(10);
        ledger.begin(7);
        ledger.advance(6);
        assert_eq!((ledger.inside(), ledger.lives(7)), (2, true));
        ledger.advance(7);
        assert_eq!((ledger.inside(), ledger.lives(7)), (1, false));
        ledger.end(10);
        ledger.advance(30);
        assert_eq!(ledger.inside(), 0);
    }
}
