//! How late this server's work is, and how many joins it takes on meanwhile.
//!
//! A task that is due every few milliseconds sees how long whatever became ready has to wait for a processor. Where that grows, joins are
//! refused until it shrinks, because everybody waits in the same row: a refusal costs a fraction of a join, and who is inside is not kept
//! waiting by people who are not even in line yet.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::runtime::Handle;

/// The joins that may begin before the next look.
#[derive(Debug)]
pub(super) struct Pressure {
    left: AtomicU32,
}

/// What the next span between two looks allows, from what the last one was like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Control {
    joins_max: u32,
    /// How late the looks are, the last eight above all.
    late: Duration,
}

impl Pressure {
    /// Looks from now on, as long as somebody asks. Outside of a runtime nothing is late.
    pub(super) fn watched() -> Arc<Self> {
        let pressure = Arc::new(Self { left: AtomicU32::new(JOINS_MAX) });
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(look(Arc::downgrade(&pressure)));
        }
        pressure
    }

    /// Whether one more join may begin now.
    pub(super) fn takes_join(&self) -> bool {
        let take = |left: u32| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

async fn look(pressure: Weak<Pressure>) {
    let mut control = Control { joins_max: JOINS_MAX, late: Duration::ZERO };
    loop {
        let due = Instant::now() + LOOK_EVERY;
        tokio::time::sleep_until(due.into()).await;
        let Some(pressure) = pressure.upgrade() else { return };
        let taken = control.joins_max.saturating_sub(pressure.left.load(Ordering::Relaxed));
        control = control.after(taken, due.elapsed());
        pressure.left.store(control.joins_max, Ordering::Relaxed);
    }
}

impl Control {
    /// After a span in which `taken` joins began, and whose end came so late. The bound falls by a quarter of what was really taken, and
    /// grows by an eighth.
    fn after(self, taken: u32, late: Duration) -> Self {
        let late = (self.late * 7 + late.min(LATE_COUNTED_MAX)) / 8;
        let joins_max = if late > LATE_MAX {
            (taken / 4 * 3).max(JOINS_MIN)
        } else {
            self.joins_max.saturating_add(self.joins_max / 8 + 1).min(JOINS_MAX)
        };
        Self { joins_max, late }
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(5);
/// A redemption waits in the row two or three times.
const LATE_MAX: Duration = Duration::from_millis(4);
/// A process that was stopped was not busy.
const LATE_COUNTED_MAX: Duration = Duration::from_millis(50);
/// Between two looks: 1,000 joins a second are taken on whatever happens.
const JOINS_MIN: u32 = 5;
/// Between two looks; no bound at all.
const JOINS_MAX: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const CALM: Control = Control { joins_max: JOINS_MAX, late: Duration::ZERO };

    fn after(control: Control, looks: u32, late_ms: u64, offered: u32) -> Control {
        (0..looks).fold(control, |control, _| {
            control.after(control.joins_max.min(offered), Duration::from_millis(late_ms))
        })
    }

    #[test]
    fn one_late_look_is_no_overload_and_a_row_of_them_is() {
        assert_eq!(CALM.after(100, Duration::from_millis(30)).joins_max, JOINS_MAX);
        let once = after(CALM, 8, 8, 400);
        assert_eq!(
            once.joins_max, 168,
            "three quarters of what was taken, at the sixth, seventh and eighth look"
        );
        assert_eq!(after(CALM, 1_000, 8, 400).joins_max, JOINS_MIN, "never nobody");
    }

    #[test]
    fn what_was_refused_comes_back_within_a_second() {
        let pressed = after(CALM, 1_000, 8, 400);
        let eased = after(pressed, 12, 0, 400);
        assert!((JOINS_MIN..20).contains(&eased.joins_max), "{eased:?}");
        assert!(after(pressed, 60, 0, 400).joins_max > 400, "unbounded for those who come");
    }

    #[test]
    fn a_stop_of_the_process_refuses_nobody_for_long() {
        let stopped = CALM.after(10, Duration::from_secs(3_600));
        assert!(stopped.late < Duration::from_millis(7), "{stopped:?}");
        assert!(after(stopped, 20, 0, 10).joins_max > 10);
    }

    #[test]
    fn the_last_join_of_a_span_is_taken_and_one_more_is_not() {
        let pressure = Pressure { left: AtomicU32::new(2) };
        assert!(pressure.takes_join() && pressure.takes_join());
        assert!(!pressure.takes_join());
    }
}
