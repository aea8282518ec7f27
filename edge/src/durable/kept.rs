//! States of keys that must outlive the object's memory, in its own rows of `SQLite`. Every call is synchronous, so nothing
//! comes between a decision and its row; the runtime holds the reply back until the rows are on disk.

use shared::limiter::Record;
use shared::limiter::key::KeyHash;
use shared::time::Timestamp;
use worker::{Error, Result, SqlStorage, SqlStorageValue, State};

/// The rows of one object, at most [`KEYS_MAX`].
pub(super) struct KeptRows {
    sql: SqlStorage,
    /// Counted once, then carried along.
    count: usize,
}

impl KeptRows {
    /// The rows that an earlier life of the object has left; `None` if it has left none.
    pub(super) fn find(state: &State) -> Result<Option<Self>> {
        let sql = state.storage().sql();
        let tables =
            number(&sql, "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'kept'")?;
        if tables != Some(1) {
            return Ok(None);
        }
        Self::counted(sql).map(Some)
    }

    /// No rows yet, but a place for them.
    pub(super) fn create(state: &State) -> Result<Self> {
        let sql = state.storage().sql();
        sql.exec(
            "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, ends_at_ms INTEGER NOT NULL, record BLOB NOT NULL) \
             WITHOUT ROWID",
            None,
        )?;
        sql.exec("CREATE INDEX IF NOT EXISTS kept_ends_at ON kept (ends_at_ms)", None)?;
        Self::counted(sql)
    }

    /// Gives every record to `take`. One that cannot be read any more is passed over.
    pub(super) fn read_all(&self, mut take: impl FnMut(Record)) -> Result<()> {
        for row in self.sql.exec("SELECT record FROM kept", None)?.raw() {
            if let Some(SqlStorageValue::Blob(bytes)) = row?.into_iter().next()
                && let Ok(record) = Record::from_bytes(&bytes)
            {
                take(record);
            }
        }
        Ok(())
    }

    /// Writes a record that is worth keeping until `ends_at`. False when there are too many rows for a new one.
    pub(super) fn write(&mut self, record: &Record, ends_at: Timestamp) -> Result<bool> {
        let bytes = record.to_bytes().map_err(|error| Error::from(error.to_string()))?;
        // Rounded up: cleaned away a moment late rather than early.
        let ends_at = integer(ends_at.as_millis().saturating_add(1));
        let values = vec![ends_at.clone(), SqlStorageValue::Blob(bytes.clone()), blob(record.key)];
        let updated = self.sql.exec("UPDATE kept SET ends_at_ms = ?, record = ? WHERE key = ?", values)?;
        if updated.rows_written() > 0 {
            return Ok(true);
        }
        if self.count >= KEYS_MAX {
            return Ok(false);
        }
        let values = vec![blob(record.key), ends_at, SqlStorageValue::Blob(bytes)];
        self.sql.exec("INSERT INTO kept (key, ends_at_ms, record) VALUES (?, ?, ?)", values)?;
        self.count += 1;
        Ok(true)
    }

    /// Removes the record of a key that is as new.
    pub(super) fn remove(&mut self, key: KeyHash) -> Result<()> {
        if self.count > 0 {
            let removed = self.sql.exec("DELETE FROM kept WHERE key = ?", vec![blob(key)])?;
            self.count = self.count.saturating_sub(usize::from(removed.rows_written() > 0));
        }
        Ok(())
    }

    /// Removes records that have ended, at most [`CLEANED_MAX`], and tells when the next one ends.
    pub(super) fn clean(&mut self, now: Timestamp) -> Result<Option<Timestamp>> {
        self.sql.exec(
            "DELETE FROM kept WHERE key IN (SELECT key FROM kept WHERE ends_at_ms <= ? ORDER BY ends_at_ms LIMIT ?)",
            vec![integer(now.as_millis()), integer(CLEANED_MAX)],
        )?;
        self.count = count(&self.sql)?;
        let next = number(&self.sql, "SELECT MIN(ends_at_ms) FROM kept")?;
        Ok(next.map(Timestamp::from_millis))
    }

    fn counted(sql: SqlStorage) -> Result<Self> {
        let count = count(&sql)?;
        Ok(Self { sql, count })
    }
}

fn count(sql: &SqlStorage) -> Result<usize> {
    let count = number(sql, "SELECT COUNT(*) FROM kept")?.unwrap_or(0);
    Ok(usize::try_from(count).unwrap_or(KEYS_MAX))
}

/// The one number that a query gives.
fn number(sql: &SqlStorage, query: &str) -> Result<Option<u64>> {
    let row = sql.exec(query, None)?.raw().next().transpose()?;
    Ok(match row.and_then(|row| row.into_iter().next()) {
        Some(SqlStorageValue::Integer(number)) => u64::try_from(number).ok(),
        _ => None,
    })
}

fn blob(key: KeyHash) -> SqlStorageValue {
    SqlStorageValue::Blob(key.0.to_vec())
}

/// Milliseconds and counts, which are far below 2^53.
fn integer(number: u64) -> SqlStorageValue {
    SqlStorageValue::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Keys in one object, about 60 bytes each in memory, and as many rows: a flood fills neither.
pub(super) const KEYS_MAX: usize = 65_536;

/// Rows removed in one go, about 10 ms of work.
pub(super) const CLEANED_MAX: u64 = 1_000;
