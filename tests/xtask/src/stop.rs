//! How a person or a system tells us to stop.

use anyhow::Result;
use tokio::signal::unix::{SignalKind, signal};

/// Returns on Ctrl-C, a polite kill or a lost terminal.
pub(crate) async fn told() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    tokio::select! {
        stopped = tokio::signal::ctrl_c() => stopped?,
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
    }
    Ok(())
}
