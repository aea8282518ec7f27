//! The same loop natively and as WebAssembly in Node.js, compiled as the Worker is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;
use wasm_bindgen_cli_support::Bindgen;

use super::Figure;
use super::limits::run;
use crate::progress::Progress;
use crate::{tools, workspace};

/// What one run of the loop says.
#[derive(Deserialize)]
struct Loop {
    /// Nanoseconds a check.
    ns: f64,
    passed: u64,
}

/// Compiles the loop and returns the script that runs it.
pub(super) fn build(progress: &Progress) -> Result<PathBuf> {
    tools::wasm_target(progress)?;
    tools::require("node", "install Node.js 18 or newer (https://nodejs.org)")?;
    let arguments = ["build", "--profile=worker", "--package=bench", "--lib", "--target", tools::WASM_TARGET];
    progress.run("compile the benchmark as WebAssembly", &mut workspace::cargo(&arguments))?;
    let compiled = workspace::target().join(tools::WASM_TARGET).join("worker/bench.wasm");
    let stage = workspace::target().join("bench-wasm");
    progress.step("bind it for Node.js", || {
        fs::create_dir_all(&stage)?;
        Bindgen::new().input_path(&compiled).typescript(false).nodejs(true)?.generate(&stage)?;
        let script = stage.join("run.cjs");
        fs::write(&script, SCRIPT)?;
        Ok(script)
    })
}

/// The time of a check as WebAssembly by its time natively, in turns.
pub(super) fn figure(script: &Path, rounds: usize) -> Result<Figure> {
    let native = workspace::target().join("release/bench");
    let (mut ratios, mut note) = (Vec::new(), String::new());
    for _ in 0..rounds {
        let native = time(Command::new(&native).args(["gcra-loop", LOOP_ROUNDS]))?;
        let wasm = time(Command::new("node").arg(script).arg(LOOP_ROUNDS))?;
        anyhow::ensure!(native.passed == wasm.passed, "the two do not decide alike");
        ratios.push(wasm.ns / native.ns);
        note = format!("last {:.0} ns against {:.0} ns", wasm.ns, native.ns);
    }
    Ok(Figure {
        name: "GCRA keyed, wasm (as the Worker) against native".to_owned(),
        unit: "ratio".to_owned(),
        at_most: Some(3.0),
        samples: ratios,
        note,
    })
}

fn time(command: &mut Command) -> Result<Loop> {
    serde_json::from_str(&run(command)?).context("the loop says something else")
}

/// Runs of the loop over all its keys in one sample.
const LOOP_ROUNDS: &str = "1000";

/// Like the native program: a quarter to warm up, then what is timed, on the processor.
const SCRIPT: &str = r#"
const { GcraLoop } = require("./bench.js");
const rounds = Number(process.argv[2]);
const gcra = new GcraLoop();
gcra.run(Math.ceil(rounds / 4));
const before = process.cpuUsage();
const passed = gcra.run(rounds);
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ ns: ((user + system) * 1000) / (rounds * 1000), passed }));
"#;
