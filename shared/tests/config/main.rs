//! The configuration file: what it means, and that every error says where it is and what to do.

mod errors;
mod meaning;
mod names;
mod values;

use shared::config::Config;

/// The least that is a configuration.
pub(crate) const LEAST: &str = r#"
[site]
public_url = "https://shop.example"
[edge]
queue_server = "https://queue.example"
[[shop]]
id = "alpha"
hosts = ["shop.example"]
origin = "https://origin.example"
[[shop.route]]
methods = ["POST"]
path = "/cart/{sku}"
sku = { path = "sku" }
[[event]]
id = "drop"
shop = "alpha"
skus = ["A-1"]
capacity = 100
admission_rate_per_s = 50
"#;

/// Replaces `old` in the least configuration, and expects exactly these errors.
pub(crate) fn check(old: &str, new: &str, expected: &[&str]) {
    assert!(LEAST.contains(old), "{old}");
    let errors =
        Config::parse("f", &LEAST.replacen(old, new, 1)).err().unwrap_or_else(|| panic!("no error: {new}"));
    let errors: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
    assert_eq!(errors, expected, "{new}");
}
