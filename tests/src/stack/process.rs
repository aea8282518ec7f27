//! A child process that never outlives its guard, nor the program that started it.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// One running part. It is killed when dropped; on Linux the kernel also kills it when this program dies in any way.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command`; what it prints goes to the end of the file `log`.
    pub fn start(name: &str, command: &Command, log: &Path) -> Result<Self> {
        let file = File::options().create(true).append(true).open(log);
        let file = file.with_context(|| format!("cannot write {}", log.display()))?;
        let program = command.get_program().to_string_lossy().into_owned();
        let mut command = dying_with_us(command);
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = spawn(command).with_context(|| format!("cannot start {name} ({program})"))?;
        Ok(Self { name: name.to_owned(), child, log: log.to_owned() })
    }

    /// Waits until `url` answers with success, at most `patience`.
    pub async fn wait_for(&mut self, url: &str, patience: Duration) -> Result<()> {
        let client = reqwest::Client::builder().timeout(ASK_TIMEOUT).build()?;
        let tries = patience.as_millis() / ASK_EVERY.as_millis();
        for _ in 0..tries {
            if let Some(status) = self.child.try_wait()? {
                anyhow::bail!("{} ended at its start ({status}):\n{}", self.name, self.log_tail());
            }
            if client.get(url).send().await.is_ok_and(|reply| reply.status().is_success()) {
                return Ok(());
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        anyhow::bail!("{} did not answer at {url} within {patience:?}:\n{}", self.name, self.log_tail());
    }

    /// Stops it where it stands (`SIGSTOP`): connections stay open, nothing answers.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on after [`Process::pause`].
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Ends it at this instant (`SIGKILL`), as a crash would, and waits until it is gone.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end (`SIGTERM`), and waits until it has.
    pub async fn stop(mut self, patience: Duration) -> Result<()> {
        self.signal(Signal::TERM)?;
        let asked = Instant::now();
        while self.child.try_wait()?.is_none() {
            anyhow::ensure!(asked.elapsed() < patience, "{} does not end:\n{}", self.name, self.log_tail());
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Lets no file of its grow, as a full disk does (util-linux' `prlimit`), or lets them grow again.
    pub fn limit_files(&self, is_full: bool) -> Result<()> {
        let limit = if is_full { "--fsize=1:" } else { "--fsize=unlimited:" };
        let status = Command::new("prlimit").args(["--pid", &self.child.id().to_string(), limit]).status();
        let status = status.context("cannot run `prlimit`, of util-linux")?;
        anyhow::ensure!(status.success(), "cannot limit the files of {}", self.name);
        Ok(())
    }

    /// Bytes of memory that it has in use, as Linux tells it.
    pub fn memory_bytes(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kb = line.and_then(|line| line.split_whitespace().next()).context("no size is told")?;
        Ok(kb.parse::<u64>()?.saturating_mul(1_024))
    }

    /// Fails, with the end of what it printed, when it has ended by itself.
    pub fn check_alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => anyhow::bail!("{} ended by itself ({status}):\n{}", self.name, self.log_tail()),
        }
    }

    /// The end of what it printed.
    pub fn log_tail(&self) -> String {
        tail(&self.log)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let sent = kill_process(Pid::from_child(&self.child), signal);
        sent.with_context(|| format!("cannot signal {}", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// The last lines of a log file.
pub(super) fn tail(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// The same command, but for its input and outputs. Where there is util-linux' `setpriv`, it gets `SIGKILL` when the thread that
/// starts it dies.
pub fn dying_with_us(command: &Command) -> Command {
    let program = command.get_program();
    let mut same = if cfg!(target_os = "linux") && Path::new(SETPRIV).exists() {
        let mut wrapped = Command::new(SETPRIV);
        wrapped.args(["--pdeathsig", "KILL", "--"]).arg(program);
        wrapped
    } else {
        Command::new(program)
    };
    same.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => same.env(name, value),
            None => same.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        same.current_dir(directory);
    }
    same
}

/// Starts a child from a thread that lives as long as the program: the kernel counts the death of the starting thread.
fn spawn(command: Command) -> io::Result<Child> {
    type Order = (Command, Sender<io::Result<Child>>);
    static ORDERS: OnceLock<Sender<Order>> = OnceLock::new();
    let orders = ORDERS.get_or_init(|| {
        let (orders, received): (Sender<Order>, Receiver<Order>) = channel();
        std::thread::spawn(move || {
            for (mut command, reply) in received {
                let _ = reply.send(command.spawn());
            }
        });
        orders
    });
    let (reply, child) = channel();
    orders.send((command, reply)).map_err(io::Error::other)?;
    child.recv().map_err(io::Error::other)?
}

const SETPRIV: &str = "/usr/bin/setpriv";
const ASK_EVERY: Duration = Duration::from_millis(50);
const LOOK_EVERY: Duration = Duration::from_millis(10);
const ASK_TIMEOUT: Duration = Duration::from_secs(2);
const TAIL_LINES: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::run_dir::RunDir;

    fn shell(dir: &RunDir, script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::start("a shell", &command, &dir.path().join("shell.log")).unwrap()
    }

    #[tokio::test]
    async fn an_early_end_is_told_with_the_log() {
        let dir = RunDir::create("process").unwrap();
        let mut process = shell(&dir, "echo out of luck; exit 3");
        let told = process.wait_for("http://127.0.0.1:9/", Duration::from_secs(20)).await;
        let told = told.unwrap_err().to_string();
        assert!(told.contains("out of luck") && told.contains("exit status: 3"), "{told}");
    }

    #[test]
    fn dropping_the_guard_kills() {
        let dir = RunDir::create("process").unwrap();
        let process = shell(&dir, "exec sleep 600");
        let pid = Pid::from_child(&process.child);
        assert!(rustix::process::test_kill_process(pid).is_ok());
        drop(process);
        assert!(rustix::process::test_kill_process(pid).is_err());
    }
}
