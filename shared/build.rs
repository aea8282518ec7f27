//! Takes comments and indentation out of the waiting page's style and scripts: they would travel to every buyer, and fill the Worker's bundle.

#![expect(clippy::disallowed_methods, reason = "a build script reads and writes files")]

use std::{env, fs, io, path::PathBuf};

const ASSETS: [&str; 3] = ["wait.css", "rules.js", "wait.js"];

fn main() -> io::Result<()> {
    let target = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    for name in ASSETS {
        let source = PathBuf::from("assets").join(name);
        println!("cargo::rerun-if-changed={}", source.display());
        fs::write(target.join(name), stripped(&fs::read_to_string(source)?))?;
    }
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}

/// Without indentation, empty lines, and comments that have lines of their own. No text of an asset goes over several lines.
fn stripped(source: &str) -> String {
    let mut text = String::new();
    let mut in_comment = false;
    for line in source.lines().map(str::trim) {
        let is_comment = in_comment || line.starts_with("/*");
        in_comment = is_comment && !line.ends_with("*/");
        if !is_comment && !line.is_empty() && !line.starts_with("//") {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}
