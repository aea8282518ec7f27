//! The records of one event in Redis: claimed by one leader, read once, then changed commit by commit.

use super::{
    keys::EventKeys,
    wire::{Committed, KeepError, Wire},
};
use crate::{
    plant::{self, ServerFault},
    store::{
        format::{FORMAT, StoredRecords, brought_forward},
        keep::Records,
    },
};
use redis::ToRedisArgs;
use shared::room::{Changes, RecordKey, RecordValue, Room};
use std::{collections::BTreeMap, time::Duration};

/// A record by its key; `None`: it goes.
type Encoded = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Who changes records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Author<'a> {
    pub(crate) term: u64,
    pub(crate) id: &'a str,
}

/// One event of a leader.
pub(crate) struct KeptEvent {
    keys: EventKeys,
    life: Duration,
    /// Commits that Redis has at the least, and at the most: of one that was not answered nobody knows.
    commits: (u64, u64),
    /// Changes that Redis has not confirmed. Each record is whole, so that the same change twice is one.
    owed: Encoded,
    /// Redis has confirmed everything, but the replicas have not.
    must_repeat: bool,
}

impl KeptEvent {
    /// An event whose keys live for `life` after the last commit.
    pub(crate) fn new(keys: EventKeys, life: Duration) -> Self {
        Self { keys, life, commits: (0, 0), owed: Encoded::new(), must_repeat: false }
    }

    /// Takes the event over and reads it.
    pub(crate) fn claim(&mut self, wire: &Wire, author: Author<'_>) -> Result<Records, KeepError> {
        let life_ms = self.life.as_millis().to_string();
        let arguments = [author.term.to_string(), author.id.to_owned(), life_ms, FORMAT.to_string()];
        let (commits, format) = wire.claim(std::slice::from_ref(&self.keys.head), &arguments)?;
        self.commits = (commits, commits);
        self.owed.clear();
        self.must_repeat = false;
        let mut stored = wire.scan(&self.keys.records)?;
        if format != FORMAT {
            stored = brought_forward(format, stored)?;
            self.put_in_place(wire, author, &stored)?;
            tracing::info!(
                records = self.keys.records,
                from = format,
                to = FORMAT,
                "brought into the present format"
            );
        }
        let decode =
            |(key, value): (&Vec<u8>, &Vec<u8>)| Ok((RecordKey::decode(key)?, RecordValue::decode(value)?));
        stored.iter().map(decode).collect()
    }

    /// Notes what has changed; whether a commit is due.
    pub(crate) fn note(&mut self, changes: &Changes) -> Result<bool, KeepError> {
        for (key, value) in &changes.records {
            if is_forgotten(key) {
                continue;
            }
            let value = value.as_ref().map(RecordValue::encode).transpose()?;
            self.owed.insert(key.encode()?, value);
        }
        Ok(!self.owed.is_empty() || self.must_repeat || self.commits.0 != self.commits.1)
    }

    /// Makes everything durable that was noted. Where Redis has lost what it had confirmed, the whole `room` is written.
    pub(crate) fn commit(&mut self, wire: &Wire, author: Author<'_>, room: &Room) -> Result<(), KeepError> {
        let (least, most) = self.commits;
        let next = most.saturating_add(1);
        let puts = self.owed.iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        let goes = self.owed.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| key);
        let mut arguments = Arguments::by(author);
        arguments.push(least).push(most).push(next).push(self.life.as_millis());
        arguments.push(puts.clone().count());
        for (key, value) in puts {
            arguments.push(key).push(value);
        }
        for key in goes {
            arguments.push(key);
        }
        self.commits = (least, next);
        let keys = [self.keys.head.clone(), self.keys.records.clone()];
        match wire.commit(&keys, &arguments.0) {
            Err(KeepError::Overtaken { by }) if plant::has(ServerFault::FenceIgnored) => {
                let forced = Author { term: by.saturating_add(1), ..author };
                self.replace(wire, forced, &room.records())?;
            }
            Err(error) => return Err(error),
            Ok(Committed::Done) => {}
            Ok(Committed::Other) if plant::has(ServerFault::LossUnnoticed) => {}
            Ok(Committed::Other) => {
                tracing::warn!(
                    records = self.keys.records,
                    "Redis has lost commits; everything is written anew"
                );
                self.replace(wire, author, &room.records())?;
            }
        }
        self.commits = (next, next);
        self.owed.clear();
        self.must_repeat = false;
        Ok(())
    }

    /// Writes all records, in the place of whatever Redis has.
    pub(crate) fn replace(
        &mut self,
        wire: &Wire,
        author: Author<'_>,
        records: &[(RecordKey, RecordValue)],
    ) -> Result<(), KeepError> {
        let mut encoded = StoredRecords::new();
        for (key, value) in records {
            encoded.insert(key.encode()?, value.encode()?);
        }
        self.put_in_place(wire, author, &encoded)
    }

    fn put_in_place(
        &mut self,
        wire: &Wire,
        author: Author<'_>,
        records: &StoredRecords,
    ) -> Result<(), KeepError> {
        let next = self.commits.1.saturating_add(1);
        wire.stage(&self.keys.staged, records)?;
        let mut arguments = Arguments::by(author);
        arguments.push(next).push(self.life.as_millis()).push(FORMAT);
        let keys = [self.keys.head.clone(), self.keys.records.clone(), self.keys.staged.clone()];
        wire.replace(&keys, &arguments.0)?;
        self.commits = (next, next);
        Ok(())
    }

    /// What was confirmed must be confirmed again.
    pub(crate) fn repeat(&mut self) {
        self.must_repeat = true;
    }
}

/// Whether a planted fault keeps a record from being written.
fn is_forgotten(key: &RecordKey) -> bool {
    match key {
        RecordKey::Lane(_) => plant::has(ServerFault::ReservationUnwritten),
        RecordKey::Session(_) => plant::has(ServerFault::SessionsUnwritten),
        RecordKey::Spent(..) => plant::has(ServerFault::BitsUnwritten),
        _ => false,
    }
}

/// Arguments of a script.
struct Arguments(Vec<Vec<u8>>);

impl Arguments {
    fn by(author: Author<'_>) -> Self {
        let mut arguments = Self(Vec::new());
        arguments.push(author.term).push(author.id);
        arguments
    }

    fn push(&mut self, argument: impl ToRedisArgs) -> &mut Self {
        self.0.extend(argument.to_redis_args());
        self
    }
}
