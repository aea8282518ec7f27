//! Faults that the tests plant by the environment variable `FAIRGATE_PLANT`: of the room, or of what keeps it. Without the feature
//! `plant` nothing reads it.

use shared::room::Planted;

/// A fault of this server; those of the room are in [`shared::room::Fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerFault {
    /// Whoever led goes on for ever, and forces its commits upon Redis.
    FenceIgnored,
    /// Nobody minds that Redis has lost commits.
    LossUnnoticed,
    /// Blocks of numbers are not reserved.
    ReservationUnwritten,
    /// Sessions are not written.
    SessionsUnwritten,
    /// Spent bits are not written.
    BitsUnwritten,
    /// Answers do not wait for a commit, and none is made before the server ends.
    AnswerEarly,
    /// The clock jumps two hours ahead while the server runs.
    ClockForward,
}

#[cfg(feature = "plant")]
mod planted {
    use super::ServerFault;
    use std::sync::OnceLock;

    impl ServerFault {
        pub(super) const ALL: [Self; 7] = [
            Self::FenceIgnored,
            Self::LossUnnoticed,
            Self::ReservationUnwritten,
            Self::SessionsUnwritten,
            Self::BitsUnwritten,
            Self::AnswerEarly,
            Self::ClockForward,
        ];

        pub(super) fn name(self) -> &'static str {
            match self {
                Self::FenceIgnored => "fence_ignored",
                Self::LossUnnoticed => "loss_unnoticed",
                Self::ReservationUnwritten => "reservation_unwritten",
                Self::SessionsUnwritten => "sessions_unwritten",
                Self::BitsUnwritten => "bits_unwritten",
                Self::AnswerEarly => "answer_early",
                Self::ClockForward => "clock_forward",
            }
        }

        /// The one of this name.
        pub(super) fn named(name: &str) -> Option<Self> {
            Self::ALL.into_iter().find(|fault| fault.name() == name)
        }
    }

    pub(super) fn of_environment() -> Option<ServerFault> {
        static PLANTED: OnceLock<Option<ServerFault>> = OnceLock::new();
        *PLANTED.get_or_init(|| ServerFault::named(&std::env::var("FAIRGATE_PLANT").ok()?))
    }
}

/// Whether this server has this fault.
#[cfg(feature = "plant")]
pub(crate) fn has(fault: ServerFault) -> bool {
    planted::of_environment() == Some(fault)
}

/// No fault.
#[cfg(not(feature = "plant"))]
pub(crate) const fn has(_fault: ServerFault) -> bool {
    false
}

/// How far the wall clock is ahead, in seconds; negative: behind.
#[cfg(feature = "plant")]
pub(crate) fn clock_ahead_s() -> i64 {
    std::env::var("FAIRGATE_CLOCK_AHEAD_S").ok().and_then(|ahead| ahead.parse().ok()).unwrap_or(0)
}

/// The wall clock is what it is.
#[cfg(not(feature = "plant"))]
pub(crate) const fn clock_ahead_s() -> i64 {
    0
}

/// The fault of the rooms that is named in the environment, if any.
#[cfg(feature = "plant")]
pub fn from_env() -> anyhow::Result<Planted> {
    use shared::room::Fault;

    let Ok(name) = std::env::var("FAIRGATE_PLANT") else { return Ok(Planted::default()) };
    if name.is_empty() {
        return Ok(Planted::default());
    }
    let of_room = Fault::ALL.into_iter().find(|fault| fault.name() == name);
    if of_room.is_none() && planted::of_environment().is_none() {
        let names = Fault::ALL.map(Fault::name).into_iter().chain(ServerFault::ALL.map(ServerFault::name));
        let names: Vec<_> = names.collect();
        anyhow::bail!("FAIRGATE_PLANT={name}: use one of {}", names.join(", "));
    }
    tracing::warn!(name, "a fault is planted: this server breaks a promise on purpose");
    Ok(of_room.map(Planted::fault).unwrap_or_default())
}

/// No fault.
#[cfg(not(feature = "plant"))]
pub fn from_env() -> anyhow::Result<Planted> {
    Ok(Planted::default())
}
