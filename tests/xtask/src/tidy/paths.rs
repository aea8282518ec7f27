//! A document that names a file sends its reader there.

use super::Finding;
use std::ffi::OsStr;
use std::path::Path;

/// Finds files named in a document that `exists` does not know.
pub(super) fn check(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    if Path::new(path).extension() != Some(OsStr::new("md")) {
        return Vec::new();
    }
    let lines = text.lines().enumerate();
    let in_line = |(line_index, line): (usize, &str)| {
        let named = line.split('`').skip(1).step_by(2).filter(|quoted| is_path(quoted) && !exists(quoted));
        named
            .map(|quoted| Finding::at_line(path, line_index, format!("`{quoted}` does not exist")))
            .collect::<Vec<_>>()
    };
    lines.flat_map(in_line).collect()
}

/// A path, not a pattern or a command.
fn is_path(quoted: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_-.".contains(c);
    PARTS.iter().any(|part| quoted.starts_with(part)) && quoted.chars().all(plain)
}

const PARTS: [&str; 4] = ["shared/", "edge/", "queue-server/", "tests/"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_gone_are_found() {
        let text = "See `shared/src/a.rs`, `shared/src/gone.rs` and\n`tests/tests/gone`.";
        let findings = check("README.md", text, |path| path == "shared/src/a.rs");
        let places: Vec<&str> = findings.iter().map(|finding| finding.place.as_str()).collect();
        assert_eq!(places, ["README.md:1", "README.md:2"]);
    }

    #[test]
    fn patterns_commands_and_code_are_left_alone() {
        let text = "`shared/src/*.rs` `target/edge` `tests/{a,b}.rs` `cargo xtask up`";
        assert_eq!(check("README.md", text, |_| false), []);
        assert_eq!(check("a.rs", "`shared/src/gone.rs`", |_| false), []);
    }
}
