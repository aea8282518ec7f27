//! Clippy measures functions; a crate's own `clippy.toml` replaces the root one, so each has to say how long they may be.

use super::Finding;

/// Finds clippy settings without the limit on functions.
pub(super) fn check(path: &str, text: &str) -> Option<Finding> {
    let is_settings =
        path.rsplit('/').next().is_some_and(|name| name == "clippy.toml" || name == ".clippy.toml");
    let says_it = text.lines().any(|line| line.trim() == FUNCTION_LINES);
    (is_settings && !says_it).then(|| Finding::at(path, format!("say `{FUNCTION_LINES}`")))
}

const FUNCTION_LINES: &str = "too-many-lines-threshold = 70";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_without_the_limit_are_found() {
        assert!(check("shared/clippy.toml", "too-many-lines-threshold = 700\n").is_some());
        assert!(check(".clippy.toml", "").is_some());
        assert_eq!(check("shared/clippy.toml", &format!("a = 1\n{FUNCTION_LINES}\n")), None);
        assert_eq!(check("rustfmt.toml", ""), None);
    }
}
