//! A file of records that this process alone holds: opened where it is whole and of a known format, and opened again after a
//! write that failed. Rooms and limits have one each.

use crate::data_dir;
use redb::{
    Database, DatabaseError, ReadableDatabase, StorageError, TableDefinition, TableError, WriteTransaction,
};
use shared::room::RecordError;
use std::{
    io,
    path::{Path, PathBuf},
};
use tracing::info;

/// Opens the database of a store.
pub type Opener = Box<dyn Fn() -> Result<Database, OpenError> + Send>;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{path} is in use by another fairgate: stop it, or name another directory with --data-dir")]
    Locked { path: String },
    #[error("cannot write in {path}: {error}; name a directory of yours with --data-dir")]
    Unwritable { path: String, error: io::Error },
    #[error(
        "the store has format {found}, this fairgate knows 1 to {known}: start the newer fairgate that wrote it, or name another \
         directory with --data-dir; nothing was changed"
    )]
    ForeignFormat { found: u64, known: u64 },
    #[error("it holds no rooms")]
    NoRooms,
    #[error("the store cannot be read: {0}; restore it from a backup")]
    Record(#[from] RecordError),
    #[error(
        "the store of limits cannot be read; restore it from a backup, or remove limits.redb to forget its locks"
    )]
    Limits,
    #[error("{path} cannot be read: {error}; restore it from a backup", path = path.display())]
    Damaged { path: PathBuf, error: Box<redb::Error> },
    #[error("the store failed: {0}")]
    Database(Box<redb::Error>),
    #[error("the store's thread cannot be started: {0}")]
    Thread(io::Error),
}

// Not as a source: the message tells it already.
impl From<redb::Error> for OpenError {
    fn from(error: redb::Error) -> Self {
        Self::Database(Box::new(error))
    }
}

/// Opens a file in a directory, which is made where it is missing.
pub(crate) fn opener(data_dir: &Path, file_name: &str) -> Opener {
    let path = data_dir.join(file_name);
    let data_dir = data_dir.to_owned();
    Box::new(move || {
        let unwritable = |error| OpenError::Unwritable { path: data_dir.display().to_string(), error };
        data_dir::make(&data_dir).and_then(|()| data_dir::open(&path)).map_err(unwritable)?;
        Database::builder().set_cache_size(CACHE_BYTES).create(&path).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => OpenError::Locked { path: data_dir.display().to_string() },
            DatabaseError::Storage(StorageError::Io(source)) if !is_damage(&source) => unwritable(source),
            other => OpenError::Damaged { path: path.clone(), error: Box::new(other.into()) },
        })
    })
}

/// A file's pages in memory. What is asked lies in rooms and tables; the file is read when a process starts, and written from then on. More
/// would only fill up as the line grows.
const CACHE_BYTES: usize = 2 << 20;

/// What is there can be read and is no database, or less of one than there was.
fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}

/// The file and how to open it again: after a failed write the database must be reopened.
pub(crate) struct Reopened {
    opener: Opener,
    layout: Layout,
    database: Option<Database>,
}

/// How a file is laid out.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// Its version, which a new file gets. Raised when what an older build wrote can no longer be read as it is.
    pub(crate) format: u64,
    /// Makes the tables of a new file.
    pub(crate) begin: fn(&WriteTransaction) -> Result<(), redb::Error>,
    /// Brings what lies in an older format, from 1 on, forward to this one.
    pub(crate) bring_forward: fn(&WriteTransaction, u64) -> Result<(), OpenError>,
}

impl Reopened {
    /// Opens a file of this layout or an older one, or makes it.
    pub(crate) fn open(opener: Opener, layout: Layout) -> Result<Self, OpenError> {
        let mut opened = Self { opener, layout, database: None };
        opened.database()?;
        Ok(opened)
    }

    pub(crate) fn database(&mut self) -> Result<&Database, OpenError> {
        let database = if let Some(database) = self.database.take() {
            database
        } else {
            let database = (self.opener)()?;
            self.layout.settle(&database)?;
            database
        };
        Ok(self.database.insert(database))
    }

    /// Closes it, until it is next needed: a write has failed.
    pub(crate) fn close(&mut self) {
        self.database = None;
    }
}

impl Layout {
    /// A new file gets this layout, an older one is brought forward in one transaction, a foreign one is left alone.
    fn settle(self, database: &Database) -> Result<(), OpenError> {
        let found = stored_format(database)?;
        if found == Some(self.format) {
            return Ok(());
        }
        if let Some(found) = found.filter(|&found| found == 0 || found > self.format) {
            return Err(OpenError::ForeignFormat { found, known: self.format });
        }
        let transaction = database.begin_write().map_err(redb::Error::from)?;
        match found {
            None => (self.begin)(&transaction)?,
            Some(found) => {
                (self.bring_forward)(&transaction, found)?;
                info!(from = found, to = self.format, "the store was brought into the present format");
            }
        }
        let mut meta = transaction.open_table(META).map_err(redb::Error::from)?;
        meta.insert(FORMAT_KEY, self.format).map_err(redb::Error::from)?;
        drop(meta);
        transaction.commit().map_err(redb::Error::from)?;
        Ok(())
    }
}

fn stored_format(database: &Database) -> Result<Option<u64>, redb::Error> {
    let transaction = database.begin_read()?;
    match transaction.open_table(META) {
        Ok(table) => Ok(table.get(FORMAT_KEY)?.map(|format| format.value())),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const FORMAT_KEY: &str = "format";
