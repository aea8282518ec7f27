//! The file of the limits: records by key, and the shops' overrides by shop and policy.

use super::{Change, Override, Written};
use crate::database::{Layout, OpenError, Opener, Reopened};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};
use shared::{
    limiter::{Record, key::KeyHash},
    time::Timestamp,
};

/// The file of the limits.
pub(super) struct Disk {
    file: Reopened,
    /// Where the search for records that have recovered goes on.
    swept_to: [u8; 16],
}

impl Disk {
    pub(super) fn open(opener: Opener) -> Result<Self, OpenError> {
        Ok(Self { file: Reopened::open(opener, LAYOUT)?, swept_to: [0; 16] })
    }

    /// Everything that is durable.
    pub(super) fn read(&mut self) -> Result<Written, OpenError> {
        let transaction = self.file.database()?.begin_read().map_err(redb::Error::from)?;
        let mut written = Written::default();
        for entry in
            transaction.open_table(RECORDS).map_err(redb::Error::from)?.iter().map_err(redb::Error::from)?
        {
            let (_, record) = entry.map_err(redb::Error::from)?;
            written.records.push(Record::from_bytes(record.value()).map_err(|_| OpenError::Limits)?);
        }
        let overrides = transaction.open_table(OVERRIDES).map_err(redb::Error::from)?;
        for entry in overrides.iter().map_err(redb::Error::from)? {
            let (key, text) = entry.map_err(redb::Error::from)?;
            let (shop, policy) = key.value();
            let (shop, policy, text) = (shop.to_owned(), policy.to_owned(), Some(text.value().to_owned()));
            written.overrides.push(Override { shop, policy, text });
        }
        Ok(written)
    }

    /// Makes changes durable, all or none. After an error the database is closed, and opened again when it is next needed.
    pub(super) fn commit(&mut self, changes: &[Change]) -> Result<(), OpenError> {
        let committed = self.file.database().and_then(|database| write(database, changes));
        if committed.is_err() {
            self.file.close();
        }
        committed
    }

    /// Looks at some records and drops those that decide like new ones by `now`. The next call looks at the following ones.
    pub(super) fn sweep(&mut self, now: Timestamp) -> Result<(), OpenError> {
        let start = self.swept_to;
        let (recovered, end) = recovered(self.file.database()?, start, now).map_err(OpenError::from)?;
        self.swept_to = end;
        if recovered.is_empty() {
            return Ok(());
        }
        self.commit(&recovered.into_iter().map(Change::Forget).collect::<Vec<_>>())
    }
}

fn begin(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    transaction.open_table(RECORDS)?;
    transaction.open_table(OVERRIDES)?;
    Ok(())
}

fn write(database: &Database, changes: &[Change]) -> Result<(), OpenError> {
    let transaction = database.begin_write().map_err(redb::Error::from)?;
    {
        let mut records = transaction.open_table(RECORDS).map_err(redb::Error::from)?;
        let mut overrides = transaction.open_table(OVERRIDES).map_err(redb::Error::from)?;
        for change in changes {
            let stored = match change {
                Change::Keep(record) => {
                    let bytes = record.to_bytes().map_err(|_| OpenError::Limits)?;
                    records.insert(record.key.0, bytes.as_slice()).map(drop)
                }
                Change::Forget(key) => records.remove(key.0).map(drop),
                Change::Override(Override { shop, policy, text: Some(text) }) => {
                    overrides.insert((shop.as_str(), policy.as_str()), text.as_str()).map(drop)
                }
                Change::Override(Override { shop, policy, text: None }) => {
                    overrides.remove((shop.as_str(), policy.as_str())).map(drop)
                }
            };
            stored.map_err(redb::Error::from)?;
        }
    }
    transaction.commit().map_err(redb::Error::from)?;
    Ok(())
}

/// Keys that are as new among the records from `start` on, and where to go on.
fn recovered(
    database: &Database,
    start: [u8; 16],
    now: Timestamp,
) -> Result<(Vec<KeyHash>, [u8; 16]), redb::Error> {
    let transaction = database.begin_read()?;
    let table = transaction.open_table(RECORDS)?;
    let (mut found, mut seen, mut end) = (Vec::new(), 0, [0; 16]);
    for entry in table.range(start..)? {
        let (key, value) = entry?;
        if seen == SWEPT_AT_ONCE {
            end = key.value();
            break;
        }
        seen += 1;
        let is_over = |record: Record| !record.must_survive(now);
        // A record that cannot be read is no use, and would only be in the way at the next start.
        if Record::from_bytes(value.value()).map_or(true, is_over) {
            found.push(KeyHash(key.value()));
        }
    }
    Ok((found, end))
}

const RECORDS: TableDefinition<'_, [u8; 16], &[u8]> = TableDefinition::new("records");
const OVERRIDES: TableDefinition<'_, (&str, &str), &str> = TableDefinition::new("overrides");
/// There is no older one yet.
const LAYOUT: Layout = Layout { format: 1, begin, bring_forward: |_, _| Ok(()) };

/// Records looked at in one sweep.
const SWEPT_AT_ONCE: usize = 4_096;
