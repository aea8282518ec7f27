//! The file: records of all rooms by event and key, and the version of their format.

use crate::{
    database::{Layout, OpenError, Opener, Reopened},
    store::{
        HostedRoom,
        format::{FORMAT, StoredRecords, brought_forward},
        keep::{Broken, Frozen, Keep, Mandate, Records},
    },
};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableError, WriteTransaction};
use shared::{
    ids::EventId,
    room::{Changes, RecordKey, RecordValue, Room},
};
use std::collections::{BTreeMap, BTreeSet};

/// The file of the rooms.
pub(super) struct Disk(Reopened);

impl Disk {
    pub(super) fn open(opener: Opener) -> Result<Self, OpenError> {
        Reopened::open(opener, LAYOUT).map(Self)
    }

    /// As [`open`](Self::open), of a file that somebody takes for one of rooms: it is not made into one.
    pub(super) fn open_copy(opener: Opener) -> Result<Self, OpenError> {
        if !holds_records(&opener()?)? {
            return Err(OpenError::NoRooms);
        }
        Self::open(opener)
    }

    /// Keeps these rooms and no others.
    pub(super) fn replace(&mut self, rooms: &[(EventId, Records)]) -> Result<(), OpenError> {
        let transaction = self.0.database()?.begin_write().map_err(redb::Error::from)?;
        {
            let mut table = transaction.open_table(RECORDS).map_err(redb::Error::from)?;
            table.retain(|_, _| false).map_err(redb::Error::from)?;
            for (event, records) in rooms {
                for (key, value) in records {
                    let (key, value) = (key.encode()?, value.encode()?);
                    let put = table.insert((event.as_str(), key.as_slice()), value.as_slice()).map(drop);
                    put.map_err(redb::Error::from)?;
                }
            }
        }
        transaction.commit().map_err(redb::Error::from)?;
        Ok(())
    }

    /// The events of which something is kept, whether or not a configuration still names them.
    pub(super) fn events(&mut self) -> Result<BTreeSet<String>, OpenError> {
        let transaction = self.0.database()?.begin_read().map_err(redb::Error::from)?;
        let table = transaction.open_table(RECORDS).map_err(redb::Error::from)?;
        let mut events = BTreeSet::new();
        for record in table.iter().map_err(redb::Error::from)? {
            let (key, _) = record.map_err(redb::Error::from)?;
            events.insert(key.value().0.to_owned());
        }
        Ok(events)
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
        let bytes = read_event(self.0.database()?, event).map_err(OpenError::from)?;
        let decode =
            |(key, value): (&Vec<u8>, &Vec<u8>)| Ok((RecordKey::decode(key)?, RecordValue::decode(value)?));
        bytes.iter().map(decode).collect()
    }

    fn frozen(&mut self) -> Option<Frozen> {
        self.0.database().ok()?.begin_read().ok()
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
        let committed = self.0.database().and_then(|database| write(database, &changed));
        committed.map_err(|error| {
            self.0.close();
            Broken::Undone(error)
        })
    }
}

fn holds_records(database: &Database) -> Result<bool, redb::Error> {
    match database.begin_read()?.open_table(RECORDS) {
        Ok(_) => Ok(true),
        Err(TableError::TableDoesNotExist(_) | TableError::TableTypeMismatch { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn begin(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    transaction.open_table(RECORDS)?;
    Ok(())
}

/// Rewrites what an older build wrote, of every event, whether or not the configuration still names it.
fn bring_forward(transaction: &WriteTransaction, from: u64) -> Result<(), OpenError> {
    let mut events: BTreeMap<String, StoredRecords> = BTreeMap::new();
    let mut table = transaction.open_table(RECORDS).map_err(redb::Error::from)?;
    for record in table.iter().map_err(redb::Error::from)? {
        let (key, value) = record.map_err(redb::Error::from)?;
        let (event, key) = key.value();
        events.entry(event.to_owned()).or_default().insert(key.to_vec(), value.value().to_vec());
    }
    table.retain(|_, _| false).map_err(redb::Error::from)?;
    for (event, records) in events {
        for (key, value) in brought_forward(from, records)? {
            let inserted = table.insert((event.as_str(), key.as_slice()), value.as_slice()).map(drop);
            inserted.map_err(redb::Error::from)?;
        }
    }
    Ok(())
}

fn read_event(database: &Database, event: &EventId) -> Result<StoredRecords, redb::Error> {
    let transaction = database.begin_read()?;
    let table = transaction.open_table(RECORDS)?;
    let mut records = StoredRecords::new();
    for record in table.range((event.as_str(), [].as_slice())..)? {
        let (key, value) = record?;
        let (owner, key) = key.value();
        if owner != event.as_str() {
            break;
        }
        records.insert(key.to_vec(), value.value().to_vec());
    }
    Ok(records)
}

/// Puts all records of a file that was frozen into a new one; how many.
pub(super) fn copy(frozen: &Frozen, to: Opener) -> Result<u64, OpenError> {
    let mut copy = Disk::open(to)?;
    let from = frozen.open_table(RECORDS).map_err(redb::Error::from)?;
    let transaction = copy.0.database()?.begin_write().map_err(redb::Error::from)?;
    let mut table = transaction.open_table(RECORDS).map_err(redb::Error::from)?;
    let mut count = 0_u64;
    for record in from.iter().map_err(redb::Error::from)? {
        let (key, value) = record.map_err(redb::Error::from)?;
        table.insert(key.value(), value.value()).map_err(redb::Error::from)?;
        count = count.saturating_add(1);
    }
    drop(table);
    transaction.commit().map_err(redb::Error::from)?;
    Ok(count)
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
const LAYOUT: Layout = Layout { format: FORMAT, begin, bring_forward };
