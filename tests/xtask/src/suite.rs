//! `cargo xtask test`: every check and every test, counted.

use anyhow::{Result, ensure};

use crate::progress::{Output, Progress};
use crate::worker::Faults;
use crate::{conform, npm, server, tools, worker, workspace};

/// Runs everything, in order of cost, goes on after a failure, and prints how many passed and failed.
pub(crate) fn run(progress: &Progress) -> Result<()> {
    let mut count = Count::default();
    tools::wasm_target(progress)?;
    tools::components(progress)?;
    for (name, arguments) in CHECKS {
        let mut cargo = workspace::cargo(arguments);
        cargo.env("RUSTDOCFLAGS", "-Dwarnings");
        let success = progress.watch(name, &mut cargo)?.success;
        count.add(name, u32::from(success), u32::from(!success));
    }
    if let Err(error) = prepare(progress) {
        eprintln!("    {error:#}");
        count.add("what the end-to-end tests need", 0, 1);
    }
    count.add_tests(&progress.watch("tests", &mut workspace::cargo(TESTS))?);
    count.add_conformance(conform::ours(progress));
    let simulated = progress.watch("planted faults in the simulator", &mut workspace::cargo(PLANTS))?;
    count.add_tests(&simulated);
    count.report(progress)
}

/// Builds and installs what the end-to-end tests start.
fn prepare(progress: &Progress) -> Result<()> {
    tools::chromium(progress)?;
    tools::redis(progress)?;
    npm::install(progress, &workspace::root().join("tests"))?;
    for faults in [Faults::Planted, Faults::None] {
        worker::build(progress, faults)?;
        server::build(progress, faults)?;
    }
    Ok(())
}

/// Names the whole workspace wherever that is possible, so that the dependencies are compiled with one set of features. Clippy
/// under the Worker's profile shares what was compiled for the bundle.
const CHECKS: [(&str, &[&str]); 9] = [
    ("format", &["fmt", "--all", "--check"]),
    ("clippy", &["clippy", "--workspace", NO_EDGE, ZONES, "--all-targets", "--", "-Dwarnings"]),
    (
        "clippy, planted faults",
        &["clippy", "--workspace", NO_EDGE, PLANT, "--all-targets", "--", "-Dwarnings"],
    ),
    ("clippy, wasm32", &["clippy", AS_WORKER, SHARED, EDGE, WASM, "--", "-Dwarnings"]),
    (
        "clippy, wasm32, planted faults",
        &["clippy", AS_WORKER, EDGE, WASM, "--features=plant", "--", "-Dwarnings"],
    ),
    ("shared alone", &["check", SHARED, "--no-default-features"]),
    ("shared alone, planted faults", &["check", SHARED, "--no-default-features", "--features=plant"]),
    ("shared alone, time zones", &["check", SHARED, "--no-default-features", "--features=zones"]),
    ("documentation", &["doc", "--workspace", NO_EDGE, ZONES, "--no-deps", "--lib"]),
];

const SHARED: &str = "--package=fairgate-shared";
const EDGE: &str = "--package=fairgate-edge";
const NO_EDGE: &str = "--exclude=fairgate-edge";
const ZONES: &str = "--features=fairgate-shared/zones";
const PLANT: &str = "--features=fairgate-shared/plant,fairgate-queue-server/plant";
const AS_WORKER: &str = "--profile=worker";
const WASM: &str = "--target=wasm32-unknown-unknown";
const PLANTS: &[&str] = &["test", "--package=simulator", "--features=plant", "--test=plants"];
const TESTS: &[&str] = &["test", "--workspace", NO_EDGE, ZONES, "--no-fail-fast"];

/// What passed and what did not.
#[derive(Default)]
struct Count {
    passed: u32,
    failed: u32,
    failures: Vec<String>,
}

impl Count {
    fn add(&mut self, name: &str, passed: u32, failed: u32) {
        self.passed += passed;
        self.failed += failed;
        if failed > 0 {
            self.failures.push(name.to_owned());
        }
    }

    /// Adds up what the test programs of one `cargo test` said about themselves.
    fn add_tests(&mut self, output: &Output) {
        let failed_before = self.failed;
        for line in &output.lines {
            if let Some((passed, failed)) = test_result(line) {
                self.add("tests", passed, failed);
            }
            if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
                self.failures.push(format!("  {name}"));
            }
        }
        // A test program that did not compile or crashed says nothing.
        if !output.success && self.failed == failed_before {
            self.add("tests", 0, 1);
        }
    }

    /// Adds up which vectors each of our limiters keeps; every one is a test.
    fn add_conformance(&mut self, asked: Result<Vec<(String, u32, Vec<String>)>>) {
        match asked {
            Err(error) => {
                eprintln!("    {error:#}");
                self.add("conformance", 0, 1);
            }
            Ok(runs) => {
                for (target, passed, wrong) in runs {
                    let failed = u32::try_from(wrong.len()).unwrap_or(u32::MAX);
                    self.add(&format!("conformance of {target}"), passed, failed);
                    self.failures.extend(wrong.into_iter().map(|vector| format!("  {vector}")));
                }
            }
        }
    }

    fn report(mut self, progress: &Progress) -> Result<()> {
        self.failures.dedup();
        for failure in &self.failures {
            eprintln!("failed: {failure}");
        }
        eprintln!("{:.0} s in all", progress.elapsed_s());
        println!("{} passed, {} failed", self.passed, self.failed);
        ensure!(self.failed == 0, "not everything passed");
        Ok(())
    }
}

/// Reads `test result: ok. 3 passed; 0 failed; 0 ignored; …`.
fn test_result(line: &str) -> Option<(u32, u32)> {
    let (_verdict, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let number =
        |word: &str| counts.split("; ").find_map(|part| part.strip_suffix(word)?.trim().parse().ok());
    Some((number("passed")?, number("failed")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(success: bool, lines: &[&str]) -> (u32, u32, Vec<String>) {
        let mut count = Count::default();
        let lines = lines.iter().map(ToString::to_string).collect();
        count.add_tests(&Output { success, lines });
        (count.passed, count.failed, count.failures)
    }

    #[test]
    fn results_of_several_programs_add_up() {
        let first =
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        let second = "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s";
        assert_eq!(count(true, &[first, "noise", first]), (6, 0, vec![]));
        let (passed, failed, failures) = count(false, &[first, "test room::door ... FAILED", second]);
        assert_eq!((passed, failed), (4, 2));
        assert_eq!(failures, ["  room::door", "tests"]);
    }

    #[test]
    fn a_vector_that_is_not_kept_is_a_failure() {
        let mut count = Count::default();
        count.add_conformance(Ok(vec![
            ("shared".to_owned(), 3, vec![]),
            ("wasm".to_owned(), 2, vec!["x".to_owned()]),
        ]));
        count.add_conformance(Err(anyhow::anyhow!("no runtime")));
        assert_eq!((count.passed, count.failed), (5, 2));
        assert_eq!(count.failures, ["conformance of wasm", "  x", "conformance"]);
    }

    #[test]
    fn a_program_that_says_nothing_counts_as_a_failure() {
        assert_eq!(count(false, &["error: could not compile"]), (0, 1, vec!["tests".to_owned()]));
    }
}
