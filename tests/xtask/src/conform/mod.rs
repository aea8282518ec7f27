//! `cargo xtask conform`: asks rate limiters, ours and other people's, what the vectors of `tests/conform` ask.

mod http;
mod peers;
mod stores;
mod wasm;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use conform::adapter::Adapter;
use conform::matrix::{Matrix, Run};
use conform::native;
use conform::reply::{Hello, Reply};
use conform::vector::Vector;
use conform::vectors;

use crate::progress::Progress;
use crate::tools;

/// Run the conformance suite for rate limiters and print who passes what
#[derive(Args)]
pub(crate) struct Options {
    /// Whom to ask
    #[arg(value_enum, required_unless_present = "program")]
    targets: Vec<Name>,
    /// Ask an adapter of your own too: a command that speaks the lines described in tests/conform/README.md
    #[arg(long, value_name = "COMMAND")]
    program: Vec<String>,
    /// Ask the vectors of these files instead of the suite's
    #[arg(long, value_name = "FILE")]
    vectors: Vec<PathBuf>,
    /// Print one line of JSON for each target and vector instead of tables
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print for the document: the tables, every finding, and what could not be asked
    #[arg(long)]
    markdown: bool,
}

/// A target, or several.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Everything
    All,
    /// What Fairgate is made of
    Ours,
    /// Other people's limiters
    Peers,
    /// The crate `shared`, natively
    Shared,
    /// `shared` in WebAssembly, in workerd
    Wasm,
    /// The limit service's store in its own process
    Process,
    /// The limit service over HTTP
    Http,
    /// Our Lua on Redis
    Redis,
    /// Our Lua on Valkey
    Valkey,
    Governor,
    Throttlecrab,
    RedisCell,
    Limitador,
    RateLimiterFlexible,
    ExpressRateLimit,
    Nginx,
}

const OURS: [Name; 5] = [Name::Shared, Name::Wasm, Name::Process, Name::Http, Name::Redis];
const PEERS: [Name; 7] = [
    Name::Governor,
    Name::Throttlecrab,
    Name::RedisCell,
    Name::Limitador,
    Name::RateLimiterFlexible,
    Name::ExpressRateLimit,
    Name::Nginx,
];

impl Name {
    /// The promises about which one of ours may refuse to be asked, because its configuration or its interface says so.
    const fn may_refuse(self) -> &'static [&'static str] {
        match self {
            // A Lua number holds no more.
            Self::Redis | Self::Valkey => &["beyond_2_53"],
            // Receipts give back whole what one check took; and nobody writes a policy, or changes one so, that nobody passes.
            Self::Http => &["refund", "never", "change"],
            _ => &[],
        }
    }
}

/// Asks, prints, and fails when one of ours or of `--program` is wrong, or when something could not be judged. Other
/// people's failures are findings.
pub(crate) fn run(progress: &Progress, options: &Options) -> Result<()> {
    let vectors = read_vectors(&options.vectors)?;
    let mut matrix = Matrix { vectors: &vectors, runs: Vec::new() };
    let mut wrong = Vec::new();
    for name in expanded(&options.targets) {
        let run = ask(progress, name, &vectors)?;
        let is_ours = OURS.contains(&name) || name == Name::Valkey;
        let is_right =
            if is_ours { run.not_whole(&vectors, name.may_refuse()).is_empty() } else { run.is_judged() };
        if !is_right {
            wrong.push(run.hello.target.clone());
        }
        matrix.runs.push(run);
    }
    for program in &options.program {
        let run = ask_adapter(shell(program), &vectors)?;
        if !run.is_right() {
            wrong.push(run.hello.target.clone());
        }
        matrix.runs.push(run);
    }
    print(&matrix, options);
    ensure!(wrong.is_empty(), "not everything is right: {}", wrong.join(", "));
    Ok(())
}

/// Asks ours, for the suite: the name of each, how many vectors passed, and what became of the others.
pub(crate) fn ours(progress: &Progress) -> Result<Vec<(String, u32, Vec<String>)>> {
    let vectors = vectors::suite();
    let asked = OURS.into_iter().map(|name| {
        let run = ask(progress, name, &vectors)?;
        let wrong = run.not_whole(&vectors, name.may_refuse());
        let passed = u32::try_from(vectors.len().saturating_sub(wrong.len()))?;
        Ok((run.hello.target, passed, wrong))
    });
    asked.collect()
}

fn ask(progress: &Progress, name: Name, vectors: &[Vector]) -> Result<Run> {
    let (hello, replies) = match name {
        Name::Shared | Name::All | Name::Ours | Name::Peers => {
            (own("shared"), vectors.iter().map(|vector| native::answer(&vector.case())).collect())
        }
        Name::Wasm => wasm::ask(progress, vectors)?,
        Name::Process => stores::ask_process(vectors)?,
        Name::Http => http::ask(vectors)?,
        Name::Redis => {
            tools::redis(progress)?;
            stores::ask_redis("redis-server", vectors)?
        }
        Name::Valkey => {
            tools::require("valkey-server", "install Valkey (https://valkey.io)")?;
            stores::ask_redis("valkey-server", vectors)?
        }
        peer => {
            let command = peers::prepare(progress, peer)?;
            return progress.step("ask it", || ask_adapter(command, vectors));
        }
    };
    Ok(Run::judged(hello, vectors, &replies))
}

fn ask_adapter(command: Command, vectors: &[Vector]) -> Result<Run> {
    let mut adapter = Adapter::start(command)?;
    let replies: Vec<Reply> = vectors.iter().map(|vector| adapter.answer(&vector.case())).collect();
    Ok(Run::judged(adapter.hello.clone(), vectors, &replies))
}

/// One of ours: every one counts in microseconds.
fn own(target: &str) -> Hello {
    Hello { target: target.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), resolution_us: 1 }
}

fn print(matrix: &Matrix<'_>, options: &Options) {
    if options.json {
        print!("{}", matrix.to_json_lines());
        return;
    }
    println!("{}{}", matrix.tables(), matrix.findings());
    if options.markdown {
        println!("{}", matrix.limits());
    }
}

fn expanded(names: &[Name]) -> Vec<Name> {
    let all = names.iter().flat_map(|name| match name {
        Name::All => OURS.iter().chain(&PEERS).copied().collect(),
        Name::Ours => OURS.to_vec(),
        Name::Peers => PEERS.to_vec(),
        one => vec![*one],
    });
    let mut each = Vec::new();
    for name in all {
        if !each.contains(&name) {
            each.push(name);
        }
    }
    each
}

fn read_vectors(files: &[PathBuf]) -> Result<Vec<Vector>> {
    if files.is_empty() {
        return Ok(vectors::suite());
    }
    let mut read = Vec::new();
    for file in files {
        let lines = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        read.extend(vectors::read(&file.display().to_string(), &lines));
    }
    Ok(read)
}

fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]);
    shell
}
