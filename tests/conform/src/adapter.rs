//! Somebody else's limiter, behind a program that speaks JSON lines.

use crate::reply::{Hello, Reply};
use crate::vector::Case;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// A running adapter. It is killed when dropped.
#[derive(Debug)]
pub struct Adapter {
    pub hello: Hello,
    child: Child,
    input: ChildStdin,
    lines: Receiver<std::io::Result<String>>,
}

impl Adapter {
    /// Starts `command` and reads its first line; what it writes to its error output is shown as it is.
    pub fn start(mut command: Command) -> Result<Self> {
        let name = command.get_program().display().to_string();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start the adapter {name}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("the adapter {name} has no pipes");
        };
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let hello = Hello { target: name, version: String::new(), resolution_us: 1 };
        let mut adapter = Self { hello, child, input, lines };
        let first = adapter.line()?;
        adapter.hello = serde_json::from_str(&first).with_context(|| format!("no first line: {first}"))?;
        Ok(adapter)
    }

    /// What it says to a case. An adapter that says nothing, or nothing that is a reply, is ended: a late line of its would
    /// be taken for the reply to another case.
    pub fn answer(&mut self, case: &Case) -> Reply {
        self.ask(case).unwrap_or_else(|error| {
            let _ = self.child.kill();
            Reply::Broken(format!("{error:#}"))
        })
    }

    fn ask(&mut self, case: &Case) -> Result<Reply> {
        let mut line = serde_json::to_string(case)?;
        line.push('\n');
        self.input.write_all(line.as_bytes()).context("the adapter takes no more")?;
        let line = self.line()?;
        serde_json::from_str(&line).with_context(|| format!("no reply: {line}"))
    }

    fn line(&self) -> Result<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Ok(line?),
            Err(RecvTimeoutError::Timeout) => {
                bail!("the adapter {} said nothing in {PATIENCE:?}", self.hello.target)
            }
            Err(RecvTimeoutError::Disconnected) => bail!("the adapter {} ended", self.hello.target),
        }
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// For one case, and for the start.
const PATIENCE: Duration = Duration::from_secs(30);
