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
        "the store has format {found}, this fairgate knows {known}: use the newer fairgate that wrote it"
    )]
    NewerFormat { found: u64, known: u64 },
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
        Database::create(&path).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => OpenError::Locked { path: data_dir.display().to_string() },
            DatabaseError::Storage(StorageError::Io(source)) if !is_damage(&source) => unwritable(source),
            other => OpenError::Damaged { path: path.clone(), error: Box::new(other.into()) },
        })
    })
}

/// What is there can be read and is no database, or less of one than there was.
fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}

/// The file and how to open it again: after a failed write the database must be reopened.
pub(crate) struct Reopened {
    opener: Opener,
    format: u64,
    begin: Begin,
    database: Option<Database>,
}

/// Makes the tables of a new file.
pub(crate) type Begin = fn(&WriteTransaction) -> Result<(), redb::Error>;

impl Reopened {
    /// Opens a file whose format is at most `format`, which a new file gets.
    pub(crate) fn open(opener: Opener, format: u64, begin: Begin) -> Result<Self, OpenError> {
        let mut opened = Self { opener, format, begin, database: None };
        opened.database()?;
        Ok(opened)
    }

    pub(crate) fn database(&mut self) -> Result<&Database, OpenError> {
        let database = if let Some(database) = self.database.take() {
            database
        } else {
            let database = (self.opener)()?;
            check_format(&database, self.format, self.begin)?;
            database
        };
        Ok(self.database.insert(database))
    }

    /// Closes it, until it is next needed: a write has failed.
    pub(crate) fn close(&mut self) {
        self.database = None;
    }
}

/// A new file gets the format of this build; a newer one is left alone.
fn check_format(database: &Database, known: u64, begin: Begin) -> Result<(), OpenError> {
    let stored = || -> Result<Option<u64>, redb::Error> {
        let transaction = database.begin_read()?;
        match transaction.open_table(META) {
            Ok(table) => Ok(table.get(FORMAT_KEY)?.map(|format| format.value())),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    };
    match stored()? {
        Some(found) if found > known => Err(OpenError::NewerFormat { found, known }),
        Some(_) => Ok(()),
        None => Ok(write_format(database, known, begin)?),
    }
}

fn write_format(database: &Database, format: u64, begin: Begin) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    transaction.open_table(META)?.insert(FORMAT_KEY, format)?;
    begin(&transaction)?;
    transaction.commit()?;
    Ok(())
}

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const FORMAT_KEY: &str = "format";
