//! The queue server's one clock.

use crate::plant::{self, ServerFault};
use shared::time::Timestamp;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Wall time at the start plus monotonic time since: a wall clock that is set while the server runs ends no turn and no session.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    Process { started_at: Timestamp, start: Instant },
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// The clock of a running server. A wall clock before 1970 reads as 1970.
    pub fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ahead_s = plant::clock_ahead_s();
        let ahead = Duration::from_secs(ahead_s.unsigned_abs());
        let wall = if ahead_s < 0 { wall.saturating_sub(ahead) } else { wall.saturating_add(ahead) };
        Self(Source::Process { started_at: Timestamp::default().saturating_add(wall), start: Instant::now() })
    }

    /// A clock that moves by hand, with the handle that moves it: microseconds since 1970.
    pub fn manual(now: Timestamp) -> (Self, Arc<AtomicU64>) {
        let micros = Arc::new(AtomicU64::new(now.as_micros()));
        (Self(Source::Manual(Arc::clone(&micros))), micros)
    }

    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::Process { started_at, start } => {
                let up = start.elapsed();
                let jumps = up > JUMP_AFTER && plant::has(ServerFault::ClockForward);
                started_at.saturating_add(if jumps { up.saturating_add(JUMP) } else { up })
            }
            Source::Manual(micros) => Timestamp::from_micros(micros.load(Ordering::SeqCst)),
        }
    }
}

/// Of [`ServerFault::ClockForward`].
const JUMP_AFTER: Duration = Duration::from_secs(3);
const JUMP: Duration = Duration::from_secs(7_200);
