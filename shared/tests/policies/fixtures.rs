//! A site with one shop, to which each test adds what it is about.

use shared::config::{Config, PolicyConfig};

/// What stands in front of whatever a test adds: 8 lines.
const SITE: &str = r#"[site]
public_url = "https://shop.example"
[edge]
queue_server = "https://queue.example"
[[shop]]
id = "alpha"
hosts = ["shop.example"]
origin = "https://origin.example"
"#;

/// The site with these lines behind its shop.
pub(crate) fn config(added: &str) -> Config {
    Config::parse("f", &format!("{SITE}{added}")).unwrap_or_else(|errors| panic!("{errors}\n{added}"))
}

/// What is wrong with the site with these lines behind its shop; the first of them is line 9.
pub(crate) fn errors(added: &str) -> Vec<String> {
    match Config::parse("f", &format!("{SITE}{added}")) {
        Ok(_) => panic!("no error: {added}"),
        Err(errors) => errors.0.iter().map(ToString::to_string).collect(),
    }
}

/// A policy by address with these numbers.
pub(crate) fn policy(numbers: &str) -> PolicyConfig {
    let config = config(&format!("[[policy]]\nname = \"p\"\nkey = \"ip\"\n{numbers}\n"));
    PolicyConfig::clone(&config.policies[0])
}

/// What is wrong with a policy of these numbers; their first line is line 12.
pub(crate) fn policy_errors(numbers: &str) -> Vec<String> {
    errors(&format!("[[policy]]\nname = \"p\"\nkey = \"ip\"\n{numbers}\n"))
}

/// A policy of one a second with this name and key, both as TOML writes them.
pub(crate) fn counted_by(name: &str, key: &str) -> String {
    format!("[[policy]]\nname = \"{name}\"\nkey = {key}\nburst_capacity = 1\nrate = 1\nperiod_s = 1\n")
}
