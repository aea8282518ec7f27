//! Rooms in the memory of this process, their records durable in one file: the default, with nothing to install.
//!
//! One writer thread takes operations in batches, applies them in order, and makes the batch durable in one transaction. An
//! answer that tells of changes which must not be lost leaves after that; so does every later answer of the same room.

mod disk;
mod restored;

use super::{
    keep::{Frozen, Keep, Records},
    kept::{HostedRoom, KeptRoom, WriterThread},
    writer::{Message, Writer},
};
use crate::{
    clock::Clock,
    database::{OpenError, Opener, opener},
};
use disk::{Disk, copy};
pub(crate) use restored::Restored;
use shared::ids::EventId;
use std::{fs, io, path::Path, sync::Arc};
use tokio::sync::{mpsc, oneshot};

/// The store of one data directory.
pub struct EmbeddedStore(WriterThread);

impl EmbeddedStore {
    /// Opens the store of `data_dir` and brings back its rooms, or begins a new one.
    pub fn open(data_dir: &Path, rooms: Vec<HostedRoom>, clock: Clock) -> Result<Self, OpenError> {
        Self::open_with(opener(data_dir, FILE_NAME), rooms, clock)
    }

    /// As [`open`](Self::open), with a database of the caller's.
    pub fn open_with(opener: Opener, rooms: Vec<HostedRoom>, clock: Clock) -> Result<Self, OpenError> {
        let events = rooms.iter().map(|room| room.event.clone()).collect();
        let writer = Writer::start(Disk::open(opener)?, rooms, clock)?;
        Ok(Self(WriterThread::spawn(writer, events).map_err(OpenError::Thread)?))
    }

    /// The room of an event that was named at the opening.
    pub fn room(&self, event: &EventId) -> Option<Arc<KeptRoom>> {
        self.0.room(event)
    }

    /// For copies of it while it runs.
    pub(crate) fn freezer(&self) -> Freezer {
        Freezer(self.0.queue().clone())
    }

    /// Makes everything durable and ends the writer. Later operations are `Unavailable`.
    pub async fn close(self) {
        self.0.end(Message::Close).await;
    }

    /// Ends the writer as a crash would: what no answer waited for is lost. For tests.
    pub async fn crash(self) {
        self.0.end(Message::Crash).await;
    }
}

/// Freezes the file of a running store.
#[derive(Clone)]
pub(crate) struct Freezer(mpsc::Sender<Message>);

impl Freezer {
    /// What is durable now; `None`: the writer has ended or its disk fails. Not for a task: it waits.
    pub(crate) fn freeze(&self) -> Option<Frozen> {
        let (frozen, wait) = oneshot::channel();
        self.0.blocking_send(Message::Freeze(frozen)).ok()?;
        wait.blocking_recv().ok().flatten()
    }
}

/// Copies what was frozen into a new file, which is there whole or not at all; how many records.
pub(crate) fn copy_of_frozen(frozen: &Frozen, to: &Path) -> Result<u64, OpenError> {
    let unwritable = |error| OpenError::Unwritable { path: to.display().to_string(), error };
    let (Some(dir), Some(name)) = (to.parent(), to.file_name()) else {
        return Err(unwritable(io::ErrorKind::InvalidInput.into()));
    };
    let partial = format!("{}.partial", name.to_string_lossy());
    // What an earlier try has left is no copy.
    let _ = fs::remove_file(dir.join(&partial));
    let records = copy(frozen, opener(dir, &partial))?;
    fs::rename(dir.join(partial), to).map_err(unwritable)?;
    Ok(records)
}

/// As [`copy_of_frozen`], of a data directory whose owner is the caller.
pub(crate) fn copy_of_stopped(data_dir: &Path, to: &Path) -> Result<u64, OpenError> {
    // What is frozen can be read as long as its file is open.
    let mut disk = Disk::open(opener(data_dir, FILE_NAME))?;
    let frozen = disk.frozen();
    let failed =
        || OpenError::Unwritable { path: data_dir.display().to_string(), error: io::ErrorKind::Other.into() };
    copy_of_frozen(&frozen.ok_or_else(failed)?, to)
}

/// What a data directory keeps of one room; its owner holds the directory.
pub(crate) fn embedded_records(data_dir: &Path, event: &EventId) -> Result<Records, OpenError> {
    if !data_dir.join(FILE_NAME).exists() {
        return Ok(Records::new());
    }
    Disk::open(opener(data_dir, FILE_NAME))?.read(0, event)
}

/// Leaves the file under another name, after its rooms have moved.
pub(crate) fn set_aside(data_dir: &Path) -> io::Result<()> {
    fs::rename(data_dir.join(FILE_NAME), data_dir.join(MOVED_NAME))
}

const FILE_NAME: &str = "rooms.redb";
const MOVED_NAME: &str = "rooms.moved.redb";
