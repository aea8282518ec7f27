//! Rules of this repository that no compiler knows. Each is a pure function with a test that shows it can fail.
//!
//! Functions of more than 70 lines are clippy's business: `limits` only makes sure that it is told so.

mod dependencies;
mod limits;
mod paths;
mod size;
mod words;

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace;

/// Something that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    place: String,
    message: String,
}

impl Finding {
    fn at_line(path: &str, line_index: usize, message: impl Into<String>) -> Self {
        Self { place: format!("{path}:{}", line_index + 1), message: message.into() }
    }

    fn at(place: &str, message: impl Into<String>) -> Self {
        Self { place: place.to_owned(), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Checks the whole repository.
pub(crate) fn check() -> Result<Vec<Finding>> {
    let root = workspace::root();
    let mut findings = Vec::new();
    visit(&root, &root, &mut |path, text| {
        findings.extend(words::check_path(path));
        findings.extend(words::check_text(path, text));
        findings.extend(size::check(path, text));
        findings.extend(limits::check(path, text));
        findings.extend(paths::check(path, text, |named| exists_beside(&root, path, named)));
    })?;
    let output = workspace::cargo(&["metadata", "--no-deps", "--format-version=1"]).output()?;
    findings.extend(dependencies::check(&serde_json::from_slice(&output.stdout).context("cargo metadata")?));
    Ok(findings)
}

/// Whether a document's name for a file holds from the document's folder or from one above it.
fn exists_beside(root: &Path, document: &str, named: &str) -> bool {
    Path::new(document).ancestors().any(|folder| root.join(folder).join(named).exists())
}

/// Calls `see` with the path (relative, with slashes) and the text of every file that is not built or fetched.
fn visit(root: &Path, directory: &Path, see: &mut impl FnMut(&str, &str)) -> Result<()> {
    let mut entries = fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            if !SKIPPED.iter().any(|skipped| name == *skipped) {
                visit(root, &path, see)?;
            }
        } else if let Ok(text) = fs::read_to_string(&path) {
            see(&path.strip_prefix(root)?.to_string_lossy().replace('\\', "/"), &text);
        }
    }
    Ok(())
}

const SKIPPED: [&str; 4] = [".git", "target", "node_modules", ".fairgate"];

#[cfg(test)]
mod tests {
    #[test]
    fn this_repository_is_tidy() {
        let findings = super::check().unwrap();
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}", lines.join("\n"));
    }
}
