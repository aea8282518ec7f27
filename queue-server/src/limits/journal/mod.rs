//! What of the limits outlives the process: locks, day and month quotas, and the shops' overrides, in one file.
//!
//! One thread makes whatever waits durable in one transaction. Whoever writes decides whether an answer waits for that.

mod disk;

use crate::{
    clock::Clock,
    database::{OpenError, Opener, opener},
};
use disk::Disk;
use shared::limiter::{Record, key::KeyHash};
use std::{
    path::Path,
    sync::{Mutex, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};
use tokio::sync::{mpsc, oneshot};
use tracing::{error, info};

/// The file's one writer. Its thread ends when this is dropped.
pub struct Journal {
    queue: mpsc::Sender<Message>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// One thing to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Keep(Record),
    Forget(KeyHash),
    Override(Override),
}

/// A shop's own settings of a policy as they are written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    pub shop: String,
    pub policy: String,
    /// `None`: the shop has what the configuration says.
    pub text: Option<String>,
}

/// What the file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub records: Vec<Record>,
    pub overrides: Vec<Override>,
}

/// A change is not durable, and nobody knows whether it will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the change could not be made durable")]
pub struct NotDurable;

/// Ends when what was queued is durable.
pub struct Pending(oneshot::Receiver<()>);

enum Message {
    Write { changes: Vec<Change>, done: oneshot::Sender<()> },
    Close,
}

/// Writes that wait for the thread, and the most in one transaction.
const QUEUE_MAX: usize = 8_192;
const BATCH_MAX: usize = 512;

/// Changes that are kept for a disk that fails: about 10 MB.
const BACKLOG_MAX: usize = 65_536;

/// Time between two looks for records that are no longer needed.
const SWEEP_EVERY: Duration = Duration::from_secs(10);

impl Journal {
    /// Opens `limits.redb` in a directory, which is made where it is missing, and tells what it holds.
    pub fn open(data_dir: &Path, clock: Clock) -> Result<(Self, Written), OpenError> {
        Self::open_with(opener(data_dir, "limits.redb"), clock)
    }

    /// As [`open`](Self::open), with a database of the caller's.
    pub fn open_with(opener: Opener, clock: Clock) -> Result<(Self, Written), OpenError> {
        let mut disk = Disk::open(opener)?;
        let written = disk.read()?;
        let (queue, messages) = mpsc::channel(QUEUE_MAX);
        let writer = std::thread::Builder::new()
            .name("fairgate-limits".to_owned())
            .spawn(move || run(disk, messages, &clock))
            .map_err(OpenError::Thread)?;
        Ok((Self { queue, writer: Mutex::new(Some(writer)) }, written))
    }

    /// Queues changes at once, in the order of the calls. No changes are durable at once.
    pub fn write(&self, changes: Vec<Change>) -> Pending {
        let (done, pending) = oneshot::channel();
        if changes.is_empty() {
            let _ = done.send(());
        } else {
            // A queue that is full or closed drops `done`, which says that it is not durable.
            let _ = self.queue.try_send(Message::Write { changes, done });
        }
        Pending(pending)
    }

    /// Makes everything durable and ends the thread.
    pub async fn close(&self) {
        let _ = self.queue.send(Message::Close).await;
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            let _ = tokio::task::spawn_blocking(|| writer.join()).await;
        }
    }
}

impl Pending {
    pub async fn durable(self) -> Result<(), NotDurable> {
        self.0.await.map_err(|_| NotDurable)
    }
}

fn run(mut disk: Disk, mut queue: mpsc::Receiver<Message>, clock: &Clock) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    // What the disk did not take, in its order; it goes with the next commit.
    let mut backlog: Vec<Change> = Vec::new();
    let mut swept_at = Instant::now();
    while queue.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
        let was_failing = !backlog.is_empty();
        let (mut changes, mut waiting, mut is_last) = (std::mem::take(&mut backlog), Vec::new(), false);
        for message in batch.drain(..) {
            match message {
                Message::Write { changes: more, done } => {
                    changes.extend(more);
                    waiting.push(done);
                }
                Message::Close => is_last = true,
            }
        }
        match disk.commit(&changes) {
            Ok(()) => {
                if was_failing {
                    info!("locks and long quotas are durable again");
                }
                for done in waiting {
                    // Nobody listens any more where the client has gone away.
                    let _ = done.send(());
                }
            }
            Err(error) => {
                if !was_failing {
                    error!(%error, "locks and long quotas are kept in memory only: a crash would forget them");
                }
                // Whoever told an override is told that it failed, so it must not come true later.
                changes.retain(|change| !matches!(change, Change::Override(_)));
                // Where there is no room for all, the newest stay.
                changes.drain(..changes.len().saturating_sub(BACKLOG_MAX));
                backlog = changes;
            }
        }
        if is_last {
            return;
        }
        if swept_at.elapsed() >= SWEEP_EVERY {
            swept_at = Instant::now();
            // What could not be swept now is found later.
            let _ = disk.sweep(clock.now());
        }
    }
}
