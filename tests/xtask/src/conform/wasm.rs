//! `shared` in WebAssembly, in the runtime that the edge runs in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use conform::reply::{Hello, Reply};
use conform::vector::Vector;
use tests::stack::free_addresses;
use tests::stack::process::Process;
use tests::stack::programs::workerd;
use tests::stack::run_dir::RunDir;
use wasm_bindgen_cli_support::Bindgen;

use crate::progress::Progress;
use crate::{npm, tools, workspace};

/// Builds the suite's Worker, starts it, and asks it everything at once.
pub(super) fn ask(progress: &Progress, vectors: &[Vector]) -> Result<(Hello, Vec<Reply>)> {
    let bundle = build(progress)?;
    let cases: Vec<String> =
        vectors.iter().map(|vector| serde_json::to_string(&vector.case())).collect::<Result<_, _>>()?;
    let answers = tokio::runtime::Runtime::new()?.block_on(post(&bundle, cases.join("\n")))?;
    let reply = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| Reply::Broken(line.to_owned()));
    Ok((super::own("wasm"), answers.lines().map(reply).collect()))
}

fn build(progress: &Progress) -> Result<PathBuf> {
    tools::wasm_target(progress)?;
    // The runtime is the edge's.
    npm::install(progress, &workspace::root().join("edge"))?;
    let mut cargo =
        workspace::cargo(&["rustc", "--profile=worker", "--package=conform", "--lib", "--features=worker"]);
    cargo.args(["--crate-type=cdylib", "--target", tools::WASM_TARGET]);
    progress.run("compile the suite's Worker", &mut cargo)?;
    let compiled = workspace::target().join(tools::WASM_TARGET).join("worker/conform.wasm");
    let bundle = workspace::target().join("conform");
    progress.step("bundle the suite's Worker", || assemble(&compiled, &bundle))?;
    Ok(bundle)
}

fn assemble(compiled: &Path, bundle: &Path) -> Result<()> {
    fs::create_dir_all(bundle)?;
    Bindgen::new().input_path(compiled).out_name("bindings").typescript(false).web(true)?.generate(bundle)?;
    for file in ["entry.js", "workerd.capnp"] {
        let source = workspace::root().join("tests/conform/worker").join(file);
        fs::copy(&source, bundle.join(file)).with_context(|| format!("cannot copy {}", source.display()))?;
    }
    Ok(())
}

async fn post(bundle: &Path, cases: String) -> Result<String> {
    let dir = RunDir::create("conform")?;
    let [address] = free_addresses()?;
    let mut command = Command::new(workerd()?);
    command.arg("serve").arg(bundle.join("workerd.capnp")).arg(format!("--socket-addr=http={address}"));
    let mut worker = Process::start("the suite's Worker", &command, &dir.path().join("worker.log"))?;
    let url = format!("http://{address}/");
    worker.wait_for(&url, PATIENCE).await?;
    let client = reqwest::Client::builder().timeout(PATIENCE).build()?;
    let reply = client.post(&url).body(cases).send().await?;
    let reply = reply.error_for_status().with_context(|| worker.log_tail())?;
    Ok(reply.text().await?)
}

const PATIENCE: Duration = Duration::from_secs(30);
