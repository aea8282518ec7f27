//! What a person sees while we work: one line a step, with the seconds it took.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// Prints steps and their times.
pub(crate) struct Progress {
    started: Instant,
    terminal: bool,
}

/// What is left of a command that ended.
pub(crate) struct Output {
    pub(crate) success: bool,
    pub(crate) lines: Vec<String>,
}

/// The last lines that a running command wrote.
type Lines = Arc<Mutex<VecDeque<String>>>;

impl Progress {
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), terminal: std::io::stderr().is_terminal() }
    }

    /// Seconds since the start, for a last line.
    pub(crate) fn elapsed_s(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Does one step that needs no other program.
    pub(crate) fn step<T>(&self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let outcome = work().with_context(|| format!("{name} failed"));
        self.end_line(name, started, outcome.is_ok());
        outcome
    }

    /// Runs `command` as one step. Its failure is an error.
    pub(crate) fn run(&self, name: &str, command: &mut Command) -> Result<()> {
        ensure!(self.watch(name, command)?.success, "{name} failed: {command:?}");
        Ok(())
    }

    /// Runs `command` as one step and returns what it wrote, which is printed too when it failed. Silence is no sign of
    /// life: a terminal sees the command's last line and the seconds, a log a line every 30 s.
    pub(crate) fn watch(&self, name: &str, command: &mut Command) -> Result<Output> {
        let started = Instant::now();
        let lines = Lines::default();
        let outcome = self.run_and_watch(name, command, started, &lines);
        let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        let success = matches!(&outcome, Ok(status) if status.success());
        self.end_line(name, started, success);
        if !success {
            lines.iter().for_each(|line| eprintln!("    {line}"));
        }
        outcome.map(|_status| Output { success, lines: lines.iter().cloned().collect() })
    }

    fn run_and_watch(
        &self,
        name: &str,
        command: &mut Command,
        started: Instant,
        lines: &Lines,
    ) -> Result<std::process::ExitStatus> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let (done, ended) = mpsc::channel();
        std::thread::scope(|scope| {
            if let Some(output) = child.stdout.take() {
                scope.spawn(|| read_lines(output, lines));
            }
            if let Some(output) = child.stderr.take() {
                scope.spawn(|| read_lines(output, lines));
            }
            scope.spawn(move || self.show_life(name, started, lines, &ended));
            let status = child.wait().context("cannot wait for it");
            drop(done);
            status
        })
    }

    fn show_life(&self, name: &str, started: Instant, lines: &Lines, ended: &mpsc::Receiver<()>) {
        let pause = if self.terminal { Duration::from_millis(500) } else { Duration::from_secs(30) };
        while ended.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
            let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            let last: String =
                lines.back().map(|line| line.trim().chars().take(50).collect()).unwrap_or_default();
            let line = format!("{:>7.1} s  … {name}: {last}", started.elapsed().as_secs_f64());
            if self.terminal {
                eprint!("\r\x1b[2K{line}");
            } else {
                eprintln!("{line}");
            }
            let _ = std::io::stderr().flush();
        }
    }

    fn end_line(&self, name: &str, started: Instant, success: bool) {
        let clear = if self.terminal { "\r\x1b[2K" } else { "" };
        let mark = if success { "✓" } else { "✗" };
        eprintln!("{clear}{:>7.1} s  {mark} {name}", started.elapsed().as_secs_f64());
    }
}

fn read_lines(output: impl Read, lines: &Lines) {
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
    }
}

const LINES_MAX: usize = 20_000;
