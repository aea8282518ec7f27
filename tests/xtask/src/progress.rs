//! What a person sees while we work: one line a step, with the seconds it took.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use ::tests::stack::process::dying_with_us;
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

    /// Waits for one step.
    pub(crate) async fn step_async<T>(&self, name: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        let started = Instant::now();
        let outcome = work.await;
        self.end_line(name, started, outcome.is_ok());
        outcome
    }

    /// Runs `command` as one step. Its failure is an error.
    pub(crate) fn run(&self, name: &str, command: &mut Command) -> Result<()> {
        let output = self.watch(name, command)?;
        let advice =
            if offline(&output.lines) { "; is there a network, and is the registry reached?" } else { "" };
        ensure!(output.success, "{name} failed ({}){advice}", shown(command));
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
        // A build shall not go on when we are told to stop.
        let mut child = dying_with_us(command)
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

/// The command as a person would type it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Whether a command failed for want of a network.
fn offline(lines: &[String]) -> bool {
    lines.iter().any(|line| OFFLINE.iter().any(|sign| line.contains(sign)))
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

/// What cargo, npm, rustup and apt-get say then.
const OFFLINE: [&str; 9] = [
    "Could not resolve host",
    "Couldn't resolve host",
    "Could not connect",
    "failed to download",
    "could not download",
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "Temporary failure resolving",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_failure_names_the_command_and_a_missing_network() {
        let progress = Progress::start();
        assert!(progress.run("say", &mut shell("echo hello")).is_ok());
        let plain = progress.run("say", &mut shell("exit 3")).unwrap_err().to_string();
        assert_eq!(plain, "say failed (sh -c exit 3)");
        let offline = progress.run("say", &mut shell("echo EAI_AGAIN >&2; false")).unwrap_err().to_string();
        assert!(offline.contains("is there a network"), "{offline}");
    }

    #[test]
    fn both_outputs_are_kept_and_bounded() {
        let progress = Progress::start();
        let mut both = progress.watch("say", &mut shell("echo one >&2; echo two")).unwrap().lines;
        both.sort();
        assert_eq!(both, ["one", "two"]);

        let output = progress.watch("count", &mut shell(&format!("seq {}", LINES_MAX + 1))).unwrap();
        assert_eq!(output.lines.len(), LINES_MAX);
        assert_eq!(output.lines.last().map(String::as_str), Some((LINES_MAX + 1).to_string().as_str()));
    }
}
