//! The table of reasons: each code once, well formed, and documented in `docs/reasons.md` in its order.

use shared::http::language::Language;
use shared::http::reason::{Reason, ReasonUse};
use std::collections::BTreeSet;

const DOCUMENT: &str = include_str!("../docs/reasons.md");

#[test]
fn codes_are_unique_stable_text_that_reads_back() {
    let codes: BTreeSet<&str> = Reason::ALL.iter().map(|reason| reason.code()).collect();
    assert_eq!(codes.len(), Reason::ALL.len());
    for reason in Reason::ALL {
        let code = reason.code();
        assert!(
            code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'),
            "{code}"
        );
        assert_eq!(Reason::from_code(code), Some(*reason));
        assert_eq!(serde_json::to_string(reason).unwrap(), format!("\"{code}\""));
        assert_eq!(serde_json::from_str::<Reason>(&format!("\"{code}\"")).unwrap(), *reason);
    }
    for text in ["", "door_full", "DOOR_FULL ", "NONE"] {
        assert_eq!(Reason::from_code(text), None);
        assert!(serde_json::from_str::<Reason>(&format!("\"{text}\"")).is_err());
    }
}

#[test]
fn the_order_of_the_table_is_the_order_of_the_reasons() {
    assert!(Reason::ALL.is_sorted());
    let uses: Vec<ReasonUse> = Reason::ALL.iter().map(|reason| reason.used_as()).collect();
    assert!(uses.is_sorted(), "refusals, then standstills, then outcomes");
}

#[test]
fn every_refusal_has_an_error_status_with_its_phrase_and_words_in_both_languages() {
    for reason in Reason::ALL {
        let status = reason.status();
        assert!(status >= 400 || *reason == Reason::CartAccepted, "{reason}");
        let is_fallback = reason.title() == "Internal Server Error";
        assert_eq!(is_fallback, *reason == Reason::Internal, "{reason} has a status without a phrase");
        // A promise to succeed later needs a status under which clients read `Retry-After` or try again.
        // A lock is a refusal of the person: it tells when it ends, and no client shall retry it by itself.
        let is_lock = *reason == Reason::Locked;
        assert!(
            !reason.is_retryable() || is_lock || [408, 409, 429, 502, 503, 504].contains(&status),
            "{reason}"
        );
        for text in [reason.meaning(), reason.message(Language::En)] {
            assert!(text.ends_with('.') && text.is_ascii(), "{reason}: {text}");
        }
        assert!(reason.message(Language::ZhTw).ends_with('。'), "{reason}");
    }
}

#[test]
fn statuses_of_the_protocol_are_kept() {
    let check = |reason: Reason, status, is_retryable| {
        assert_eq!((reason.status(), reason.is_retryable()), (status, is_retryable), "{reason}");
    };
    check(Reason::NoTicket, 401, false);
    check(Reason::TicketInvalid, 400, false);
    check(Reason::TicketVoid, 410, false);
    check(Reason::TicketSpent, 410, false);
    check(Reason::TurnExpired, 410, false);
    check(Reason::SessionEnded, 410, false);
    check(Reason::NotYourTurn, 409, true);
    check(Reason::DoorFull, 409, true);
    check(Reason::QueueRequired, 429, true);
    check(Reason::RateLimited, 429, true);
    check(Reason::CostTooHigh, 400, false);
    check(Reason::Unconfirmed, 503, true);
}

#[test]
fn the_document_is_the_table() {
    assert_eq!(DOCUMENT, document(), "replace shared/docs/reasons.md by what is expected here");
}

fn document() -> String {
    let tables = [
        (ReasonUse::Refusal, "## Refusals\n\n| code | status | retry | meaning |\n|---|---|---|---|\n"),
        (ReasonUse::Standstill, "\n## Why a line stands still\n\n| code | meaning |\n|---|---|\n"),
        (ReasonUse::Outcome, "\n## How a gated request ended at the shop\n\n| code | meaning |\n|---|---|\n"),
    ];
    let table = |(used_as, title): (ReasonUse, &str)| {
        let reasons = Reason::ALL.iter().filter(|reason| reason.used_as() == used_as);
        let rows: Vec<String> = reasons.copied().map(row).collect();
        format!("{title}{}", rows.concat())
    };
    format!("{HEAD}{}", tables.map(table).concat())
}

fn row(reason: Reason) -> String {
    let (code, meaning) = (reason.code(), reason.meaning());
    if reason.used_as() == ReasonUse::Refusal {
        let retry = if reason.is_retryable() { "later" } else { "" };
        format!("| `{code}` | {} | {retry} | {meaning} |\n", reason.status())
    } else {
        format!("| `{code}` | {meaning} |\n")
    }
}

const HEAD: &str = "# Reason codes\n\nEvery refusal, lost place and standing line carries one of these codes. They never change \
                    their meaning.\n`later`: `Retry-After` goes with it, and the same request may succeed then. The table is \
                    `src/http/reason/table.rs`;\na test keeps this page equal to it.\n\n";
