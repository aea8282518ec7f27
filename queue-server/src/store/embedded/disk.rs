//! The file: records of all rooms by event and key, and the version of their format.

use crate::{
    data_dir,
    store::{
        HostedRoom,
        keep::{Broken, Keep, Mandate, Records},
    },
};
use redb::{Database, DatabaseError, ReadableDatabase, StorageError, TableDefinition, TableError};
use shared::{
    ids::EventId,
    room::{Changes, RecordError, RecordKey, RecordValue, Room},
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// The file and how to open it again: after a failed write the database must be reopened.
pub(super) struct Disk {
    opener: Opener,
    database: Option<Database>,
}

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
        "the store has format {found}, this fairgate knows {FORMAT}: use the newer fairgate that wrote it"
    )]
    NewerFormat { found: u64 },
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

impl Disk {
    pub(super) fn open(opener: Opener) -> Result<Self, OpenError> {
        let mut disk = Self { opener, database: None };
        disk.database()?;
        Ok(disk)
    }

    fn database(&mut self) -> Result<&Database, OpenError> {
        let database = if let Some(database) = self.database.take() {
            database
        } else {
            let database = (self.opener)()?;
            check_format(&database)?;
            database
        };
        Ok(self.database.insert(database))
    }
}

impl Keep for Disk {
    type Error = OpenError;

    const FORGETS: bool = false;

    /// The lock on the file is the mandate.
    fn mandate(&self) -> Mandate {
        Mandate::Given { term: 0 }
    }

    fn read(&mut self, _term: u64, event: &EventId) -> Result<Records, OpenError> {
        let bytes = read_event(self.database()?, event).map_err(OpenError::from)?;
        let decode =
            |(key, value): &(Vec<u8>, Vec<u8>)| Ok((RecordKey::decode(key)?, RecordValue::decode(value)?));
        bytes.iter().map(decode).collect()
    }

    /// All or none. After an error the database is closed, and opened again when it is next needed.
    fn commit(
        &mut self,
        _term: u64,
        hosted: &[HostedRoom],
        rooms: &mut [Room],
    ) -> Result<(), Broken<OpenError>> {
        let events = hosted.iter().map(|hosted| &hosted.event);
        let changed: Vec<_> = events.zip(rooms.iter_mut().map(Room::take_changes)).collect();
        let committed = self.database().and_then(|database| write(database, &changed));
        committed.map_err(|error| {
            self.database = None;
            Broken::Undone(error)
        })
    }
}

/// A new file gets the format of this build; a newer one is left alone.
fn check_format(database: &Database) -> Result<(), OpenError> {
    let stored = || -> Result<Option<u64>, redb::Error> {
        let transaction = database.begin_read()?;
        match transaction.open_table(META) {
            Ok(table) => Ok(table.get(FORMAT_KEY)?.map(|format| format.value())),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    };
    match stored()? {
        Some(found) if found > FORMAT => Err(OpenError::NewerFormat { found }),
        Some(_) => Ok(()),
        None => Ok(begin(database)?),
    }
}

fn begin(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    transaction.open_table(META)?.insert(FORMAT_KEY, FORMAT)?;
    transaction.open_table(RECORDS)?;
    transaction.commit()?;
    Ok(())
}

type RecordBytes = Vec<(Vec<u8>, Vec<u8>)>;

fn read_event(database: &Database, event: &EventId) -> Result<RecordBytes, redb::Error> {
    let transaction = database.begin_read()?;
    let table = transaction.open_table(RECORDS)?;
    let mut records = Vec::new();
    for record in table.range((event.as_str(), [].as_slice())..)? {
        let (key, value) = record?;
        let (owner, key) = key.value();
        if owner != event.as_str() {
            break;
        }
        records.push((key.to_vec(), value.value().to_vec()));
    }
    Ok(records)
}

fn write(database: &Database, changed: &[(&EventId, Changes)]) -> Result<(), OpenError> {
    let transaction = database.begin_write().map_err(redb::Error::from)?;
    {
        let mut table = transaction.open_table(RECORDS).map_err(redb::Error::from)?;
        for (event, changes) in changed {
            for (key, value) in &changes.records {
                let key = key.encode()?;
                let key = (event.as_str(), key.as_slice());
                let stored = match value {
                    Some(value) => table.insert(key, value.encode()?.as_slice()).map(drop),
                    None => table.remove(key).map(drop),
                };
                stored.map_err(redb::Error::from)?;
            }
        }
    }
    transaction.commit().map_err(redb::Error::from)?;
    Ok(())
}

const RECORDS: TableDefinition<'_, (&str, &[u8]), &[u8]> = TableDefinition::new("records");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const FORMAT_KEY: &str = "format";
/// Raised when records of an older build can no longer be read as they are.
const FORMAT: u64 = 1;
