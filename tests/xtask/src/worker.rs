//! Builds the Worker: cargo, then the bindings, then one JavaScript module beside one WebAssembly module.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

use crate::progress::Progress;
use crate::{npm, tools, workspace};

/// Whether planted faults are compiled in, for tests that prove that they are noticed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Faults {
    None,
    Planted,
}

/// Builds the Worker and returns the directory that holds `worker.js`, `worker.wasm` and `workerd.capnp`: `target/edge`,
/// or `target/edge-plant` with planted faults.
pub(crate) fn build(progress: &Progress, faults: Faults) -> Result<PathBuf> {
    tools::wasm_target(progress)?;
    let edge = workspace::root().join("edge");
    npm::install(progress, &edge)?;

    let mut arguments =
        vec!["build", "--profile=worker", "--package=fairgate-edge", "--target", tools::WASM_TARGET];
    let bundle = match faults {
        Faults::None => workspace::target().join("edge"),
        Faults::Planted => {
            arguments.extend(["--features", "plant"]);
            workspace::target().join("edge-plant")
        }
    };
    progress.run("compile the Worker", &mut workspace::cargo(&arguments))?;
    let compiled = workspace::target().join(tools::WASM_TARGET).join("worker/fairgate_edge.wasm");

    let inputs =
        [compiled.clone(), edge.join("entry.js"), edge.join("workerd.capnp"), edge.join("package-lock.json")];
    let fingerprint = fingerprint(&inputs)?;
    let stamp = bundle.join("fingerprint");
    if fs::read_to_string(&stamp).is_ok_and(|built| built == fingerprint) {
        return Ok(bundle);
    }
    progress.step("bundle the Worker", || assemble(&compiled, &edge, &bundle, faults))?;
    fs::write(&stamp, fingerprint)?;
    Ok(bundle)
}

fn assemble(compiled: &Path, edge: &Path, bundle: &Path, faults: Faults) -> Result<()> {
    // Beside the bundle, not in it: `wrangler` uploads every module that it finds there.
    let stage = bundle.with_extension("stage");
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    fs::create_dir_all(&stage)?;
    fs::create_dir_all(bundle)?;
    Bindgen::new()
        .input_path(compiled)
        .out_name("bindings")
        .typescript(false)
        // Names of functions are a fifth of the bundle; a panic names its file and line without them.
        .remove_name_section(true)
        // What `entry.js` calls to start again after a panic.
        .reset_state_function(true)
        .web(true)?
        .generate(&stage)?;
    fs::copy(edge.join("entry.js"), stage.join("entry.js"))?;

    let output = Command::new(edge.join("node_modules/.bin/esbuild"))
        .current_dir(&stage)
        .args(["entry.js", "--bundle", "--format=esm", "--minify", "--log-level=warning"])
        .args(["--external:./worker.wasm", "--external:cloudflare:*", "--outfile=worker.js"])
        .output()
        .context("cannot start esbuild")?;
    ensure!(output.status.success(), "esbuild: {}", String::from_utf8_lossy(&output.stderr));
    fs::copy(stage.join("worker.js"), bundle.join("worker.js"))?;
    fs::copy(stage.join("bindings_bg.wasm"), bundle.join("worker.wasm"))?;
    fs::copy(edge.join("workerd.capnp"), bundle.join("workerd.capnp"))?;

    let bytes = gzipped_bytes(&bundle.join("worker.wasm"))? + gzipped_bytes(&bundle.join("worker.js"))?;
    eprintln!(
        "             the bundle is {} KB gzipped (at most {} KB)",
        bytes / 1000,
        BUNDLE_BYTES_MAX / 1000
    );
    // Faults are planted for tests only: nobody ships them.
    ensure!(faults == Faults::Planted || bytes <= BUNDLE_BYTES_MAX, "the bundle is too large");
    Ok(())
}

fn gzipped_bytes(file: &Path) -> Result<usize> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&fs::read(file)?)?;
    Ok(encoder.finish()?.len())
}

/// Tells whether anything changed since the last bundle. Not a checksum to rely on elsewhere.
fn fingerprint(files: &[PathBuf]) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for file in files {
        hasher.write(&fs::read(file).with_context(|| format!("cannot read {}", file.display()))?);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// A Worker starts on the first request that reaches a machine; a small one starts unnoticed.
const BUNDLE_BYTES_MAX: usize = 400_000;
