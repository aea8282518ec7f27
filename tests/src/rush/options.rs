//! What a rush is made of.

use serde::Serialize;

/// Simulated buyers over real HTTP, and whether every promise was kept
#[derive(Clone, Debug, clap::Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Options {
    /// Buyers, each with a device and an address of their own
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub buyers: u32,
    /// Seconds over which they arrive
    #[arg(long, value_parser = seconds, default_value = "5")]
    pub arrive_over: f64,
    /// Seconds that a buyer stays inside
    #[arg(long, value_parser = seconds, default_value = "3")]
    pub session: f64,
    /// Share of buyers who join and then go away without a word
    #[arg(long, value_parser = share, default_value = "0.2")]
    pub leave_share: f64,
    /// Bots, which share few devices and ask as fast as they can
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1_000))]
    pub bots: u32,
    /// Most sessions at once
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub capacity: u32,
    /// Most redemptions per second
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub admission_rate: u32,
    /// Stop the queue server (SIGSTOP) for so many seconds in mid-rush
    #[arg(long, value_parser = seconds)]
    pub stall_server: Option<f64>,
    /// Kill the queue server so many seconds after the start and start it again
    #[arg(long, value_parser = seconds)]
    pub kill_server_at: Option<f64>,
    /// Seed of everything that is left to chance
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Plant a known fault, which the checks must catch
    #[arg(long, value_enum)]
    pub plant: Option<Plant>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A fault that the queue server can be built to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Plant {
    /// The door lets one session too many in.
    DoorOffByOne,
    /// A redeemed ticket is forgotten.
    BitDropped,
    /// A ticket number is given twice.
    NumberReissued,
    /// A position shown goes up.
    PositionRising,
}

impl Plant {
    /// The fault's name on the command line and in `FAIRGATE_PLANT`.
    pub fn name(self) -> &'static str {
        match self {
            Self::DoorOffByOne => "door_off_by_one",
            Self::BitDropped => "bit_dropped",
            Self::NumberReissued => "number_reissued",
            Self::PositionRising => "position_rising",
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    number_within(text, 3_600.0)
}

fn share(text: &str) -> Result<f64, String> {
    number_within(text, 1.0)
}

fn number_within(text: &str, most: f64) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=most).contains(number));
    number.ok_or_else(|| format!("a number from 0 to {most}"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};

    /// The options of a rush without arguments.
    pub(in crate::rush) fn options() -> Options {
        let matches = Options::augment_args(clap::Command::new("rush")).get_matches_from(["rush"]);
        Options::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert_eq!(seconds("3600"), Ok(3_600.0));
        for text in ["3600.1", "-1", "NaN", "long"] {
            assert!(seconds(text).is_err(), "{text}");
        }
        assert!(share("1.01").is_err());
    }

    #[test]
    fn a_rush_of_nobody_proves_nothing_and_is_refused() {
        let arguments = |buyers| ["rush", "--buyers", buyers];
        let command = || Options::augment_args(clap::Command::new("rush"));
        assert!(command().try_get_matches_from(arguments("0")).is_err());
        assert!(command().try_get_matches_from(arguments("1")).is_ok());
    }

    #[test]
    fn a_fault_has_one_name() {
        use clap::ValueEnum;
        for plant in Plant::value_variants() {
            assert_eq!(Plant::from_str(plant.name(), false).unwrap(), *plant);
        }
    }
}
