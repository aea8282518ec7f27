//! Every algorithm in the units that people write, and what is refused.

use crate::fixtures::{errors, policy, policy_errors};
use shared::config::{OnStoreFailure, PolicyMode, at_most};
use shared::limiter::calendar::Calendar;
use shared::limiter::{Inheritance, Policy, PolicySettings as Settings, State};
use shared::time::Timestamp;
use std::time::Duration;

#[test]
fn every_algorithm_has_a_form() {
    let check = |numbers: &str, settings: Settings| {
        assert_eq!(policy(numbers).limiter, Policy::try_from(settings).unwrap(), "{numbers}");
    };
    let gcra = || Settings::Gcra { burst_capacity: 10, rate: 5, period_us: 1_000_000 };
    check("burst_capacity = 10\nrate = 5\nperiod_ms = 1000", gcra());
    check("burst_capacity = 10\nrate = 5\nperiod_s = 1", gcra());
    for name in ["gcra", "token_bucket", "leaky_meter"] {
        check(&format!("algorithm = \"{name}\"\nburst_capacity = 10\nrate = 5\nperiod_s = 1"), gcra());
    }
    check(
        "algorithm = \"interval_bucket\"\ncapacity = 30\nrefill = 2\nperiod_s = 1",
        Settings::IntervalBucket { capacity: 30, refill: 2, period_us: 1_000_000 },
    );
    check(
        "algorithm = \"leaky_queue\"\nrate = 10\nperiod_s = 1\nmax_waiting = 5",
        Settings::LeakyQueue { rate: 10, period_us: 1_000_000, max_waiting: 5 },
    );
    check(
        "algorithm = \"fixed_window\"\nlimit = 60\nwindow_s = 60\naligned = true",
        Settings::FixedWindow { limit: 60, window_us: 60_000_000, aligned: true },
    );
    check(
        "algorithm = \"fixed_window\"\nlimit = 60\nwindow_ms = 250",
        Settings::FixedWindow { limit: 60, window_us: 250_000, aligned: false },
    );
    check(
        "algorithm = \"sliding_log\"\nlimit = 20\nwindow_s = 60",
        Settings::SlidingLog { limit: 20, window_us: 60_000_000 },
    );
    check(
        "algorithm = \"sliding_two_counters\"\nlimit = 20\nwindow_s = 60",
        Settings::SlidingTwoCounters { limit: 20, window_us: 60_000_000 },
    );
    check(
        "algorithm = \"sliding_sub_windows\"\nlimit = 20\nwindow_s = 60",
        Settings::SlidingSubWindows { limit: 20, window_us: 60_000_000, sub_windows: 10 },
    );
    check(
        "algorithm = \"lockout\"\nmax = 3\nwindow_s = 1\nlock_s = 30",
        Settings::Lockout { max: 3, window_us: 1_000_000, lock_us: 30_000_000 },
    );
    check(
        "algorithm = \"long_quota\"\nlimit = 1000\nper = \"month\"",
        Settings::LongQuota { limit: 1000, calendar: Calendar::Month, zone: "UTC".to_owned() },
    );
    check(
        "algorithm = \"concurrency\"\npermits = 10\nlife_s = 30",
        Settings::Concurrency { permits: 10, life_us: 30_000_000 },
    );
}

#[test]
fn at_most_is_a_hard_bound_in_whatever_form_fits() {
    let second = Duration::from_secs(1);
    let is_log = |policy: Policy| matches!(policy, Policy::SlidingLog(_));
    assert!(is_log(at_most(1, second, None).unwrap()) && is_log(at_most(16, second, None).unwrap()));
    assert!(matches!(at_most(17, second, None).unwrap(), Policy::SubWindows(_)));
    let gcra = Settings::Gcra { burst_capacity: 10, rate: 50, period_us: 60_000_000 };
    assert_eq!(
        policy("at_most = 60\nwindow_s = 60\nburst_capacity = 10").limiter,
        Policy::try_from(gcra).unwrap()
    );
    // B4 and L40: a whole limit just before a boundary leaves nothing just after it.
    for limit in [5, 60] {
        let limiter = policy(&format!("at_most = {limit}\nwindow_s = 60")).limiter;
        let at = |second: u64| Timestamp::from_micros(second * 1_000_000);
        let spent: State = limiter.check(limiter.new_state(), at(59), limit).state;
        for second in 59..119 {
            assert!(
                !limiter.check(spent.clone(), at(second), 1).decision.is_allowed(),
                "{limit} at {second}"
            );
        }
        assert!(limiter.check(spent, at(126), limit).decision.is_allowed());
    }
}

#[test]
fn the_compact_lockout_may_be_switched_off() {
    let on = policy("lockout = \"true|3|1|30\"");
    let settings = Settings::Lockout { max: 3, window_us: 1_000_000, lock_us: 30_000_000 };
    assert_eq!((on.limiter, on.mode), (Policy::try_from(settings.clone()).unwrap(), PolicyMode::Enforced));
    let off = policy("lockout = \"false|3|1|30\"\nmode = \"shadow\"");
    assert_eq!((off.limiter, off.mode), (Policy::try_from(settings).unwrap(), PolicyMode::Off));
    let seconds =
        "f:12: policy[0].lockout: window_s (part 3 of 4): a whole number from 1 to 4294967295, not \"0\"";
    assert_eq!(policy_errors("lockout = \"true|3|0|30\""), [format!("{seconds}; got \"true|3|0|30\"")]);
    let never = "f:12: policy[0].lockout: max (part 2 of 4) is 0, so nobody could ever pass; write at least 1, \
                 or false to switch it off";
    assert_eq!(policy_errors("lockout = \"true|0|1|30\""), [never]);
}

#[test]
fn modes_inheritance_and_store_failures_have_words_and_defaults() {
    let numbers = "at_most = 3\nwindow_s = 1\n";
    let plain = policy(numbers);
    assert_eq!(
        (plain.mode, plain.inherit, plain.on_store_failure),
        (PolicyMode::Enforced, Inheritance::Keep, OnStoreFailure::Local)
    );
    let words = policy(&format!(
        "{numbers}mode = \"shadow\"\ninherit = \"proportional\"\non_store_failure = \"closed\""
    ));
    assert_eq!(
        (words.mode, words.inherit, words.on_store_failure),
        (PolicyMode::Shadow, Inheritance::Proportional, OnStoreFailure::Closed)
    );
    assert_eq!(
        policy_errors(&format!("{numbers}mode = \"on\"\ninherit = \"keeps\"\non_store_failure = \"no\"")),
        [
            "f:14: policy[0].mode: write off, shadow or enforced; got \"on\"",
            "f:15: policy[0].inherit: write keep, proportional or reset; got \"keeps\"",
            "f:16: policy[0].on_store_failure: write local, open or closed; got \"no\"",
        ]
    );
}

#[test]
fn numbers_that_never_pass_or_never_limit_are_refused_with_their_place() {
    let check = |numbers: &str, expected: &[&str]| assert_eq!(policy_errors(numbers), expected, "{numbers}");
    check(
        "burst_capacity = 0\nrate = 1\nperiod_s = 1",
        &["f:12: policy[0].burst_capacity: write a whole number from 1 to 1000000; got 0"],
    );
    check(
        "at_most = 0\nwindow_s = 1",
        &["f:12: policy[0].at_most: write a whole number from 1 to 1000000000; got 0"],
    );
    let never = "f:9: policy[0]: more than 1,000,000 a second would pass, which no key reaches, so this never limits; \
                 lower it";
    check("burst_capacity = 1\nrate = 1001\nperiod_ms = 1", &[never]);
    check("algorithm = \"fixed_window\"\nlimit = 1000001\nwindow_s = 1", &[never]);
    check(
        "lockout = \"true|4294967295|1|30\"",
        &[&never.replace("f:9: policy[0]", "f:12: policy[0].lockout")],
    );
    assert_eq!(policy("burst_capacity = 1\nrate = 1000\nperiod_ms = 1").limiter.quota(), 1);
    let burst = "f:9: policy[0]: burst_capacity must be at least 1 and below the limit";
    check("at_most = 10\nwindow_s = 1\nburst_capacity = 10", &[burst]);
    check(
        "algorithm = \"sliding_log\"\nlimit = 4097\nwindow_s = 1",
        &["f:9: policy[0]: this limiter keeps each unit: its limit is at most 4096"],
    );
    let zone = if cfg!(feature = "zones") {
        "f:9: policy[0]: no such time zone is built in; write \"UTC\", or an IANA name such as \"Asia/Taipei\""
    } else {
        "f:9: policy[0]: no time zone is built in here, so that the edge stays small; write \"UTC\", or leave the policy to the \
         limit service"
    };
    check("algorithm = \"long_quota\"\nlimit = 1\nper = \"day\"\nzone = \"Mars\"", &[zone]);
}

#[test]
fn spans_are_written_once_and_in_range() {
    let check = |numbers: &str, expected: &[&str]| assert_eq!(policy_errors(numbers), expected, "{numbers}");
    let once = "f:14: policy[0].window_s: write the span once, in seconds or in milliseconds";
    check("at_most = 1\nwindow_ms = 1000\nwindow_s = 1", &[once]);
    check("at_most = 1", &["f:9: policy[0].window_s: missing; write window_s or window_ms = <number>"]);
    check(
        "at_most = 1\nwindow_s = 2678401",
        &["f:13: policy[0].window_s: write a whole number from 1 to 2678400; got 2678401"],
    );
    check(
        "at_most = 1\nwindow_ms = 0",
        &["f:13: policy[0].window_ms: write a whole number from 1 to 2678400000; got 0"],
    );
    assert_eq!(policy("at_most = 1\nwindow_s = 2678400").limiter.window(), Duration::from_secs(2_678_400));
    let month =
        "f:14: policy[0].per: write \"day\" or \"month\": other spans are windows in seconds; got \"week\"";
    check("algorithm = \"long_quota\"\nlimit = 1\nper = \"week\"", &[month]);
}

#[test]
fn a_key_that_another_form_has_is_unknown_here() {
    let unknown = policy_errors("at_most = 1\nwindow_s = 1\nrate = 5");
    assert_eq!(unknown.len(), 1);
    assert!(unknown[0].starts_with("f:14: policy[0].rate: unknown key; known here are "), "{unknown:?}");
    let algorithm = policy_errors("algorithm = \"windows\"");
    assert!(algorithm[0].starts_with("f:12: policy[0].algorithm: write gcra (also "), "{algorithm:?}");
}

#[test]
fn keys_are_one_part_or_several_each_once() {
    let parts = |key: &str| {
        let config = crate::fixtures::config(&crate::fixtures::counted_by("p", key));
        config.policies[0].key.to_string()
    };
    assert_eq!(parts("\"member\""), "member");
    assert_eq!(parts("[\"route\", \"ip\"]"), "ip + route", "the order in the file does not matter");
    assert_eq!(parts("[\"ip\", \"site\"]"), "site + ip");
    let check = |key: &str, expected: &[&str]| {
        assert_eq!(errors(&crate::fixtures::counted_by("p", key)), expected, "{key}");
    };
    let words = "a key is ip, device, member, client, shop, sku, route or site, or a list of them";
    check("\"user\"", &[&format!("f:11: policy[0].key: {words}; got \"user\"")]);
    check("[\"ip\", \"ip\"]", &["f:11: policy[0].key[1]: ip is named on line 11 already; name it once"]);
    check(
        "[]",
        &["f:11: policy[0].key: name at least one of ip, device, member, client, shop, sku, route and site"],
    );
    check(
        "[\"site\", \"sku\"]",
        &[
            "f:11: policy[0].key: shops, SKUs and routes are of one shop, and site counts over all shops; remove site",
        ],
    );
}
