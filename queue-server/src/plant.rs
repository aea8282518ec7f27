//! Faults that the tests plant by the environment variable `FAIRGATE_PLANT`. Without the feature `plant` nothing reads it.

use shared::room::Planted;

/// The fault named in the environment, if any.
#[cfg(feature = "plant")]
pub fn from_env() -> anyhow::Result<Planted> {
    use shared::room::Fault;

    let Ok(name) = std::env::var("FAIRGATE_PLANT") else { return Ok(Planted::default()) };
    let fault = match name.as_str() {
        "" => return Ok(Planted::default()),
        "door_off_by_one" => Fault::DoorOffByOne,
        "bit_dropped" => Fault::BitDropped,
        "number_reissued" => Fault::NumberReissued,
        "position_rising" => Fault::PositionRising,
        _ => anyhow::bail!(
            "FAIRGATE_PLANT={name}: use door_off_by_one, bit_dropped, number_reissued or position_rising"
        ),
    };
    tracing::warn!(name, "a fault is planted: this server breaks a promise on purpose");
    Ok(Planted::fault(fault))
}

/// No fault.
#[cfg(not(feature = "plant"))]
pub fn from_env() -> anyhow::Result<Planted> {
    Ok(Planted::default())
}
