//! What an isolate has to tell the queue server, until it is told.

use crate::http::reason::Reason;
use crate::ids::{EventId, Place};
use crate::time::Timestamp;
use crate::wire::{OutcomeCount, Report, SessionWord, Word};
use core::time::Duration;
use std::collections::BTreeMap;

/// Outcomes travel at most this often.
pub const REPORT_EVERY: Duration = Duration::from_secs(1);

/// Most words that wait to be told; beyond it the oldest is dropped, and its session words by its own time-out.
pub const WORDS_MAX: usize = 1_024;

/// Counts of outcomes, and what the shop said of sessions.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    words: Vec<SessionWord>,
    outcomes: BTreeMap<(EventId, Reason), u64>,
    flush_begins_at: Option<Timestamp>,
}

impl Reports {
    /// Counts an outcome of `event`; there are as many counts as events times outcomes. True: let a flush begin after
    /// [`REPORT_EVERY`], because none is on its way.
    pub fn count(&mut self, event: &EventId, outcome: Reason, now: Timestamp) -> bool {
        let count = self.outcomes.entry((event.clone(), outcome)).or_default();
        *count = count.saturating_add(1);
        self.schedule(now)
    }

    /// Notes what the shop said of a session; let a flush begin at once.
    pub fn tell(&mut self, event: &EventId, place: Place, word: Word) {
        let Place { epoch, lane, number } = place;
        self.words.push(SessionWord { event: event.clone(), epoch, lane, number, word });
        self.drop_oldest();
    }

    /// Takes everything for one report; `None` when there is nothing to tell.
    pub fn take(&mut self) -> Option<Report> {
        self.flush_begins_at = None;
        let sessions = core::mem::take(&mut self.words);
        let outcomes: Vec<OutcomeCount> = core::mem::take(&mut self.outcomes)
            .into_iter()
            .map(|((event, outcome), count)| OutcomeCount { event, code: outcome.code().to_owned(), count })
            .collect();
        (!sessions.is_empty() || !outcomes.is_empty()).then_some(Report { sessions, outcomes })
    }

    /// Puts back the words of a report that was not taken; they travel with the next. Its counts are lost.
    pub fn put_back(&mut self, report: Report) {
        let newer = core::mem::replace(&mut self.words, report.sessions);
        self.words.extend(newer);
        self.drop_oldest();
    }

    /// A flush that was to begin long ago was cut off with the request that carried it: another may begin.
    fn schedule(&mut self, now: Timestamp) -> bool {
        let is_on_its_way = self.flush_begins_at.is_some_and(|begins| {
            begins <= now.saturating_add(REPORT_EVERY) && now < begins.saturating_add(REPORT_EVERY)
        });
        if !is_on_its_way {
            self.flush_begins_at = Some(now.saturating_add(REPORT_EVERY));
        }
        !is_on_its_way
    }

    fn drop_oldest(&mut self) {
        let surplus = self.words.len().saturating_sub(WORDS_MAX);
        self.words.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Epoch, LaneId, TicketNumber};

    fn event() -> EventId {
        EventId::parse("drop").unwrap()
    }

    fn end(reports: &mut Reports, number: u64) {
        let place = Place { epoch: Epoch(1), lane: LaneId(0), number: TicketNumber(number) };
        reports.tell(&event(), place, Word::Finish);
    }

    #[test]
    fn counts_of_a_second_travel_together() {
        let mut reports = Reports::default();
        let at = Timestamp::from_millis;
        assert!(reports.count(&event(), Reason::CartAccepted, at(0)));
        assert!(!reports.count(&event(), Reason::CartAccepted, at(900)));
        assert!(!reports.count(&event(), Reason::CartRejected, at(1_000)));
        let report = reports.take().unwrap();
        let counts: Vec<_> = report.outcomes.iter().map(|count| (count.code.as_str(), count.count)).collect();
        assert_eq!(counts, [("CART_ACCEPTED", 2), ("CART_REJECTED", 1)]);
        assert_eq!(reports.take(), None);
        assert!(reports.count(&event(), Reason::CartFailed, at(1_100)));
    }

    #[test]
    fn a_flush_that_was_cut_off_is_taken_over() {
        let mut reports = Reports::default();
        assert!(reports.count(&event(), Reason::CartAccepted, Timestamp::from_millis(10_000)));
        assert!(!reports.count(&event(), Reason::CartAccepted, Timestamp::from_millis(11_999)));
        assert!(reports.count(&event(), Reason::CartAccepted, Timestamp::from_millis(12_000)));
        // A clock that stepped back does not hold reports up either.
        assert!(reports.count(&event(), Reason::CartAccepted, Timestamp::from_millis(5_000)));
    }

    #[test]
    fn words_that_were_not_taken_travel_again_oldest_dropped_first() {
        let mut reports = Reports::default();
        let most = u64::try_from(WORDS_MAX).unwrap();
        (1..=most).for_each(|number| end(&mut reports, number));
        let report = reports.take().unwrap();
        end(&mut reports, most + 1);
        reports.put_back(report);
        let told = reports.take().unwrap().sessions;
        assert_eq!(told.len(), WORDS_MAX);
        assert_eq!((told[0].number.0, told[WORDS_MAX - 1].number.0), (2, most + 1));
    }
}
