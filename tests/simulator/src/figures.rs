//! What a run measured, and what it has to reach.

use serde::Serialize;
use std::collections::BTreeMap;

/// One measured number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Counted sessions ÷ capacity, over the seconds in which somebody present waits uncalled.
    CountedUse,
    /// The same without the first fill.
    CountedUseAfterFill,
    /// People really inside ÷ capacity, over the same seconds.
    TrueUse,
    /// Called buyers who were there and became late or void.
    LostTurns,
    /// Present buyers who had not come in when the run ended.
    NeverServed,
    /// Wait at the door, from the first refusal to the entry: 95 % waited at most so long, in seconds.
    DoorWaitP95,
    /// The longest of these waits, in seconds.
    DoorWaitMost,
    /// The longest wait from the join to the entry, in seconds.
    WaitMost,
    /// Share of buyers who were called within the range that they were told two minutes after they had joined, in percent.
    EtaKept,
    /// The same of the range that a buyer was told with the join, when nothing is known of the pace yet.
    FirstEtaKept,
    /// Mean distance of the wait from the middle of the range told with the join, in seconds.
    FirstEtaError,
    /// The same of what was told two minutes later.
    EtaError,
    /// Share of pairs in the wrong order within a lane, in percent.
    InversionsPercent,
    /// By how many higher numbers one buyer was overtaken at most, among those called after the first fill, in seconds of the lane's
    /// flow: each of them counts what the flow was when they came in, the mean flow at least.
    OvertakesMost,
    /// The same of those who came in while the buyer stood at the door.
    OvertakesAtDoor,
    /// All of them in seconds of the mean flow, which says little where the flow comes in waves: never judged.
    OvertakesOfMean,
    /// Jain's index of entries ÷ weight (or the share that floors and ceilings leave) over 1,000 entries, fifth percentile.
    JainP5,
    /// The same from a minute after the first fill on: in the fill nobody knows yet how many of each lane come, and in the minute after
    /// it that is made up for.
    JainAfterFill,
    /// Least share of a lane among 1,000 entries ÷ its floor, or its ceiling ÷ its share, while people waited in all lanes, from a minute
    /// after the first fill on: fifth percentile.
    BoundsKept,
    /// How far a lane was behind its floor or ahead of its ceiling at most, over all entries so far, in seconds of the room's flow.
    BoundsLag,
    /// From the loss of half of the server until replies take 1.5 times the target at most and go on to for a minute, in seconds.
    RestoredAfter,
    /// People inside ÷ people with whom replies take the target, over the whole run.
    UseOfSafe,
    /// Share of the time in which replies take more than 1.5 times the target, in percent.
    SlowPercent,
    /// Sessions of all rooms ÷ what their server allows, while people wait in any of them.
    SharedUse,
    /// Least part of a room ÷ its part by weight, over the time in which people wait in all rooms.
    SharesKept,
    /// Seconds from the loss of the network to the last call that was no probe.
    CallingStopsAfter,
    /// The longest time from a call to the first try at the door, of buyers who polled as told, in seconds.
    DelayMost,
    /// When sessions first reached 97 % of capacity, in seconds.
    FirstFill,
    /// The last present buyer came in, in seconds.
    ServedAll,
    /// Polls in the fullest ten seconds, per second.
    PollsMost,
}

impl Figure {
    /// All figures, in the order of the table.
    pub const ALL: [Self; 30] = [
        Self::CountedUse,
        Self::CountedUseAfterFill,
        Self::TrueUse,
        Self::LostTurns,
        Self::NeverServed,
        Self::DoorWaitP95,
        Self::DoorWaitMost,
        Self::WaitMost,
        Self::EtaKept,
        Self::FirstEtaKept,
        Self::FirstEtaError,
        Self::EtaError,
        Self::InversionsPercent,
        Self::OvertakesMost,
        Self::OvertakesAtDoor,
        Self::OvertakesOfMean,
        Self::JainP5,
        Self::JainAfterFill,
        Self::BoundsKept,
        Self::BoundsLag,
        Self::RestoredAfter,
        Self::UseOfSafe,
        Self::SlowPercent,
        Self::SharedUse,
        Self::SharesKept,
        Self::CallingStopsAfter,
        Self::DelayMost,
        Self::FirstFill,
        Self::ServedAll,
        Self::PollsMost,
    ];

    /// What the table calls it.
    pub fn label(self) -> &'static str {
        match self {
            Self::CountedUse => "counted use",
            Self::CountedUseAfterFill => "counted use after the fill",
            Self::TrueUse => "true use",
            Self::LostTurns => "lost turns",
            Self::NeverServed => "never served",
            Self::DoorWaitP95 => "door wait p95, s",
            Self::DoorWaitMost => "door wait most, s",
            Self::WaitMost => "wait most, s",
            Self::EtaKept => "estimate kept, %",
            Self::FirstEtaKept => "first estimate kept, %",
            Self::FirstEtaError => "first estimate off by, s",
            Self::EtaError => "later estimate off by, s",
            Self::InversionsPercent => "inversions, %",
            Self::OvertakesMost => "most overtakes, s of flow",
            Self::OvertakesAtDoor => "of them at the door",
            Self::OvertakesOfMean => "the same of mean flow",
            Self::JainP5 => "Jain p5",
            Self::JainAfterFill => "Jain p5 after the fill",
            Self::BoundsKept => "bounds of lanes kept, p5",
            Self::BoundsLag => "behind bounds most, s of flow",
            Self::RestoredAfter => "latency restored after, s",
            Self::UseOfSafe => "use of safe capacity",
            Self::SlowPercent => "slow, % of the time",
            Self::SharedUse => "use of the shared server",
            Self::SharesKept => "shares of rooms kept",
            Self::CallingStopsAfter => "calling stops after, s",
            Self::DelayMost => "call to door most, s",
            Self::FirstFill => "first fill, s",
            Self::ServedAll => "served all, s",
            Self::PollsMost => "polls most, /s",
        }
    }
}

/// What a figure has to reach.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// The figure.
    pub figure: Figure,
    /// Its bound.
    pub bound: Bound,
}

/// A bound of a figure, itself included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Not below.
    AtLeast(f64),
    /// Not above.
    AtMost(f64),
}

impl Mark {
    /// `figure ≥ bound`.
    pub fn at_least(figure: Figure, bound: f64) -> Self {
        Self { figure, bound: Bound::AtLeast(bound) }
    }

    /// `figure ≤ bound`.
    pub fn at_most(figure: Figure, bound: f64) -> Self {
        Self { figure, bound: Bound::AtMost(bound) }
    }

    /// Whether a run reached it; a figure that the run could not measure fails.
    pub fn is_met(&self, figures: &Figures) -> bool {
        figures.0.get(&self.figure).is_some_and(|&value| self.bound.holds(value))
    }
}

impl Bound {
    /// Whether `value` keeps within.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
        }
    }
}

/// What one run measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures(pub BTreeMap<Figure, f64>);
