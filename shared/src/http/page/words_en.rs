//! The page in English.

use super::words::{ModeWords, Modes, Plural, Words};

pub(super) static WORDS: Words = Words {
    line: "Waiting line",
    stop: ". ",
    modes: Modes {
        outside: ModeWords {
            heading: "Join the line",
            text: "Many people want this at once, so everybody enters in the order of arrival.",
        },
        joining: ModeWords { heading: "Joining the line", text: "One moment, please." },
        waiting: ModeWords { heading: "You are in line", text: "" },
        called: ModeWords {
            heading: "It is your turn",
            text: "The page takes you in by itself. If it does not, press the button.",
        },
        late: ModeWords {
            heading: "You may still enter",
            text: "Your turn came while you were away. You get in as soon as there is room.",
        },
        entered: ModeWords {
            heading: "You are in",
            text: "Go back to the product and add it to your cart again: this time it goes through.",
        },
        left: ModeWords {
            heading: "You left the line",
            text: "Your place has gone to the people behind you.",
        },
        ended: ModeWords { heading: "Your place has ended", text: "" },
        cookies: ModeWords {
            heading: "Cookies are blocked",
            text: "A cookie of this site keeps your place, and your browser blocks it: without it your turn cannot come. Allow cookies for this site, then try again.",
        },
        framed: ModeWords {
            heading: "Open the line in its own window",
            text: "This page is shown inside another site. There, browsers block the cookie that keeps your place.",
        },
    },
    ahead: Plural { one: Some("{n} person ahead of you"), other: "{n} people ahead of you" },
    next: "You are next",
    wait_label: "Expected wait",
    moved_label: "The line last moved",
    number_label: "Your number",
    eta_under_minute: "Less than a minute",
    eta_minutes: "About {high} minutes",
    eta_minutes_range: "About {low} to {high} minutes",
    eta_minutes_up_to: "Up to {high} minutes",
    eta_hours: "About {high} hours",
    eta_hours_range: "About {low} to {high} hours",
    eta_hours_up_to: "Up to {high} hours",
    eta_unknown: "Not known yet",
    eta_paused: "Paused",
    moved_now: "Just now",
    moved_under_minute: "Less than a minute ago",
    moved_minutes: Plural { one: Some("{n} minute ago"), other: "{n} minutes ago" },
    moved_hours: Plural { one: Some("{n} hour ago"), other: "{n} hours ago" },
    paused: "The line is paused. You keep your place.",
    offline: "The connection is lost. We keep trying, and you keep your place.",
    keep: Plural {
        one: Some(
            "You may close this page and come back with the same browser within 24 hours: your place is kept. Once your turn comes, it is held for {n} minute.",
        ),
        other: "You may close this page and come back with the same browser within 24 hours: your place is kept. Once your turn comes, it is held for {n} minutes.",
    },
    live: "This page updates by itself. Reloading gains nothing and costs nothing.",
    manual: "This page does not update by itself here. Check your place now and then.",
    join: "Join the line",
    enter: "Enter the shop",
    check: "Check my place",
    leave: "Leave the line",
    leave_heading: "Leave the line?",
    leave_text: "Your place goes to the people behind you. You can join again, at the end.",
    leave_yes: "Leave the line",
    leave_no: "Keep my place",
    back: "Back to the shop",
    retry: "Try again",
    open_alone: "Open in its own window",
    again: Plural { one: Some("Try again in {n} second."), other: "Try again in {n} seconds." },
    request: "Request",
};
