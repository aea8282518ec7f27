//! What an error says, and how large the file may be.

use crate::{LEAST, check};
use shared::config::Config;

#[test]
fn keys_are_known_and_there() {
    let missing = "f:14: event[0].capacity: missing; write capacity = <number from 1 to 1000000>";
    check("capacity = 100", "", &[missing]);
    let unknown = "f:18: event[0].capacty: unknown key; known here are id, shop, title, skus, capacity, weight, \
                   admission_rate_per_s, turn_grace_s, pass_life_s, session_max_s, session_extensions_max, sessions_per_buyer, remember_devices, passthrough, opens_at, closes_at, poll_budget_per_s, lane";
    check("capacity = 100", "capacty = 100", &[missing, unknown]);
    check(
        "methods = [\"POST\"]",
        "",
        &["f:10: shop[0].route[0]: a gated route names its methods; write methods = [\"POST\"]"],
    );
    check(
        "sku = { path = \"sku\" }",
        "",
        &["f:10: shop[0].route[0]: write sku = { json = \"<field>\" } to gate the route, \
           limits = [\"<policy>\"] to limit it, or bypass = true"],
    );
}

#[test]
fn several_errors_are_told_at_once_in_the_order_of_lines() {
    let text = LEAST
        .replace("capacity = 100", "capacity = -1")
        .replace("[edge]", "[egde]")
        .replace("\"alpha\"", "\"Alpha\"");
    let errors = Config::parse("f", &text).unwrap_err();
    let lines: Vec<usize> = errors.0.iter().map(|error| error.line).collect();
    assert!(lines.is_sorted() && lines.len() >= 4, "{errors}");
    for part in [
        "f:4: egde: unknown key",
        "edge.queue_server: missing",
        "shop[0].id: a name is",
        "event[0].capacity: write",
    ] {
        assert!(errors.to_string().contains(part), "{part} in {errors}");
    }
}

#[test]
fn text_that_is_not_toml_is_told_with_its_lines() {
    let errors = Config::parse("f", "[site]\npublic_url = \n[edge\nx = 1\nx = 2\n").unwrap_err();
    let lines: Vec<usize> = errors.0.iter().map(|error| error.line).collect();
    assert!(lines.contains(&2) && lines.contains(&3), "{errors}");
    assert!(errors.0.iter().all(|error| error.message.starts_with("not TOML: ")), "{errors}");
}

#[test]
fn the_file_and_its_lists_have_a_greatest_size() {
    let padded = |bytes: usize| format!("{LEAST}#{}", "x".repeat(bytes - LEAST.len() - 1));
    assert!(Config::parse("f", &padded(1024 * 1024)).is_ok());
    let errors = Config::parse("f", &padded(1024 * 1024 + 1)).unwrap_err();
    assert_eq!(errors.to_string(), "f:1: write at most 1048576 bytes; got 1048577");

    let with_skus = |count: usize| {
        let skus: Vec<String> = (0..count).map(|index| format!("\"S-{index}\"")).collect();
        Config::parse("f", &LEAST.replace("[\"A-1\"]", &format!("[{}]", skus.join(","))))
    };
    assert_eq!(with_skus(10_000).unwrap().events[0].skus.len(), 10_000);
    assert_eq!(
        with_skus(10_001).unwrap_err().to_string(),
        "f:17: event[0].skus: write at most 10000; got 10001"
    );

    let with_lanes = |count: usize| {
        let lanes: Vec<String> =
            (0..count).map(|index| format!("[[event.lane]]\nname = \"l{index}\"\n")).collect();
        let lanes = lanes.concat();
        Config::parse("f", &format!("{LEAST}{lanes}"))
    };
    assert_eq!(with_lanes(16).unwrap().events[0].lanes.len(), 16);
    assert!(with_lanes(17).is_err());

    let endless = "[[event]]\n".repeat(200);
    assert_eq!(Config::parse("f", &format!("{LEAST}{endless}")).unwrap_err().0.len(), 100);
}
