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
