//! The promises a rush can catch being broken.

use shared::ids::Place;
use std::fmt;

/// One broken promise, with who and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// More sessions at once than capacity, by the shop's log.
    OverCapacity { most: usize, capacity: usize, at_ms: u64, jti: String },
    /// A position shown to one ticket went up.
    PositionRose { buyer: u32, place: Place, from: u64, to: u64 },
    /// A ticket that had been called was told to wait.
    TurnTakenBack { buyer: u32, place: Place, position: u64 },
    /// Two tickets carry one number.
    NumberReissued { place: Place, buyers: [u32; 2] },
    /// A live ticket was refused as void, spent, expired or unknown.
    PlaceLost { buyer: u32, place: Place, code: String },
    /// A buyer with a live ticket was given another place.
    PlaceChanged { buyer: u32, from: Place, to: Place },
    /// Polled as told and never entered.
    StayedOutside { buyer: u32, place: Option<Place> },
    /// More later tickets entered first than ten seconds of flow.
    Overtaken { buyer: u32, place: Place, by: usize, bound: usize },
    /// Told to wait after a later ticket of the lane had entered.
    OutOfTurn { buyer: u32, place: Place, later: Place },
    /// A ticket whose session had ended was not refused as gone.
    TicketReused { buyer: u32, place: Place, status: u16 },
    /// A pass was used after its session had ended.
    UsedAfterEnd { jti: String, after_ms: u64 },
    /// The shop let in a session that no buyer was given.
    Stranger { jti: String },
    /// A buyer inside was refused for want of a pass.
    SessionLost { buyer: u32, place: Place, code: String },
    /// A refusal without a reason code.
    UnnamedRefusal { buyer: u32, status: u16, times: usize },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OverCapacity { most, capacity, at_ms, jti } => {
                write!(f, "{most} sessions at once, capacity {capacity}, when {jti} came at {at_ms} ms")
            }
            Self::PositionRose { buyer, place, from, to } => {
                write!(f, "buyer {buyer}, ticket {}: position rose from {from} to {to}", Shown(place))
            }
            Self::TurnTakenBack { buyer, place, position } => {
                write!(
                    f,
                    "buyer {buyer}, ticket {}: called, then sent back to position {position}",
                    Shown(place)
                )
            }
            Self::NumberReissued { place, buyers: [first, second] } => {
                write!(f, "ticket {}: given to buyer {first} and to buyer {second}", Shown(place))
            }
            Self::PlaceLost { buyer, place, code } => {
                write!(f, "buyer {buyer}, ticket {}: place lost ({code})", Shown(place))
            }
            Self::PlaceChanged { buyer, from, to } => {
                write!(f, "buyer {buyer}, ticket {}: joined again and got {}", Shown(from), Shown(to))
            }
            Self::StayedOutside { buyer, place: Some(place) } => {
                write!(f, "buyer {buyer}, ticket {}: stayed and never got in", Shown(place))
            }
            Self::StayedOutside { buyer, place: None } => write!(f, "buyer {buyer}: never got a ticket"),
            Self::Overtaken { buyer, place, by, bound } => write!(
                f,
                "buyer {buyer}, ticket {}: {by} later tickets entered first, at most {bound} may",
                Shown(place)
            ),
            Self::OutOfTurn { buyer, place, later } => write!(
                f,
                "buyer {buyer}, ticket {}: told to wait after {} had entered",
                Shown(place),
                Shown(later)
            ),
            Self::TicketReused { buyer, place, status } => write!(
                f,
                "buyer {buyer}, ticket {}: redeemed again after its session ended, answer {status}, not 410",
                Shown(place)
            ),
            Self::UsedAfterEnd { jti, after_ms } => {
                write!(f, "session {jti}: its pass was used {after_ms} ms after its end")
            }
            Self::Stranger { jti } => write!(f, "session {jti}: in the shop, given to nobody"),
            Self::SessionLost { buyer, place, code } => {
                write!(f, "buyer {buyer}, ticket {}: refused inside ({code})", Shown(place))
            }
            Self::UnnamedRefusal { buyer, status, times } => {
                write!(f, "buyer {buyer}: {times} refusals with status {status} and no reason code")
            }
        }
    }
}

/// A place as people write it: `epoch:lane:number`.
struct Shown<'a>(&'a Place);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.0.epoch.0, self.0.lane.0, self.0.number.0)
    }
}
