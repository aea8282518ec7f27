//! What an isolate has to tell the queue server, until it is told.

use super::{Limit, LimitTally};
use crate::flat::{self, LiteMap};
use crate::http::reason::Reason;
use crate::ids::{Epoch, EventId, LaneId, Place, TicketNumber};
use crate::limiter::Decision;
use crate::origin::{OriginSample, latency_bucket};
use crate::time::Timestamp;
use crate::wire::{OriginReport, OutcomeCount, Report, SessionWord, Word};
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

/// Outcomes travel at most this often.
pub const REPORT_EVERY: Duration = Duration::from_secs(1);

/// Most words that wait to be told; beyond it the oldest is dropped, and its session words by its own time-out.
pub const WORDS_MAX: usize = 1_024;

/// Most words in one report: with these it stays under the queue server's longest body.
pub const WORDS_PER_REPORT_MAX: usize = 256;

/// Most sessions of one report whose errors are counted.
pub const SESSIONS_WATCHED_MAX: usize = 2_048;

/// Most polls of waiting buyers that one report tells of; the server hears of the others when they ask again.
pub const POLLS_PER_REPORT_MAX: usize = 768;

/// Counts of outcomes, who asked how things stand, and what the shop said of sessions.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    /// By their order. What ends a session stays until the queue server has it: the request that carries a report may be cut
    /// off, and to end a session twice does no harm.
    words: VecDeque<(u64, SessionWord)>,
    last_word: u64,
    /// When the last report with words left.
    words_sent_at: Option<Timestamp>,
    outcomes: LiteMap<(EventId, Reason), u64>,
    /// Events whose shop's server is watched.
    origins: LiteMap<EventId, WatchedOrigin>,
    polls: BTreeMap<EventId, Vec<(Epoch, LaneId, TicketNumber, u64)>>,
    limits: LimitTally,
    flush_begins_at: Option<Timestamp>,
}

/// What one event's requests met at its shop's server since the last report.
#[derive(Clone, Debug, Default)]
struct WatchedOrigin {
    sample: OriginSample,
    /// Sessions of ended requests by their order, and whether one failed.
    sessions: Vec<(Place, bool)>,
}

/// How a request to a watched server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginEnd {
    /// With a reply below 500, after so many milliseconds.
    Replied {
        /// From the request to the head of the reply.
        after_ms: u32,
    },
    /// With a reply of 500 or above, or without any.
    Failed,
}

/// A report on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// What is sent.
    pub report: Report,
    /// Words up to this one are done once it has arrived.
    last_word: u64,
}

impl Reports {
    /// Counts an outcome of `event`; there are as many counts as events times outcomes. True: let a flush begin after
    /// [`REPORT_EVERY`], because none is on its way.
    pub fn count(&mut self, event: &EventId, outcome: Reason, now: Timestamp) -> bool {
        let count = flat::entry(&mut self.outcomes, &(event.clone(), outcome));
        *count = count.saturating_add(1);
        self.schedule(now)
    }

    /// Counts a gated request of `event` that is sent to a watched server. True as for [`count`](Self::count).
    pub fn origin_called(&mut self, event: &EventId, now: Timestamp) -> bool {
        let sample = &mut flat::entry(&mut self.origins, event).sample;
        sample.forwarded = sample.forwarded.saturating_add(1);
        self.schedule(now)
    }

    /// Counts how it ended, for the session it belongs to. Beyond [`SESSIONS_WATCHED_MAX`] sessions of one report the others
    /// say nothing.
    pub fn origin_ended(&mut self, event: &EventId, place: Place, end: OriginEnd, now: Timestamp) -> bool {
        let watched = flat::entry(&mut self.origins, event);
        match end {
            OriginEnd::Replied { after_ms } => watched.sample.latencies.add(latency_bucket(after_ms), 1),
            OriginEnd::Failed => watched.sample.failed = watched.sample.failed.saturating_add(1),
        }
        watched.note_session(place, end == OriginEnd::Failed);
        self.schedule(now)
    }

    /// Notes that a waiting buyer asked and was told to ask again after `again_ms`. True as for [`count`](Self::count).
    pub fn hear(&mut self, event: &EventId, place: Place, again_ms: u64, now: Timestamp) -> bool {
        let polls = self.polls.entry(event.clone()).or_default();
        if polls.len() < POLLS_PER_REPORT_MAX {
            polls.push((place.epoch, place.lane, place.number, again_ms.div_ceil(1_000)));
        }
        self.schedule(now)
    }

    /// Counts what the limits of one stage were told. True as for [`count`](Self::count).
    pub fn limited(&mut self, limits: &[Limit<'_>], decisions: &[Option<Decision>], now: Timestamp) -> bool {
        self.limits.note(limits, decisions);
        self.schedule(now)
    }

    /// Notes what the shop said of a session; let a flush begin at once.
    pub fn tell(&mut self, event: &EventId, place: Place, word: Word) {
        let Place { epoch, lane, number } = place;
        self.add(SessionWord { event: event.clone(), epoch, lane, number, word });
    }

    /// Takes what is to be told at `now` in one report; `None` when there is nothing. Its counts are told at most once. Its
    /// words are at most [`WORDS_PER_REPORT_MAX`]: extensions, which count, are told by this report alone, the others again
    /// until a report of them is [`confirmed`](Self::confirm).
    pub fn take(&mut self, now: Timestamp) -> Option<Batch> {
        self.flush_begins_at = None;
        let taken: Vec<_> = self.words.iter().take(WORDS_PER_REPORT_MAX).collect();
        let last_word = taken.last().map_or(0, |(order, _)| *order);
        let sessions: Vec<SessionWord> = taken.into_iter().map(|(_, word)| word.clone()).collect();
        self.words.retain(|(order, word)| *order > last_word || word.word != Word::Extend);
        let outcomes: Vec<OutcomeCount> = core::mem::take(&mut self.outcomes)
            .into_iter()
            .map(|((event, outcome), count)| OutcomeCount { event, code: outcome.code().to_owned(), count })
            .collect();
        let origins: Vec<OriginReport> = core::mem::take(&mut self.origins)
            .into_iter()
            .map(|(event, watched)| watched.sample().report(event))
            .collect();
        if !sessions.is_empty() {
            self.words_sent_at = Some(now);
        }
        let polls = core::mem::take(&mut self.polls);
        let report = Report { sessions, outcomes, origins, polls, limits: self.limits.take() };
        (report != Report::default()).then_some(Batch { report, last_word })
    }

    /// The queue server has the report. True: more words wait to be told.
    pub fn confirm(&mut self, batch: &Batch) -> bool {
        self.words.retain(|(order, _)| *order > batch.last_word);
        !self.words.is_empty()
    }

    /// The queue server did not take the report: its extensions wait again, too. Its counts are lost.
    pub fn put_back(&mut self, batch: Batch) {
        let extensions = batch.report.sessions.into_iter().filter(|word| word.word == Word::Extend);
        extensions.for_each(|word| self.add(word));
    }

    /// Whether words wait that no report has carried for [`REPORT_EVERY`]: let a flush begin at once. It is true once in that
    /// time, whoever asks.
    pub fn words_are_due(&mut self, now: Timestamp) -> bool {
        let is_on_its_way = self.words_sent_at.is_some_and(|sent| {
            // A clock that stepped back does not hold them up.
            sent <= now && now < sent.saturating_add(REPORT_EVERY)
        });
        let are_due = !self.words.is_empty() && !is_on_its_way;
        if are_due {
            self.words_sent_at = Some(now);
        }
        are_due
    }

    fn add(&mut self, word: SessionWord) {
        self.last_word = self.last_word.saturating_add(1);
        self.words.push_back((self.last_word, word));
        if self.words.len() > WORDS_MAX {
            self.words.pop_front();
        }
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
}

impl WatchedOrigin {
    fn note_session(&mut self, place: Place, failed: bool) {
        match self.sessions.binary_search_by_key(&place, |(known, _)| *known) {
            Ok(index) => {
                if let Some((_, has_failed)) = self.sessions.get_mut(index) {
                    *has_failed |= failed;
                }
            }
            Err(index) if self.sessions.len() < SESSIONS_WATCHED_MAX => {
                self.sessions.insert(index, (place, failed));
            }
            Err(_) => {}
        }
    }

    fn sample(&self) -> OriginSample {
        let count = |sessions: usize| u32::try_from(sessions).unwrap_or(u32::MAX);
        OriginSample {
            sessions: count(self.sessions.len()),
            failed_sessions: count(self.sessions.iter().filter(|(_, failed)| *failed).count()),
            ..self.sample.clone()
        }
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
        let report = reports.take(at(1_000)).unwrap().report;
        let counts: Vec<_> = report.outcomes.iter().map(|count| (count.code.as_str(), count.count)).collect();
        assert_eq!(counts, [("CART_ACCEPTED", 2), ("CART_REJECTED", 1)]);
        assert_eq!(reports.take(at(1_000)), None);
        assert!(reports.count(&event(), Reason::CartFailed, at(1_100)));
    }

    #[test]
    fn a_session_that_fails_twice_is_one_and_a_report_watches_so_many() {
        let mut reports = Reports::default();
        let place = |number| Place { epoch: Epoch(1), lane: LaneId(0), number: TicketNumber(number) };
        let now = Timestamp::from_millis(5_000);
        assert!(reports.origin_called(&event(), now));
        for end in [OriginEnd::Failed, OriginEnd::Replied { after_ms: 5 }, OriginEnd::Failed] {
            reports.origin_ended(&event(), place(1), end, now);
        }
        reports.origin_ended(&event(), place(2), OriginEnd::Replied { after_ms: 5 }, now);
        let report = reports.take(now).unwrap().report.origins.remove(0);
        let OriginReport { forwarded, failed, sessions, failed_sessions, .. } = report;
        assert_eq!((forwarded, failed, sessions, failed_sessions), (1, 2, 2, 1));
        assert_eq!(report.latencies, [(5, 2)]);

        let most = u64::try_from(SESSIONS_WATCHED_MAX).unwrap();
        for number in 0..=most {
            reports.origin_ended(&event(), place(number), OriginEnd::Failed, now);
        }
        let report = reports.take(now).unwrap().report.origins.remove(0);
        assert_eq!((u64::from(report.sessions), u64::from(report.failed)), (most, most + 1));
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
    fn ends_are_told_until_a_report_of_them_has_arrived() {
        let mut reports = Reports::default();
        let at = Timestamp::from_millis;
        end(&mut reports, 1);
        let lost = reports.take(at(10_000)).unwrap();
        end(&mut reports, 2);
        assert!(!reports.words_are_due(at(10_999)));
        assert!(reports.words_are_due(at(11_000)));
        assert!(!reports.words_are_due(at(11_000)), "one flush is enough");
        let arrived = reports.take(at(11_000)).unwrap();
        assert_eq!(arrived.report.sessions.len(), 2);
        assert!(!reports.confirm(&arrived));
        // The other one arrived after all, only slowly.
        assert!(!reports.confirm(&lost));
        assert!(!reports.words_are_due(at(99_000)) && reports.take(at(99_000)).is_none());
        end(&mut reports, 3);
        assert!(reports.words_are_due(at(5_000)), "the clock stepped back");
    }

    #[test]
    fn an_extension_is_not_told_by_two_reports_at_once() {
        let mut reports = Reports::default();
        let place = Place { epoch: Epoch(1), lane: LaneId(0), number: TicketNumber(7) };
        reports.tell(&event(), place, Word::Extend);
        let batch = reports.take(Timestamp::default()).unwrap();
        assert_eq!(reports.take(Timestamp::default()), None);
        reports.put_back(batch.clone());
        assert_eq!(reports.take(Timestamp::default()).unwrap().report, batch.report);
    }

    #[test]
    fn the_oldest_word_is_dropped_and_a_report_is_bounded() {
        let mut reports = Reports::default();
        let most = u64::try_from(WORDS_MAX).unwrap();
        (1..=most).for_each(|number| end(&mut reports, number));
        let before = reports.take(Timestamp::default()).unwrap();
        end(&mut reports, most + 1);
        let mut told = Vec::new();
        loop {
            let batch = reports.take(Timestamp::default()).unwrap();
            assert!(batch.report.sessions.len() <= WORDS_PER_REPORT_MAX);
            told.extend(batch.report.sessions.iter().map(|session| session.number.0));
            if !reports.confirm(&batch) {
                break;
            }
        }
        assert_eq!((told.len(), told[0], told[WORDS_MAX - 1]), (WORDS_MAX, 2, most + 1));
        assert!(!reports.confirm(&before));
    }
}
