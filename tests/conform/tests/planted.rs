//! The checkers are checked: a limiter with one fault fails the vectors that are about that fault, and no other.

use conform::judge::{Verdict, judge};
use conform::reply::{Answer, Reply};
use conform::vector::{Call, Op, Vector};
use conform::vectors::{read, suite};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a fixed window from the first hit may get wrong, as real ones do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    RefusalsCount,
    WaitIsShortByOne,
    WaitIsLongByOne,
    WaitIsTheWholeWindow,
    RefundAboveMaximum,
    RefundFromAnyWindow,
    PeekBeginsWindow,
    NeverIsNotYet,
    RemainingIsZeroOnRefusal,
    CallsRenewTheWindow,
    WindowIsClosed,
    ClockMayGoBack,
    HeaderIsCutOff,
    KeysShareOneCount,
}

/// A limiter that is right but for one fault. It shares no line with the one that Fairgate uses.
struct Window {
    limit: i128,
    length_us: u64,
    fault: Fault,
    keys: BTreeMap<String, Count>,
}

#[derive(Clone, Default)]
struct Count {
    used: i128,
    began_us: u64,
    is_begun: bool,
    last_us: u64,
}

impl Window {
    fn answer(&mut self, call: &Call) -> Answer {
        let key = if self.fault == Fault::KeysShareOneCount { "" } else { call.key("key") };
        let mut count = self.keys.get(key).cloned().unwrap_or_default();
        let now = if self.fault == Fault::ClockMayGoBack { call.t_us } else { call.t_us.max(count.last_us) };
        let ends_us = count.began_us.saturating_add(self.length_us);
        let is_over = if self.fault == Fault::WindowIsClosed { now > ends_us } else { now >= ends_us };
        if count.used != 0 && is_over {
            count.used = 0;
        }
        let cost = if call.op == Op::Take { i128::from(call.cost) } else { 0 };
        if call.op == Op::Refund {
            self.refund(&mut count, call);
        }
        let passes = count.used + cost <= self.limit || cost == 0;
        let counts = cost > 0 && (passes || self.fault == Fault::RefusalsCount);
        let peek_began_it = self.fault == Fault::PeekBeginsWindow && count.is_begun && now < ends_us;
        if count.used == 0 && !peek_began_it && (counts || self.fault == Fault::PeekBeginsWindow) {
            (count.began_us, count.is_begun) = (now, true);
        }
        if counts {
            count.used += cost;
            count.last_us = now;
        }
        if self.fault == Fault::CallsRenewTheWindow {
            count.began_us = now;
        }
        let answer = self.tell(&count, now, cost, passes);
        self.keys.insert(key.to_owned(), count);
        answer
    }

    fn refund(&self, count: &mut Count, call: &Call) {
        let taken_us = call.taken_us.unwrap_or(call.t_us);
        let has_used = count.used != 0 || self.fault == Fault::RefundAboveMaximum;
        let still_counts = has_used && taken_us >= count.began_us;
        if still_counts || self.fault == Fault::RefundFromAnyWindow {
            count.used -= i128::from(call.cost);
        }
        if self.fault != Fault::RefundAboveMaximum {
            count.used = count.used.max(0);
        }
    }

    fn tell(&self, count: &Count, now: u64, cost: i128, passes: bool) -> Answer {
        let left_us = count.began_us.saturating_add(self.length_us).saturating_sub(now);
        let reset_us = if count.used == 0 { 0 } else { left_us };
        let wait_us = match self.fault {
            Fault::WaitIsShortByOne => left_us.saturating_sub(1),
            Fault::WaitIsLongByOne => left_us + 1,
            Fault::WaitIsTheWholeWindow => self.length_us,
            _ => left_us,
        };
        let never = cost > self.limit && self.fault != Fault::NeverIsNotYet;
        let remaining = (self.limit - count.used).max(0);
        let hides = !passes && self.fault == Fault::RemainingIsZeroOnRefusal;
        let seconds = if self.fault == Fault::HeaderIsCutOff {
            left_us / 1_000_000
        } else {
            left_us.div_ceil(1_000_000).max(1)
        };
        let fields = json!({
            "ok": passes,
            "remaining": if hides { 0 } else { u64::try_from(remaining).unwrap_or(u64::MAX) },
            "retry_after_us": if passes { json!(0) } else if never { Value::Null } else { json!(wait_us) },
            "retry_after_s": if passes || never { Value::Null } else { json!(seconds) },
            "reset_after_us": reset_us,
        });
        fields.as_object().cloned().unwrap_or_default()
    }
}

/// The vectors of the suite that such a limiter can be asked.
fn vectors() -> Vec<Vector> {
    let is_asked = |vector: &Vector| {
        vector.limiter == "fixed_window"
            && vector.policy.to_map()["aligned"] == json!(false)
            && vector.steps.iter().all(|step| step.call.op != Op::SetPolicy)
    };
    suite().into_iter().filter(is_asked).collect()
}

fn verdict(vector: &Vector, fault: Fault) -> Verdict {
    let policy = vector.policy.to_map();
    let number = |field: &str| policy[field].as_u64().unwrap_or_default();
    let mut window = Window {
        limit: number("limit").into(),
        length_us: number("window_us"),
        fault,
        keys: BTreeMap::new(),
    };
    let answers = vector.case().steps.iter().map(|call| window.answer(call)).collect();
    judge(vector, &Reply::Answers(answers), 1)
}

/// The names of the vectors that a limiter with this fault fails.
fn failed(fault: Fault) -> Vec<String> {
    let failed = vectors()
        .into_iter()
        .filter(|vector| matches!(verdict(vector, fault), Verdict::Failed(_) | Verdict::WrongBeside(_)));
    failed.map(|vector| vector.name).collect()
}

#[test]
fn a_right_limiter_passes_everything() {
    let not_passed: Vec<_> = vectors()
        .into_iter()
        .filter(|vector| verdict(vector, Fault::None) != Verdict::Passed)
        .map(|vector| vector.name)
        .collect();
    assert!(not_passed.is_empty(), "{not_passed:?}");
    assert!(vectors().len() > 12, "there is something to pass");
}

#[test]
fn each_fault_fails_the_vector_that_is_about_it() {
    for (fault, about_it) in [
        (Fault::RefusalsCount, "first_hit_refusal_takes_nothing"),
        (Fault::WaitIsShortByOne, "first_hit_wait_from_both_sides"),
        (Fault::WaitIsLongByOne, "first_hit_wait_from_both_sides"),
        (Fault::WaitIsTheWholeWindow, "first_hit_wait_from_both_sides"),
        (Fault::RefundAboveMaximum, "first_hit_refund_never_above_the_limit"),
        (Fault::RefundFromAnyWindow, "first_hit_refund_from_a_window_that_ended"),
        (Fault::PeekBeginsWindow, "first_hit_peek_begins_nothing"),
        (Fault::NeverIsNotYet, "first_hit_never_and_not_yet"),
        (Fault::RemainingIsZeroOnRefusal, "first_hit_never_and_not_yet"),
        (Fault::CallsRenewTheWindow, "first_hit_refusals_one_by_one"),
        (Fault::WindowIsClosed, "first_hit_wait_from_both_sides"),
        (Fault::ClockMayGoBack, "first_hit_clock_goes_back"),
        (Fault::HeaderIsCutOff, "first_hit_header_seconds"),
        (Fault::KeysShareOneCount, "first_hit_keys_do_not_touch"),
    ] {
        let failed = failed(fault);
        assert!(
            failed.iter().any(|name| name == about_it),
            "{fault:?} passes {about_it}; it fails {failed:?}"
        );
    }
}

#[test]
fn narrow_faults_fail_nothing_that_is_about_something_else() {
    assert_eq!(failed(Fault::RefundAboveMaximum), ["first_hit_refund_never_above_the_limit"]);
    assert_eq!(failed(Fault::RefundFromAnyWindow), ["first_hit_refund_from_a_window_that_ended"]);
    assert_eq!(failed(Fault::KeysShareOneCount), ["first_hit_keys_of_ones", "first_hit_keys_do_not_touch"]);
    let header: Vec<String> = failed(Fault::HeaderIsCutOff);
    assert!(header.iter().all(|name| name.starts_with("first_hit_header")), "{header:?}");
}

fn one(line: &str) -> Vector {
    read("a file", line).remove(0)
}

fn reply(answers: &Value) -> Reply {
    Reply::Answers(
        answers
            .as_array()
            .into_iter()
            .flatten()
            .map(|answer| answer.as_object().cloned().unwrap_or_default())
            .collect(),
    )
}

const WAIT: &str = r#"{"name": "a", "limiter": "gcra", "policy": {}, "steps": [{"t_us": 0, "want": {"ok": false, "retry_after_us": 1500}}]}"#;

#[test]
fn what_nobody_knows_is_reported_and_never_skipped() {
    let right = reply(&json!([{ "ok": false, "retry_after_us": 1500 }]));
    assert_eq!(judge(&one(WAIT), &right, 1), Verdict::Passed);
    for line in [
        WAIT.replace("gcra", "token_ring"),
        WAIT.replace("retry_after_us", "retry_after_ms"),
        WAIT.replace("\"want\"", "\"op\": \"borrow\", \"want\""),
        WAIT.replace("\"want\"", "\"shop\": \"a\", \"want\""),
        WAIT.replace("\"t_us\": 0", "\"t_us\": -1"),
        "not JSON".to_owned(),
    ] {
        let verdict = judge(&one(&line), &right, 1);
        assert!(matches!(verdict, Verdict::Unjudged { .. }), "{line}: {verdict:?}");
    }
    for broken in [
        Reply::Answers(vec![]),
        Reply::UnknownLimiter("gcra".to_owned()),
        Reply::Broken("it fell over".to_owned()),
    ] {
        assert!(matches!(judge(&one(WAIT), &broken, 1), Verdict::Unjudged { .. }), "{broken:?}");
    }
}

#[test]
fn what_a_limiter_does_not_have_or_tell_is_no_failure_and_no_pass() {
    let vector = one(WAIT);
    let cannot = judge(&vector, &Reply::Cannot("no".to_owned()), 1);
    assert!(matches!(cannot, Verdict::NotApplicable { .. }));
    assert!(matches!(judge(&vector, &reply(&json!([{ "cannot": "no" }])), 1), Verdict::NotApplicable { .. }));
    assert!(matches!(judge(&vector, &reply(&json!([{ "ok": false }])), 1), Verdict::PassedInPart { .. }));
    assert!(matches!(judge(&vector, &reply(&json!([{}])), 1), Verdict::NotApplicable { .. }));
    assert!(matches!(judge(&vector, &reply(&json!([{ "ok": true }])), 1), Verdict::Failed(_)));
}

#[test]
fn a_coarse_clock_rounds_its_waits_up() {
    let wait = |us: u64| judge(&one(WAIT), &reply(&json!([{ "ok": false, "retry_after_us": us }])), 1_000);
    assert_eq!(wait(2_000), Verdict::Passed);
    assert!(matches!(wait(1_000), Verdict::Failed(_)));
    assert!(matches!(wait(1_500), Verdict::Failed(_)));
}
