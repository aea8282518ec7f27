//! What a run is made of: plain data.

use crate::figures::Mark;
use shared::{
    ids::LaneId,
    origin::OriginSettings,
    room::{LaneSettings, RoomSettings},
    wire::Phase,
};
use std::time::Duration;

/// One sale: a room, the people who come, and what goes wrong meanwhile.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is there for.
    pub about: &'static str,
    /// The room as its operator set it.
    pub room: RoomSettings,
    /// Who comes.
    pub crowds: Vec<Crowd>,
    /// What they do inside.
    pub stay: Stay,
    /// Youngest and oldest snapshot that a poll may meet.
    pub snapshot_age_ms: (u32, u32),
    /// Share of joins and redemptions that are sent twice.
    pub duplicates: f64,
    /// What goes wrong.
    pub troubles: Vec<Trouble>,
    /// The run ends here even if people still wait.
    pub seconds_max: u32,
    /// What must hold.
    pub marks: Vec<Mark>,
    /// What each lane is to have while people wait in all of them, where that is not by weight alone.
    pub shares: Option<Vec<u32>>,
    /// Models of other rooms' rules are run on the same people.
    pub with_peers: bool,
    /// The shop's server, where its health is watched.
    pub server: Option<ServerModel>,
    /// The room's weight beside the other rooms of the server.
    pub weight: u32,
    /// Other rooms of the same server, with people of their own.
    pub neighbours: Vec<Scenario>,
}

/// A shop's server whose health is watched.
#[derive(Clone, Copy, Debug)]
pub struct ServerModel {
    /// What the operator says of it.
    pub settings: OriginSettings,
    /// People inside with whom replies take the target.
    pub safe_sessions: u32,
    /// For a while it can bear only half.
    pub loss: Option<Loss>,
    /// Gated requests of each person inside.
    pub requests_per_session_s: f64,
}

/// A time in which a server has lost half of what it can do.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// First second.
    pub from_s: u32,
    /// It is well from this second on.
    pub until_s: u32,
}

impl ServerModel {
    /// People inside with whom replies take the target at a second.
    pub(crate) fn safe_sessions(&self, at_s: u32) -> f64 {
        let is_lost = self.loss.is_some_and(|loss| (loss.from_s..loss.until_s).contains(&at_s));
        f64::from(self.safe_sessions) / if is_lost { 2.0 } else { 1.0 }
    }
}

/// People of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// Their lane.
    pub lane: LaneId,
    /// How many they are.
    pub buyers: u32,
    /// When they come.
    pub arrivals: Arrivals,
    /// Share of them who leave right after joining, without a word.
    pub no_shows: f64,
    /// What those do who stay.
    pub habit: Habit,
}

/// When people come.
#[derive(Clone, Copy, Debug)]
pub enum Arrivals {
    /// All within the first two seconds after a moment.
    Batch {
        /// The moment.
        at_s: f64,
    },
    /// More and more until the peak, then fewer and fewer.
    RampAndDecay {
        /// Second of the peak.
        ramp_s: f64,
        /// After the peak, `1/e` of the flow is left after so long.
        decay_s: f64,
    },
    /// Evenly.
    Steady {
        /// From this second on.
        from_s: f64,
        /// Over so many seconds.
        over_s: f64,
    },
}

/// How those who stay behave in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// They ask when they are told to.
    AsTold,
    /// The same, but their phone sleeps for 1 to 10 minutes once.
    Sleeps,
    /// They ask every second, whatever they are told.
    Bot,
}

/// What buyers do inside.
#[derive(Clone, Copy, Debug)]
pub struct Stay {
    /// Mean time inside, `S`.
    pub mean_s: f64,
    /// How far single stays lie from the mean.
    pub spread: Spread,
    /// Share of sessions that end with a word to the server; the others idle out.
    pub explicit_ends: f64,
}

/// How far single stays lie from their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Exponential.
    Wide,
    /// Within a tenth.
    Narrow,
}

/// Something that goes wrong for a while.
#[derive(Clone, Copy, Debug)]
pub struct Trouble {
    /// What.
    pub kind: TroubleKind,
    /// First second.
    pub from_s: u32,
    /// How long.
    pub for_s: u32,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// The queue server stands still: no ticks, joins, redemptions, renewals; polls go on at the edge.
    ServerAway,
    /// No buyer reaches anything, the server goes on.
    NetworkAway,
    /// The operator holds the line.
    Paused,
}

impl Scenario {
    /// Everybody who comes.
    pub fn buyers(&self) -> u32 {
        self.crowds.iter().map(|crowd| crowd.buyers).sum()
    }

    /// Whether a lane has a floor or a ceiling.
    pub fn has_bounds(&self) -> bool {
        self.room.lanes.iter().any(|lane| lane.floor_pct > 0 || lane.ceiling_pct < 100)
    }

    /// Whether a trouble of this kind is there at a moment.
    pub fn has(&self, kind: TroubleKind, now_ms: u32) -> bool {
        self.troubles.iter().any(|trouble| trouble.kind == kind && trouble.holds(now_ms))
    }
}

impl Trouble {
    fn holds(&self, now_ms: u32) -> bool {
        (self.from_s * 1_000..(self.from_s + self.for_s) * 1_000).contains(&now_ms)
    }
}

/// A room with one lane, with the defaults of the configuration.
pub(crate) fn room(capacity: u32, admission_rate_per_s: u32) -> RoomSettings {
    RoomSettings {
        capacity,
        admission_rate_per_s,
        turn_grace: Duration::from_secs(300),
        pass_life: Duration::from_secs(120),
        session_max: Duration::from_secs(900),
        poll_budget_per_s: 1_000,
        session_extensions_max: 10,
        sessions_per_buyer: None,
        remembers_devices: true,
        phase: Phase::Open,
        opens_at: None,
        closes_at: None,
        lanes: vec![LaneSettings::weighing("guest", 1)],
    }
}
