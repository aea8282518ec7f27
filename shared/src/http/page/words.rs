//! The page's words, one table for all languages: `assets/words.json`. The script of the page reads the same.

use crate::http::language::Language;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// The words of one language.
pub(super) fn words(language: Language) -> &'static Words {
    match language {
        Language::En => &TABLE.en,
        Language::ZhTw => &TABLE.zh_tw,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    en: Words,
    #[serde(rename = "zh-TW")]
    zh_tw: Words,
}

#[expect(clippy::expect_used, reason = "the table is part of the program, and a test reads it")]
static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../assets/words.json")).expect("words"));

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Words {
    pub(super) line: String,
    stop: String,
    modes: Modes,
    pub(super) ahead: Plural,
    pub(super) next: String,
    pub(super) wait_label: String,
    pub(super) moved_label: String,
    pub(super) number_label: String,
    pub(super) eta_under_minute: String,
    pub(super) eta_minutes: String,
    pub(super) eta_minutes_range: String,
    pub(super) eta_minutes_up_to: String,
    pub(super) eta_hours: String,
    pub(super) eta_hours_range: String,
    pub(super) eta_hours_up_to: String,
    pub(super) eta_unknown: String,
    pub(super) eta_paused: String,
    pub(super) moved_now: String,
    pub(super) moved_under_minute: String,
    pub(super) moved_minutes: Plural,
    pub(super) moved_hours: Plural,
    pub(super) paused: String,
    offline: String,
    pub(super) keep: Plural,
    pub(super) live: String,
    pub(super) manual: String,
    pub(super) join: String,
    pub(super) enter: String,
    pub(super) check: String,
    pub(super) leave: String,
    pub(super) leave_heading: String,
    pub(super) leave_text: String,
    pub(super) leave_yes: String,
    pub(super) leave_no: String,
    pub(super) back: String,
    pub(super) retry: String,
    pub(super) open_alone: String,
    pub(super) again: Plural,
    pub(super) request: String,
}

/// What the page shows one of at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Outside,
    Waiting,
    Called,
    Late,
    Ended,
    Cookies,
}

/// Words of every mode; those that only a script reaches are not read here.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Modes {
    outside: ModeWords,
    joining: ModeWords,
    waiting: ModeWords,
    called: ModeWords,
    late: ModeWords,
    entered: ModeWords,
    left: ModeWords,
    ended: ModeWords,
    cookies: ModeWords,
    framed: ModeWords,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModeWords {
    pub(super) heading: String,
    pub(super) text: String,
}

/// A text with `{n}` in it. Languages of today need no form but these; one with more brings its rule along.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plural {
    one: Option<String>,
    other: String,
}

impl Mode {
    /// As the style sheet and the script name it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Outside => "outside",
            Self::Waiting => "waiting",
            Self::Called => "called",
            Self::Late => "late",
            Self::Ended => "ended",
            Self::Cookies => "cookies",
        }
    }
}

impl Words {
    pub(super) fn mode(&self, mode: Mode) -> &ModeWords {
        match mode {
            Mode::Outside => &self.modes.outside,
            Mode::Waiting => &self.modes.waiting,
            Mode::Called => &self.modes.called,
            Mode::Late => &self.modes.late,
            Mode::Ended => &self.modes.ended,
            Mode::Cookies => &self.modes.cookies,
        }
    }
}

impl Plural {
    /// What stands before and after the number.
    pub(super) fn around(&self, n: u64) -> (&str, &str) {
        let text = if n == 1 { self.one.as_ref() } else { None }.unwrap_or(&self.other);
        text.split_once("{n}").unwrap_or((text, ""))
    }

    pub(super) fn with(&self, n: u64) -> String {
        let (before, after) = self.around(n);
        format!("{before}{}{after}", grouped(n))
    }
}

/// Digits in groups of three, as both languages of today write them.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && digits.len().saturating_sub(index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_every_word() {
        for language in [Language::En, Language::ZhTw] {
            let words = words(language);
            assert!(words.ahead.with(2).contains('2'), "{language:?}");
            assert!(words.keep.with(5).contains('5'), "{language:?}");
            assert!(words.again.with(5).contains('5'), "{language:?}");
            assert!(words.eta_minutes_range.contains("{low}") && words.eta_minutes_range.contains("{high}"));
            assert!(words.eta_hours_range.contains("{low}") && words.eta_hours_range.contains("{high}"));
        }
    }

    #[test]
    fn numbers_are_grouped_and_counted() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let ahead = &words(Language::En).ahead;
        assert_eq!(ahead.with(1), "1 person ahead of you");
        assert_eq!(ahead.with(1_001), "1,001 people ahead of you");
    }
}
