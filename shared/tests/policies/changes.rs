//! What a new configuration does to the states that the old one left.

use crate::fixtures::{config, counted_by, policy};
use shared::config::{ChangeEffect, policy_changes};

/// What becomes of policy `p`, written once and then again.
fn effect(before: &str, after: &str) -> Option<ChangeEffect> {
    let of = |text: &str| config(&format!("[[policy]]\nname = \"p\"\n{text}\n"));
    let changes = policy_changes(&of(before), &of(after));
    assert!(
        changes.len() <= 1
            && changes
                .iter()
                .all(|change| (change.shop_id.as_str(), change.policy.as_str()) == ("alpha", "p"))
    );
    changes.first().map(|change| change.effect)
}

#[test]
fn unchanged_limits_carry_their_state_over() {
    // L125: a reload without a change gives nobody a fresh bucket, however the file is written.
    let first = "key = \"ip\"\nburst_capacity = 10\nrate = 5\nperiod_s = 1";
    let spelled_otherwise =
        "key = [\"ip\"]\nalgorithm = \"token_bucket\"\nperiod_ms = 1000\nrate = 5\nburst_capacity = 10";
    assert_eq!(effect(first, spelled_otherwise), None);
}

#[test]
fn each_change_says_what_a_key_brings_along() {
    let of = |limit: u32, more: &str| format!("key = \"ip\"\nat_most = {limit}\nwindow_s = 60\n{more}");
    assert_eq!(effect(&of(100, ""), &of(10, "")), Some(ChangeEffect::Kept));
    assert_eq!(effect(&of(100, ""), &of(10, "inherit = \"proportional\"")), Some(ChangeEffect::Proportional));
    assert_eq!(effect(&of(100, ""), &of(10, "inherit = \"reset\"")), Some(ChangeEffect::Reset));
    assert_eq!(effect(&of(100, ""), &of(100, "mode = \"shadow\"")), Some(ChangeEffect::Untouched));
    assert_eq!(effect(&of(100, ""), &of(100, "mode = \"off\"")), Some(ChangeEffect::Ends));
    assert_eq!(effect(&of(100, "mode = \"off\""), &of(100, "")), Some(ChangeEffect::Begins));
    let by_device = "key = \"device\"\nat_most = 100\nwindow_s = 60";
    assert_eq!(effect(&of(100, ""), by_device), Some(ChangeEffect::Rekeyed));
}

#[test]
fn what_comes_and_goes_is_told_for_each_shop() {
    let one = config(&counted_by("p", "\"ip\""));
    let other = config(&counted_by("q", "\"ip\""));
    let words: Vec<String> = policy_changes(&one, &other).iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        ["alpha: p ends; its keys are no longer asked for", "alpha: q begins; every key is new"]
    );
}

#[test]
fn a_version_names_the_numbers_and_nothing_else() {
    let numbers = "at_most = 10\nwindow_s = 60";
    let version = policy(numbers).version();
    assert_eq!(
        version,
        policy("at_most = 10\nwindow_ms = 60000\nmode = \"shadow\"\ninherit = \"reset\"").version()
    );
    assert_ne!(version, policy("at_most = 11\nwindow_s = 60").version());
    assert_ne!(version, policy("at_most = 10\nwindow_s = 61").version());
    let of_key = |key: &str| config(&counted_by("p", key)).policies[0].version();
    assert_ne!(of_key("\"ip\""), of_key("\"device\""));
}
