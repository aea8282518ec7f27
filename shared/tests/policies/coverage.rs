//! Which routes are limited by what, in words, and which by nothing.

use crate::fixtures::{config, counted_by, policy};

fn words(added: &str) -> Vec<String> {
    config(added).coverage().iter().map(ToString::to_string).collect()
}

#[test]
fn every_algorithm_says_what_passes_in_any_window() {
    let check = |numbers: &str, expected: &str| {
        assert_eq!(policy(numbers).in_words(), format!("p: each address: {expected}."), "{numbers}");
    };
    check(
        "burst_capacity = 10\nrate = 5\nperiod_s = 1",
        "10 at once, then 5 each 1 s; in any 1 s at most 15",
    );
    check("at_most = 60\nwindow_s = 60", "in any 1 min at most 60, exactly");
    check(
        "algorithm = \"fixed_window\"\nlimit = 60\nwindow_s = 60\naligned = true",
        "60 in each 1 min of the clock; in any 1 min at most 120",
    );
    check(
        "algorithm = \"sliding_two_counters\"\nlimit = 60\nwindow_s = 60",
        "about 60 in any 1 min; at worst 120",
    );
    check(
        "lockout = \"true|3|1|30\"",
        "3 in each 1 s of the clock, then locked for 30 s; in any 1 s at most 6",
    );
    check(
        "lockout = \"true|3|1|0\"",
        "3 in each 1 s of the clock, then refused until it ends; in any 1 s at most 6",
    );
    check(
        "algorithm = \"long_quota\"\nlimit = 1000\nper = \"day\"",
        "1000 each day of UTC; in any 24 hours at most 2000",
    );
    check(
        "algorithm = \"interval_bucket\"\ncapacity = 30\nrefill = 2\nperiod_ms = 500",
        "30 at once, and 2 come back at the end of each 500 ms; in any 500 ms at most 32",
    );
    check(
        "algorithm = \"leaky_queue\"\nrate = 10\nperiod_s = 1\nmax_waiting = 5",
        "10 go on each 1 s, at most 5 wait for their time; in any 1 s at most 11 go on",
    );
    check(
        "algorithm = \"concurrency\"\npermits = 10\nlife_s = 30",
        "10 at the same time, each for at most 30 s",
    );
}

#[test]
fn each_route_is_listed_and_what_nothing_limits_stands_out() {
    let route =
        |path: &str, more: &str| format!("[[shop.route]]\nmethods = [\"GET\"]\npath = \"{path}\"\n{more}\n");
    let text = [
        route("/a", "limits = [\"wide\"]"),
        route("/b", "limits = [\"narrow\"]"),
        route("/c", "limits = [\"watched\"]"),
        route("/d", "bypass = true"),
        counted_by("wide", "\"ip\""),
        counted_by("narrow", "\"device\""),
        format!("{}mode = \"shadow\"\n", counted_by("watched", "\"ip\"")),
    ];
    let numbers = "1 at once, then 1 each 1 s; in any 1 s at most 2";
    assert_eq!(
        words(&text.concat()),
        [
            format!(
                "alpha GET /a: goes to the shop\n  - wide: each address: {numbers}.\n  \
                 = in the long run one caller: 1 each 1 s, by wide"
            ),
            format!(
                "alpha GET /b: goes to the shop\n  - narrow: each device: {numbers}.\n  \
                 = in the long run one caller: 1 each 1 s, by narrow\n  \
                 ! a request is limited only by each device: without it, by nothing"
            ),
            format!(
                "alpha GET /c: goes to the shop\n  - watched: each address: {numbers} (shadow: it counts, and refuses nobody).\n  \
                 ! nothing refuses such a request, however often it comes"
            ),
            "alpha GET /d: bypassed: goes to the shop uncounted".to_owned(),
            "alpha everything else: goes to the shop, limited by nothing".to_owned(),
        ]
    );
}

#[test]
fn a_shop_that_asserts_no_members_is_told_that_edges_know_none() {
    let by_member = counted_by("comment", "\"member\"");
    let gaps = |members: &str| {
        let route = "[[shop.route]]\npath = \"/comments\"\nlimits = [\"comment\"]\n";
        config(&format!("{members}{route}{by_member}")).coverage()[0].gaps.clone()
    };
    assert_eq!(gaps(""), ["edges know no members, so comment counts by device there: write [shop.members]"]);
    assert_eq!(gaps("[shop.members]\njwks = '{\"keys\":[]}'\naudience = \"a\"\n"), [""; 0]);
}

#[test]
fn a_policy_that_is_off_limits_nothing() {
    let text = format!(
        "[[shop.route]]\npath = \"/a\"\nlimits = [\"p\"]\n{}mode = \"off\"\n",
        counted_by("p", "\"ip\"")
    );
    let covered = &config(&text).coverage()[0];
    assert!(!covered.is_limited, "{covered}");
    assert_eq!(covered.gaps, ["nothing refuses such a request, however often it comes"]);
}

#[test]
fn the_first_that_applies_is_told_with_its_alternatives() {
    let text = format!(
        "[[shop.route]]\npath = \"/a\"\nlimits = [[\"m\", \"d\"]]\n{}{}",
        counted_by("m", "\"member\""),
        counted_by("d", "\"device\"")
    );
    let covered = &config(&text).coverage()[0];
    assert!(covered.limits[0].starts_with("the first that applies of: m: each member ("), "{covered}");
    assert_eq!(covered.gaps.len(), 1, "a device may be missing, and then nothing counts: {covered}");
}

#[test]
fn what_binds_is_the_least_in_the_long_run() {
    let policy = |name: &str, key: &str, numbers: &str| {
        format!("[[policy]]\nname = \"{name}\"\nkey = \"{key}\"\n{numbers}\n")
    };
    let text = [
        "[[shop.route]]\npath = \"/a\"\nlimits = [\"burst\", \"hour\", \"shop\"]\n".to_owned(),
        policy("burst", "ip", "burst_capacity = 1\nrate = 1\nperiod_s = 1"),
        policy("hour", "ip", "at_most = 3599\nwindow_s = 3600"),
        policy("shop", "shop", "at_most = 100\nwindow_s = 1"),
    ];
    let covered = &config(&text.concat()).coverage()[0];
    assert_eq!(
        covered.binding,
        ["one caller: 3599 each 1 h, by hour", "everybody together: 100 each 1 s, by shop"]
    );
}
