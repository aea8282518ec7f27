//! The waiting page as it is sent.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use data_encoding::BASE64;
use sha2::{Digest, Sha256};
use shared::{
    http::{
        language::Language,
        page::{RefusedPage, Standing, WaitingPage, joined_path, reason_of_link, wait_path},
        problem::Problem,
        reason::Reason,
    },
    ids::{EventId, TicketNumber},
    time::Timestamp,
    wire::{EtaRange, Phase, Status, TicketState},
};
use std::time::Duration;

fn event() -> EventId {
    EventId::parse("drop").unwrap()
}

fn status() -> Status {
    Status {
        event: event(),
        state: TicketState::Waiting,
        lane: "guest".to_owned(),
        ticket_number: TicketNumber(352),
        position: Some(11),
        eta: Some(EtaRange { low_s: 100, high_s: 280 }),
        moved_at_ms: 1_000,
        next_poll_ms: 5_000,
        phase: Phase::Open,
        reason: None,
        message: None,
        stale: false,
    }
}

fn page<'a>(event: &'a EventId, standing: Standing<'a>, refusal: Option<Reason>) -> WaitingPage<'a> {
    WaitingPage {
        event,
        title: "Spring <drop>",
        prefix: "/.fairgate",
        return_path: "/p/A-1",
        language: Language::En,
        standing,
        refusal,
        turn_grace: Duration::from_secs(300),
        now: Timestamp::from_millis(2_000),
        request_id: "r-1",
    }
}

/// The text between two marks, every time they occur.
fn between<'t>(text: &'t str, start: &str, end: &str) -> Vec<&'t str> {
    text.split(start).skip(1).filter_map(|rest| rest.split_once(end)).map(|(inner, _)| inner).collect()
}

fn mode(html: &str) -> &str {
    between(html, "data-mode=\"", "\"")[0]
}

#[test]
fn each_standing_has_its_page() {
    let event = event();
    let called = Status { state: TicketState::Called, position: None, eta: None, ..status() };
    let late = Status { state: TicketState::Late, ..called.clone() };
    let waiting = status();
    let holding = |status| Standing::Holding(Some(status));
    let check = |standing, refusal, expected: &str, said: &str| {
        let html = page(&event, standing, refusal).render();
        assert_eq!(mode(&html), expected);
        assert!(html.contains(said), "{expected}: {said}");
    };
    check(Standing::Outside, None, "outside", "<h1 id=\"heading\" tabindex=\"-1\">Join the line</h1>");
    check(Standing::Outside, None, "outside", "everybody enters in the order of arrival");
    check(Standing::Outside, Some(Reason::QueueRequired), "outside", "<p id=\"notice\"></p>");
    check(Standing::Outside, Some(Reason::RateLimited), "outside", "<p id=\"notice\">You are going a little");
    check(
        Standing::Outside,
        Some(Reason::TurnExpired),
        "ended",
        "Your turn has passed. Join the line again.",
    );
    let unknown = "<p id=\"notice\">We do not know this code.";
    check(Standing::Outside, Some(Reason::CodeUnknown), "outside", unknown);
    check(holding(&waiting), Some(Reason::CodeUnknown), "waiting", unknown);
    check(Standing::CookieLost, None, "cookies", "Cookies are blocked");
    check(
        holding(&waiting),
        None,
        "waiting",
        "<b id=\"figure\">11</b><span id=\"after\"> people ahead of you",
    );
    check(holding(&waiting), None, "waiting", "<dd id=\"eta\">About 1 to 5 minutes</dd>");
    check(holding(&waiting), None, "waiting", "held for 5 minutes");
    check(
        holding(&called),
        Some(Reason::DoorFull),
        "called",
        "<p id=\"notice\">It is your turn and the shop is full",
    );
    check(holding(&late), None, "late", "You may still enter");
    check(Standing::Holding(None), None, "waiting", "<p id=\"notice\">The line is paused for a moment");
}

#[test]
fn a_closed_line_offers_no_join() {
    let event = event();
    let hidden = |reason| {
        let html = page(&event, Standing::Outside, Some(reason)).render();
        between(&html, "<form id=\"joinForm\"", ">")[0].ends_with(" hidden")
    };
    assert!(hidden(Reason::EventClosed));
    assert!(hidden(Reason::OutOfStock));
    assert!(!hidden(Reason::TicketVoid));
    // The script keeps the same list.
    let list = between(include_str!("../assets/rules.js"), "NO_MORE_JOINS = [", "]")[0];
    for reason in Reason::ALL {
        assert_eq!(list.contains(&format!("\"{reason}\"")), hidden(*reason), "{reason}");
    }
}

#[test]
fn a_link_tells_nothing_final_that_the_room_does_not_say() {
    for reason in Reason::ALL {
        let told = reason_of_link(reason.code(), Some(Phase::Open));
        let is_of_code = matches!(reason, Reason::CodeUnknown | Reason::CodeUsed | Reason::SessionStays);
        assert!(told.is_none() || told == Some(*reason), "{reason}");
        assert!(told.is_none() || reason.is_retryable() || is_of_code, "{reason}");
        assert_eq!(reason_of_link(reason.code(), None), told, "{reason}");
    }
    assert_eq!(reason_of_link("OUT_OF_STOCK", Some(Phase::SoldOut)), Some(Reason::OutOfStock));
    assert_eq!(reason_of_link("EVENT_PAUSED", Some(Phase::Paused)), Some(Reason::EventPaused));
    assert_eq!(reason_of_link("<script>", None), None);
}

#[test]
fn whatever_comes_from_outside_is_escaped() {
    let event = event();
    let evil = "</script><script>alert(1)</script><img src=x onerror='alert(1)'>\"";
    let status = Status {
        message: Some(evil.to_owned()),
        reason: Some(evil.to_owned()),
        lane: evil.to_owned(),
        ..status()
    };
    let html = WaitingPage {
        return_path: "/p?q=\"><script>alert(1)</script>&'",
        request_id: evil,
        ..page(&event, Standing::Holding(Some(&status)), None)
    }
    .render();
    assert_eq!(between(&html, "<script", ">").len(), 3, "data, rules, script");
    assert_eq!(html.matches("</script>").count(), 3);
    assert!(!html.contains("<img"));
    assert!(html.contains("Spring &#60;drop&#62;"), "the page names what the line is for");
    assert!(html.contains("alert(1)"), "it is shown as text");
    let data = between(&html, "id=\"data\">", "</script>")[0];
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["status"]["message"], evil);
    assert_eq!(data["returnPath"], "/p?q=\"><script>alert(1)</script>&'");
}

#[test]
fn the_policy_allows_what_the_page_holds_and_nothing_else() {
    let event = event();
    let page = page(&event, Standing::Outside, None);
    let (html, headers) = (page.render(), page.headers());
    let header = |name: &str| &headers.iter().find(|(own, _)| *own == name).unwrap().1;
    let policy = header("content-security-policy");
    let hash = |text: &str| format!("'sha256-{}'", BASE64.encode(&Sha256::digest(text.as_bytes())));
    let style = between(&html, "<style>", "</style>");
    let scripts = between(&html, "<script>", "</script>");
    assert_eq!((style.len(), scripts.len()), (1, 2));
    for text in style.iter().chain(&scripts) {
        assert!(policy.contains(&hash(text)));
    }
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
    assert_eq!(between(&html, " style=\"", "\"").len() + between(&html, " onclick=\"", "\"").len(), 0);
    assert_eq!(header("cache-control"), "private, no-store");
    assert_eq!(header("x-robots-tag"), "noindex");
    assert_eq!(header("referrer-policy"), "same-origin");
    assert_eq!(header("x-content-type-options"), "nosniff");
}

#[test]
fn the_page_is_plain_and_small() {
    let event = event();
    for (language, tag) in [(Language::En, "en"), (Language::ZhTw, "zh-TW")] {
        let status = status();
        let html = WaitingPage { language, ..page(&event, Standing::Holding(Some(&status)), None) }.render();
        assert!(html.starts_with(&format!("<!doctype html>\n<html lang=\"{tag}\"")));
        for (once, times) in
            [("<h1", 1), ("role=\"status\"", 1), ("role=\"alert\"", 0), ("http-equiv", 0), ("src=", 0)]
        {
            assert_eq!(html.matches(once).count(), times, "{once}");
        }
        assert!(html.len() <= 32 * 1024, "{} bytes", html.len());
    }
}

#[test]
fn the_way_back_survives_the_query() {
    let event = event();
    let path = wait_path("/x", &event, "/p?a=1&b=%20#c");
    assert_eq!(path, "/x/wait/drop?return=/p%3Fa%3D1%26b%3D%2520%23c");
    let query = path.split_once('?').unwrap().1;
    assert_eq!(shared::http::form::first(query, "return").as_deref(), Some("/p?a=1&b=%20#c"));
    assert_eq!(joined_path("/x", &event, "/"), "/x/wait/drop?return=/&joined=1");
}

#[test]
fn a_limited_navigation_reads_why_and_when_in_its_language() {
    let problem = Problem::new(Reason::ShopBusy).retry_after(Duration::from_millis(1_500));
    for (language, again) in
        [(Language::En, "Try again in 2 seconds."), (Language::ZhTw, "請於 2 秒後再試。")]
    {
        let page =
            RefusedPage { problem: &problem, language, back_path: "/p/\"><script>", request_id: "r-<1>" };
        let html = page.render();
        assert!(html.contains(Reason::ShopBusy.message(language)) && html.contains(again), "{html}");
        assert!(!html.contains("<script") && !html.contains("r-<1>"), "{html}");
        let headers = page.headers();
        let field = |name: &str| -> Vec<&str> {
            headers.iter().filter(|(field, _)| *field == name).map(|(_, value)| value.as_str()).collect()
        };
        assert_eq!(field("content-type"), ["text/html; charset=utf-8"]);
        assert_eq!(field("retry-after"), ["2"]);
        assert_eq!(field("cache-control"), ["private, no-store"]);
        let style = html.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
        let hash = BASE64.encode(&Sha256::digest(style.as_bytes()));
        assert!(field("content-security-policy")[0].contains(&hash));
    }
}
