//! Other numbers in a scenario, by options of the command.

use crate::scenario::{Crowd, Scenario};
use clap::Args;
use std::time::Duration;

/// What is changed in each scenario that is run; its marks stay.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Other numbers than the scenario's")]
pub struct Change {
    /// So many buyers, shared among its crowds as they were
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub buyers: Option<u32>,
    /// Share of the buyers who leave right after joining, 0 to 1
    #[arg(long, value_parser = share)]
    pub no_shows: Option<f64>,
    /// Capacity of the room, in sessions
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub capacity: Option<u32>,
    /// Most admissions a second
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub admission_rate: Option<u32>,
    /// Idle time-out of a session, in seconds
    #[arg(long, value_parser = clap::value_parser!(u32).range(10..=900))]
    pub idle: Option<u32>,
    /// Share of the sessions that end with a word, 0 to 1
    #[arg(long, value_parser = share)]
    pub explicit_ends: Option<f64>,
}

impl Change {
    /// The scenario with these numbers. Other rooms of its server stay as they are.
    #[must_use]
    pub fn apply(&self, mut scenario: Scenario) -> Scenario {
        let before = scenario.buyers().max(1);
        let changed = |crowd: &Crowd| Crowd {
            buyers: self.buyers.map_or(crowd.buyers, |buyers| part(crowd.buyers, buyers, before)),
            no_shows: self.no_shows.unwrap_or(crowd.no_shows),
            ..*crowd
        };
        scenario.crowds = scenario.crowds.iter().map(changed).collect();
        let room = &mut scenario.room;
        room.capacity = self.capacity.unwrap_or(room.capacity);
        room.admission_rate_per_s = self.admission_rate.unwrap_or(room.admission_rate_per_s);
        room.pass_life = self.idle.map_or(room.pass_life, |idle_s| Duration::from_secs(idle_s.into()));
        scenario.stay.explicit_ends = self.explicit_ends.unwrap_or(scenario.stay.explicit_ends);
        scenario
    }
}

/// `of · buyers / all`, rounded up.
fn part(of: u32, buyers: u32, all: u32) -> u32 {
    let part = (u64::from(of) * u64::from(buyers)).div_ceil(all.into());
    u32::try_from(part).unwrap_or(u32::MAX)
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "a share from 0 to 1".to_owned())?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("a share from 0 to 1".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::all;

    #[test]
    fn crowds_keep_their_parts_and_nothing_else_changes_unasked() {
        let lanes = all().into_iter().find(|scenario| scenario.crowds.len() > 1).unwrap();
        let change =
            Change { buyers: Some(500), no_shows: Some(0.75), capacity: Some(40), ..Change::default() };
        let changed = change.apply(lanes.clone());
        assert!((500..510).contains(&changed.buyers()), "{}", changed.buyers());
        assert!(changed.crowds.iter().all(|crowd| (crowd.no_shows - 0.75).abs() < f64::EPSILON));
        assert_eq!((changed.room.capacity, changed.room.pass_life), (40, lanes.room.pass_life));
        assert_eq!(format!("{:?}", Change::default().apply(lanes.clone())), format!("{lanes:?}"));
    }

    #[test]
    fn a_share_is_from_0_to_1() {
        assert_eq!(["0", "0.25", "1"].map(share), [Ok(0.0), Ok(0.25), Ok(1.0)]);
        assert!(["-0.1", "1.01", "NaN", "most"].iter().all(|text| share(text).is_err()));
    }
}
