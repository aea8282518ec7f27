//! Faults that the tests plant to see that the checkers find them. Without the feature `plant` none can be planted.

/// A fault that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The door lets one session too many in.
    DoorOffByOne,
    /// A redemption leaves the number's bit unset, so that the ticket enters again.
    BitDropped,
    /// Every 20th join gets the number of the join before it.
    NumberReissued,
    /// Every other snapshot tells a serving number three lower.
    PositionRising,
    /// Turns run out while the door is full.
    TurnsRunOut,
    /// The door does not ask whether a number is called.
    UncalledEnter,
    /// The admission rate is not kept.
    RateForgotten,
    /// Called buyers who have not come yet are called for again.
    PipelineForgotten,
    /// Called buyers who left are expected for ever.
    GhostsAwaited,
    /// Calling goes on when nobody comes any more.
    NeverStops,
    /// Lanes are called in turn, whatever their weight.
    WeightsForgotten,
    /// Lanes have neither floors nor ceilings.
    BoundsForgotten,
    /// Who left the line without a word is waited for like everybody else.
    AbsentWaitedFor,
    /// What the shop's server can bear is not heeded.
    ServerUnheeded,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 14] = [
        Self::DoorOffByOne,
        Self::BitDropped,
        Self::NumberReissued,
        Self::PositionRising,
        Self::TurnsRunOut,
        Self::UncalledEnter,
        Self::RateForgotten,
        Self::PipelineForgotten,
        Self::GhostsAwaited,
        Self::NeverStops,
        Self::WeightsForgotten,
        Self::BoundsForgotten,
        Self::AbsentWaitedFor,
        Self::ServerUnheeded,
    ];

    /// The fault's name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::DoorOffByOne => "door_off_by_one",
            Self::BitDropped => "bit_dropped",
            Self::NumberReissued => "number_reissued",
            Self::PositionRising => "position_rising",
            Self::TurnsRunOut => "turns_run_out",
            Self::UncalledEnter => "uncalled_enter",
            Self::RateForgotten => "rate_forgotten",
            Self::PipelineForgotten => "pipeline_forgotten",
            Self::GhostsAwaited => "ghosts_awaited",
            Self::NeverStops => "never_stops",
            Self::WeightsForgotten => "weights_forgotten",
            Self::BoundsForgotten => "bounds_forgotten",
            Self::AbsentWaitedFor => "absent_waited_for",
            Self::ServerUnheeded => "server_unheeded",
        }
    }
}

/// The fault of this room, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planted {
    #[cfg(feature = "plant")]
    fault: Option<Fault>,
}

impl Planted {
    /// Plants a fault.
    #[cfg(feature = "plant")]
    pub fn fault(fault: Fault) -> Self {
        Self { fault: Some(fault) }
    }

    #[cfg(feature = "plant")]
    pub(super) fn has(self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    #[cfg(not(feature = "plant"))]
    #[expect(clippy::unused_self, reason = "the same call with and without the feature")]
    pub(super) fn has(self, _fault: Fault) -> bool {
        false
    }
}
