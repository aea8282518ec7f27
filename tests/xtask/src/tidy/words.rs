//! Words that name nothing, and marks of unfinished work.

use super::Finding;

/// Finds files and directories whose name says nothing about what is in them.
pub(super) fn check_path(path: &str) -> Option<Finding> {
    let names = path.split('/').map(|part| part.split_once('.').map_or(part, |(stem, _)| stem));
    let empty = names.into_iter().find(|name| EMPTY_NAMES.contains(name))?;
    Some(Finding::at(path, format!("`{empty}` names nothing: call it after its one concept")))
}

/// Finds banned words in code. Adapters of other people's limiters speak their words.
pub(super) fn check_text(path: &str, text: &str) -> Vec<Finding> {
    if path.starts_with(OTHER_PEOPLES) || !CODE.iter().any(|extension| path.ends_with(extension)) {
        return Vec::new();
    }
    let lines = text.lines().enumerate();
    let in_line = |(line_index, line): (usize, &str)| {
        let banned = BANNED.iter().filter(|(word, _)| has_word(line, word)).collect::<Vec<_>>();
        banned
            .into_iter()
            .map(move |(word, instead)| Finding::at_line(path, line_index, format!("`{word}`: {instead}")))
    };
    lines.flat_map(in_line).collect()
}

/// Whether `word` stands in `line`, not as a part of a longer identifier.
fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back().is_some_and(joins);
        let after = line[start + word.len()..].chars().next().is_some_and(joins);
        let open_end = word.ends_with(|c| !joins(c));
        !before && (open_end || !after)
    })
}

const EMPTY_NAMES: [&str; 7] = ["utils", "util", "common", "helpers", "helper", "manager", "misc"];
const OTHER_PEOPLES: &str = "tests/conform/peers/";
const CODE: [&str; 6] = [".rs", ".js", ".mjs", ".lua", ".html", ".css"];

/// Each is written in two parts, so that this list does not find itself.
const BANNED: [(&str, &str); 8] = [
    (concat!("max_", "burst"), "others mean different things by it, say burst_capacity"),
    (concat!("TO", "DO"), "finish it or leave it out"),
    (concat!("FIX", "ME"), "finish it or leave it out"),
    (concat!("X", "XX"), "finish it or leave it out"),
    (concat!("to", "do!("), "finish it or leave it out"),
    (concat!("unimpl", "emented!("), "finish it or leave it out"),
    (concat!("db", "g!("), "a trace for yourself"),
    (concat!("#[ig", "nore"), "a test that does not run proves nothing"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> usize {
        check_text("shared/src/a.rs", line).len()
    }

    #[test]
    fn every_banned_word_is_found() {
        for (word, _) in BANNED {
            assert_eq!(check(&format!("let a = 1; // {word} b")), 1, "{word}");
        }
        assert_eq!(check_text("a.rs", &format!("\n{}", BANNED[1].0))[0].place, "a.rs:2");
    }

    #[test]
    fn parts_of_words_and_prose_are_left_alone() {
        let longer = format!("not{} {}s", BANNED[1].0, BANNED[0].0);
        assert_eq!(check(&longer), 0);
        assert_eq!(check_text("README.md", BANNED[1].0), []);
        assert_eq!(check_text("tests/conform/peers/a.rs", BANNED[0].0), []);
    }

    #[test]
    fn empty_names_are_found_at_any_depth() {
        for path in ["shared/src/utils.rs", "edge/src/helpers/mod.rs", "queue-server/src/store/manager.rs"] {
            assert!(check_path(path).is_some(), "{path}");
        }
        assert_eq!(check_path("shared/src/limiter/gcra.rs"), None);
    }
}
