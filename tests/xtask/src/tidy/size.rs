//! A file is one concept; past some length it is several.

use super::Finding;

/// Finds source files that are too long.
pub(super) fn check(path: &str, text: &str) -> Option<Finding> {
    let is_source = SOURCES.iter().any(|extension| path.ends_with(extension));
    let lines_count = text.lines().count();
    (is_source && lines_count > LINES_MAX)
        .then(|| Finding::at(path, format!("{lines_count} lines, at most {LINES_MAX}: split it by concept")))
}

const SOURCES: [&str; 6] = [".rs", ".js", ".mjs", ".lua", ".html", ".css"];
const LINES_MAX: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_counts_to_the_line() {
        let at_the_limit = "x\n".repeat(LINES_MAX);
        let one_past_it = "x\n".repeat(LINES_MAX + 1);
        assert_eq!(check("shared/src/a.rs", &at_the_limit), None);
        assert!(check("shared/src/a.rs", &one_past_it).is_some());
        assert_eq!(check("shared/docs/a.md", &one_past_it), None);
    }
}
