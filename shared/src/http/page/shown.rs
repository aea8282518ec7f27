//! What a status says in the page's words, for visitors without script. `assets/rules.js` says the same to the others;
//! both are held to `tests/vectors/page.json`.

use super::words::{Mode, Words, grouped};
use crate::{
    http::{language::Language, reason::Reason},
    time::Timestamp,
    wire::{EtaRange, Phase, Status, TicketState},
};
use core::time::Duration;

/// The parts of the page that follow the status.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// The position: what stands before the number, the number, what stands after it.
    pub(super) before: String,
    pub(super) figure: String,
    pub(super) after: String,
    /// People drawn ahead of the visitor, one more than can be drawn where there are more.
    pub(super) ahead: usize,
    pub(super) eta: String,
    pub(super) moved: String,
    pub(super) number: String,
    pub(super) notice: String,
    pub(super) message: String,
}

/// Puts `status` in words.
pub(super) fn shown(status: &Status, words: &Words, language: Language, now: Timestamp) -> Shown {
    let (before, figure, after) = match status.position {
        None => (String::new(), String::new(), String::new()),
        Some(0) => (words.next.to_owned(), String::new(), String::new()),
        Some(position) => {
            let (before, after) = words.ahead.around(position);
            (before.to_owned(), grouped(position), after.to_owned())
        }
    };
    let ahead = usize::try_from(status.position.unwrap_or(0)).unwrap_or(usize::MAX);
    let reason = standstill(status);
    // A slow shop slows the line; everything else holds it.
    let is_held = reason.is_some_and(|code| code != Reason::OriginSlow.code());
    let eta = status.eta.map(|range| if is_held { words.eta_paused.to_owned() } else { eta(range, words) });
    Shown {
        before,
        figure,
        after,
        ahead: ahead.min(PEOPLE_DRAWN.saturating_add(1)),
        eta: eta.unwrap_or_default(),
        moved: moved(status.moved_at_ms, now, words),
        number: grouped(status.ticket_number.0),
        notice: reason.map_or(String::new(), |code| reason_text(code, words, language)),
        message: status.message.clone().unwrap_or_default(),
    }
}

/// People ahead that the page draws one by one.
pub(super) const PEOPLE_DRAWN: usize = 12;

pub(super) fn mode_of(state: TicketState) -> Mode {
    match state {
        TicketState::Waiting => Mode::Waiting,
        TicketState::Called => Mode::Called,
        TicketState::Late => Mode::Late,
    }
}

/// Why the line stands still, or goes slower than it could: a reason code, or `None` while all is well.
fn standstill(status: &Status) -> Option<&str> {
    let by_phase = match status.phase {
        phase @ (Phase::Closed | Phase::SoldOut | Phase::Scheduled) => phase.reason(),
        _ if status.stale => Some(Reason::QueueUnreachable),
        _ => None,
    };
    let paused = || (status.phase == Phase::Paused).then(|| Reason::OperatorPaused.code());
    by_phase.map(Reason::code).or(status.reason.as_deref()).or_else(paused)
}

/// A code that this version does not know still means that the line stands.
fn reason_text(code: &str, words: &Words, language: Language) -> String {
    let known = Reason::from_code(code).filter(|reason| super::tells_why(*reason));
    known.map_or_else(|| words.paused.to_owned(), |reason| reason.message(language).to_owned())
}

/// Minutes up to two hours, by fives from ten minutes on, then hours; the range only ever widens by the rounding.
fn eta(range: EtaRange, words: &Words) -> String {
    if range.high_s >= DAY_S {
        return words.eta_unknown.to_owned();
    }
    let (step_s, per_step, exact, from_to, up_to) = match range.high_s {
        ..=60 => return words.eta_under_minute.to_owned(),
        61..=600 => (60, 1, &words.eta_minutes, &words.eta_minutes_range, &words.eta_minutes_up_to),
        601..=7_200 => (300, 5, &words.eta_minutes, &words.eta_minutes_range, &words.eta_minutes_up_to),
        _ => (3_600, 1, &words.eta_hours, &words.eta_hours_range, &words.eta_hours_up_to),
    };
    let low = range.low_s.checked_div(step_s).unwrap_or(0).saturating_mul(per_step);
    let high = range.high_s.div_ceil(step_s).saturating_mul(per_step);
    let form = if low == 0 {
        up_to
    } else if low == high {
        exact
    } else {
        from_to
    };
    form.replace("{low}", &low.to_string()).replace("{high}", &high.to_string())
}

fn moved(moved_at_ms: u64, now: Timestamp, words: &Words) -> String {
    if moved_at_ms == 0 {
        return String::new();
    }
    let age: Duration = now.since(Timestamp::from_millis(moved_at_ms));
    match age.as_secs() {
        0..10 => words.moved_now.to_owned(),
        10..60 => words.moved_under_minute.to_owned(),
        seconds @ 60..3_600 => words.moved_minutes.with(seconds / 60),
        seconds => words.moved_hours.with(seconds / 3_600),
    }
}

const DAY_S: u64 = 86_400;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::page::languages::words;
    use serde::Deserialize;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Case {
        name: String,
        lang: String,
        now_ms: u64,
        status: Status,
        shown: Expected,
    }

    #[derive(Deserialize)]
    struct Expected {
        mode: String,
        before: String,
        figure: String,
        after: String,
        ahead: usize,
        eta: String,
        moved: String,
        number: String,
        notice: String,
        message: String,
    }

    #[test]
    fn statuses_are_told_as_the_script_tells_them() {
        let cases: Vec<Case> =
            serde_json::from_str(include_str!("../../../tests/vectors/page.json")).unwrap();
        assert!(cases.len() > 10);
        for Case { name, lang, now_ms, status, shown: e } in cases {
            let language = Language::from_accept_language(Some(&lang));
            let told = shown(&status, words(language), language, Timestamp::from_millis(now_ms));
            let expected = Shown {
                before: e.before,
                figure: e.figure,
                after: e.after,
                ahead: e.ahead,
                eta: e.eta,
                moved: e.moved,
                number: e.number,
                notice: e.notice,
                message: e.message,
            };
            assert_eq!(told, expected, "{name}");
            assert_eq!(mode_of(status.state).name(), e.mode, "{name}");
        }
    }
}
