//! The page's words: one file for each language, which the compiler holds complete.

use serde::Serialize;

/// As the script of the page reads them, too.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Words {
    pub(super) line: &'static str,
    pub(super) stop: &'static str,
    pub(super) modes: Modes,
    pub(super) ahead: Plural,
    pub(super) next: &'static str,
    pub(super) wait_label: &'static str,
    pub(super) moved_label: &'static str,
    pub(super) number_label: &'static str,
    pub(super) eta_under_minute: &'static str,
    pub(super) eta_minutes: &'static str,
    pub(super) eta_minutes_range: &'static str,
    pub(super) eta_minutes_up_to: &'static str,
    pub(super) eta_hours: &'static str,
    pub(super) eta_hours_range: &'static str,
    pub(super) eta_hours_up_to: &'static str,
    pub(super) eta_unknown: &'static str,
    pub(super) eta_paused: &'static str,
    pub(super) moved_now: &'static str,
    pub(super) moved_under_minute: &'static str,
    pub(super) moved_minutes: Plural,
    pub(super) moved_hours: Plural,
    pub(super) paused: &'static str,
    pub(super) offline: &'static str,
    pub(super) keep: Plural,
    pub(super) live: &'static str,
    pub(super) manual: &'static str,
    pub(super) join: &'static str,
    pub(super) enter: &'static str,
    pub(super) check: &'static str,
    pub(super) leave: &'static str,
    pub(super) leave_heading: &'static str,
    pub(super) leave_text: &'static str,
    pub(super) leave_yes: &'static str,
    pub(super) leave_no: &'static str,
    pub(super) codes: &'static str,
    pub(super) code_label: &'static str,
    pub(super) code_use: &'static str,
    pub(super) move_label: &'static str,
    pub(super) move_use: &'static str,
    pub(super) code_taken: &'static str,
    pub(super) offer: &'static str,
    pub(super) offered: &'static str,
    pub(super) back: &'static str,
    pub(super) retry: &'static str,
    pub(super) open_alone: &'static str,
    pub(super) again: Plural,
    pub(super) request: &'static str,
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
#[derive(Debug, Serialize)]
pub(super) struct Modes {
    pub(super) outside: ModeWords,
    pub(super) joining: ModeWords,
    pub(super) waiting: ModeWords,
    pub(super) called: ModeWords,
    pub(super) late: ModeWords,
    pub(super) entered: ModeWords,
    pub(super) left: ModeWords,
    pub(super) ended: ModeWords,
    pub(super) cookies: ModeWords,
    pub(super) framed: ModeWords,
}

#[derive(Debug, Serialize)]
pub(super) struct ModeWords {
    pub(super) heading: &'static str,
    pub(super) text: &'static str,
}

/// A text with `{n}` in it. Languages of today need no form but these; one with more brings its rule along.
#[derive(Debug, Serialize)]
pub(super) struct Plural {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) one: Option<&'static str>,
    pub(super) other: &'static str,
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
        let text = if n == 1 { self.one } else { None }.unwrap_or(self.other);
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
