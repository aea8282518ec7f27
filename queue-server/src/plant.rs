//! Faults that the tests plant by the environment variable `FAIRGATE_PLANT`. Without the feature `plant` nothing reads it.

use shared::room::Planted;

/// The fault named in the environment, if any.
#[cfg(feature = "plant")]
pub fn from_env() -> anyhow::Result<Planted> {
    use shared::room::Fault;

    let Ok(name) = std::env::var("FAIRGATE_PLANT") else { return Ok(Planted::default()) };
    if name.is_empty() {
        return Ok(Planted::default());
    }
    let Some(&fault) = Fault::ALL.iter().find(|fault| fault.name() == name) else {
        anyhow::bail!("FAIRGATE_PLANT={name}: use one of {}", Fault::ALL.map(Fault::name).join(", "));
    };
    tracing::warn!(name, "a fault is planted: this server breaks a promise on purpose");
    Ok(Planted::fault(fault))
}

/// No fault.
#[cfg(not(feature = "plant"))]
pub fn from_env() -> anyhow::Result<Planted> {
    Ok(Planted::default())
}
