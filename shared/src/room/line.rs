//! What is stored of a lane: its numbers, who was called and came, and what that taught.

use super::{cohorts::Cohorts, delays::ShowUp};
use crate::{ids::TicketNumber, time::Timestamp};
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// The part of a lane that is stored as one record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub(super) next_number: TicketNumber,
    /// Numbers below this one may have been given out, whatever a crash forgot.
    pub(super) reserved_until: TicketNumber,
    /// Numbers from the first to before the second: a crash forgot whether anybody owns them.
    pub(super) doubtful: (TicketNumber, TicketNumber),
    pub(super) serving_number: TicketNumber,
    pub(super) moved_at: Timestamp,
    pub(super) cohorts: Cohorts,
    pub(super) show_up: ShowUp,
    /// First arrivals at the door, ever, with those who came into an empty line.
    pub(super) come_total: u64,
    /// Up to here the seconds after calls are learnt.
    pub(super) learnt_until: Duration,
    /// Cohorts called before teach nothing: they fell into a time in which hardly anybody could come.
    pub(super) learns_from: Duration,
}

impl Line {
    /// Notes the seconds that are over for each cohort since the last time.
    pub(super) fn learn(&mut self, up: Duration) {
        let before = core::mem::replace(&mut self.learnt_until, up);
        for _ in before.as_secs()..up.as_secs() {
            self.show_up.fade();
        }
        let learns_from = self.learns_from;
        for cohort in self.cohorts.in_time().filter(|cohort| cohort.called_at.up >= learns_from) {
            let age_s = |at: Duration| at.saturating_sub(cohort.called_at.up).as_secs();
            for second in age_s(before)..age_s(up) {
                for heard in [false, true] {
                    self.show_up.learn(heard).note_over(second, cohort.part(heard).called);
                }
            }
        }
    }
}
