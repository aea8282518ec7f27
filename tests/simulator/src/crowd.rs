//! Who comes, when, and what each will do: everything that chance decides before the sale.

use shared::wire::EtaRange;

use crate::scenario::{Arrivals, Crowd, Habit, Scenario, Spread, Stay};

/// One buyer. A run has up to millions of them.
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent facts, in a byte each, of up to millions"
)]
#[derive(Clone, Debug)]
pub(crate) struct Buyer {
    pub(crate) lane: u8,
    pub(crate) habit: Habit,
    pub(crate) state: State,
    /// Stays after joining.
    pub(crate) present: bool,
    /// Ends the session with a word to the server.
    pub(crate) explicit_end: bool,
    /// The phone has slept.
    pub(crate) has_slept: bool,
    /// A call failed, or the operator held the line, between the join and the entry.
    pub(crate) was_cut_off: bool,
    /// Failed calls in a row.
    pub(crate) faults: u8,
    /// The ticket's number, 0 before the join.
    pub(crate) number: u32,
    /// The lowest position shown so far.
    pub(crate) shown: u64,
    /// When the join went through.
    pub(crate) joined_ms: u32,
    /// What was told with the join of how long the wait would last.
    pub(crate) first_eta: Option<EtaRange>,
    /// What was told two minutes later: when, and how long the wait was to last.
    pub(crate) eta: Option<(u32, EtaRange)>,
    /// The newest snapshot seen.
    pub(crate) seen_tick: u64,
    /// Waking after a sleep, 0 before.
    pub(crate) woke_ms: u32,
    /// First refusal by a full door, 0 before.
    pub(crate) refused_ms: u32,
    /// Time inside.
    pub(crate) stay_ms: u32,
    /// When the buyer leaves, once inside.
    pub(crate) leaves_ms: u32,
    /// When the session runs out unless it is renewed, once inside.
    pub(crate) expires_ms: u32,
}

/// What a buyer does at the next moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Arriving,
    Waiting,
    AtDoor,
    Inside,
    Finishing,
    TryingAgain,
    Gone,
}

impl Buyer {
    /// Whether order and waits may be judged by this buyer: who asked when told to, and got through each time.
    pub(crate) fn polls_as_told(&self) -> bool {
        self.habit == Habit::AsTold && !self.was_cut_off
    }
}

/// All buyers with the moment at which each comes, in milliseconds.
pub(crate) fn gather(scenario: &Scenario, chance: &mut fastrand::Rng) -> Vec<(Buyer, u32)> {
    let mut all = Vec::with_capacity(scenario.buyers() as usize);
    for crowd in &scenario.crowds {
        for _ in 0..crowd.buyers {
            let comes_ms = arrival_s(crowd.arrivals, chance) * 1_000.0;
            all.push((buyer(crowd, scenario, chance), comes_ms as u32));
        }
    }
    all
}

fn buyer(crowd: &Crowd, scenario: &Scenario, chance: &mut fastrand::Rng) -> Buyer {
    Buyer {
        lane: crowd.lane.0,
        habit: crowd.habit,
        state: State::Arriving,
        present: chance.f64() >= crowd.no_shows,
        explicit_end: chance.f64() < scenario.stay.explicit_ends,
        has_slept: false,
        was_cut_off: false,
        faults: 0,
        number: 0,
        shown: u64::MAX,
        joined_ms: 0,
        first_eta: None,
        eta: None,
        seen_tick: 0,
        woke_ms: 0,
        refused_ms: 0,
        stay_ms: stay_ms(scenario.stay, scenario.room.session_max.as_millis() as u32, chance),
        leaves_ms: 0,
        expires_ms: 0,
    }
}

/// A stay, at most what the room allows.
fn stay_ms(stay: Stay, most_ms: u32, chance: &mut fastrand::Rng) -> u32 {
    let factor = match stay.spread {
        Spread::Wide => exponential(chance),
        Spread::Narrow => 0.9 + 0.2 * chance.f64(),
    };
    ((stay.mean_s * factor * 1_000.0) as u32).clamp(1, most_ms)
}

fn arrival_s(arrivals: Arrivals, chance: &mut fastrand::Rng) -> f64 {
    match arrivals {
        Arrivals::Batch { at_s } => at_s + 2.0 * chance.f64(),
        Arrivals::Steady { from_s, over_s } => from_s + over_s * chance.f64(),
        Arrivals::RampAndDecay { ramp_s, decay_s } => {
            // The flow grows linearly to its peak: half of `ramp_s` at the peak flow come before it.
            let before = ramp_s / 2.0;
            if chance.f64() * (before + decay_s) < before {
                ramp_s * chance.f64().sqrt()
            } else {
                ramp_s + decay_s * exponential(chance)
            }
        }
    }
}

/// Exponential with mean 1.
fn exponential(chance: &mut fastrand::Rng) -> f64 {
    -(1.0 - chance.f64()).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(draws: impl Iterator<Item = f64>) -> f64 {
        let all: Vec<f64> = draws.collect();
        all.iter().sum::<f64>() / all.len() as f64
    }

    #[test]
    fn stays_have_their_mean_and_respect_the_maximum() {
        let mut chance = fastrand::Rng::with_seed(1);
        for spread in [Spread::Wide, Spread::Narrow] {
            let stay = Stay { mean_s: 150.0, spread, explicit_ends: 0.6 };
            let seen = mean((0..20_000).map(|_| f64::from(stay_ms(stay, 9_000_000, &mut chance))));
            assert!((seen / 150_000.0 - 1.0).abs() < 0.03, "{spread:?}: {seen}");
            assert!((0..1_000).all(|_| stay_ms(stay, 100_000, &mut chance) <= 100_000));
        }
    }

    #[test]
    fn a_ramp_peaks_where_it_says() {
        let mut chance = fastrand::Rng::with_seed(2);
        let arrivals = Arrivals::RampAndDecay { ramp_s: 100.0, decay_s: 50.0 };
        let before = (0..10_000).filter(|_| arrival_s(arrivals, &mut chance) < 100.0).count();
        assert!((4_700..5_300).contains(&before), "half before the peak: {before}");
    }
}
