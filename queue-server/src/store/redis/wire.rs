//! What the writer's thread asks Redis, each question with its time limit.

use crate::{
    redis::{Link, LinkError, Script},
    store::format::{FORMAT, StoredRecords},
};
use redis::{Cmd, FromRedisValue, RedisError, Value};
use shared::room::RecordError;
use std::time::{Duration, Instant};
use tokio::{runtime::Handle, time::timeout};

/// The way from a thread to Redis.
pub(super) struct Wire {
    runtime: Handle,
    link: Link,
    claim: Script,
    commit: Script,
    replace: Script,
}

/// What a commit came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Committed {
    Done,
    /// Redis has other commits than were confirmed.
    Other,
}

/// A record as it lies in Redis: its key and its value.
type Record = (Vec<u8>, Vec<u8>);

/// Why something is not kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeepError {
    #[error("Redis did not answer in time")]
    Gone,
    #[error("Redis refuses: {0}")]
    Refused(RedisError),
    #[error("{have} of {want} replicas confirmed in time")]
    Unreplicated { have: u64, want: u64 },
    #[error("a later leader has the rooms, in term {by}")]
    Overtaken { by: u64 },
    #[error(
        "the rooms in Redis have format {found}, this fairgate knows 1 to {known}: start the newer fairgate that wrote them, or give \
         this one another [store] prefix; nothing was changed"
    )]
    ForeignFormat { found: u64, known: u64 },
    #[error("this server does not lead")]
    NotLeading,
    #[error("what Redis keeps cannot be read: {0}; restore it from a backup")]
    Record(#[from] RecordError),
    #[error("Redis holds something else under the keys of the rooms")]
    Strange,
}

impl Wire {
    /// `runtime` must go on while the thread waits, so it has threads of its own.
    pub(super) fn new(runtime: Handle, link: Link) -> Self {
        let script = |source: &str| Script::new(source.to_owned());
        Self {
            runtime,
            link,
            claim: script(include_str!("lua/claim.lua")),
            commit: script(include_str!("lua/commit.lua")),
            replace: script(include_str!("lua/replace.lua")),
        }
    }

    /// The count of the commits so far, and the format of the records.
    pub(super) fn claim(&self, keys: &[String], arguments: &[String]) -> Result<(u64, u64), KeepError> {
        match self.run(&self.claim, keys, arguments, READ_MAX)? {
            (1, commits, format) => Ok((commits, format)),
            (0, by, _) => Err(KeepError::Overtaken { by }),
            (3, found, _) => Err(KeepError::ForeignFormat { found, known: FORMAT }),
            _ => Err(KeepError::Strange),
        }
    }

    pub(super) fn commit(&self, keys: &[String], arguments: &[Vec<u8>]) -> Result<Committed, KeepError> {
        match self.run(&self.commit, keys, arguments, self.link.budget())? {
            (1, ..) => Ok(Committed::Done),
            (2, ..) => Ok(Committed::Other),
            (0, by, _) => Err(KeepError::Overtaken { by }),
            _ => Err(KeepError::Strange),
        }
    }

    pub(super) fn replace(&self, keys: &[String], arguments: &[Vec<u8>]) -> Result<(), KeepError> {
        match self.run(&self.replace, keys, arguments, READ_MAX)? {
            (1, ..) => Ok(()),
            (0, by, _) => Err(KeepError::Overtaken { by }),
            _ => Err(KeepError::Strange),
        }
    }

    /// Lays records down under a key of their own.
    pub(super) fn stage(&self, key: &str, records: &StoredRecords) -> Result<(), KeepError> {
        let _: u64 = self.ask(redis::cmd("DEL").arg(key), READ_MAX)?;
        let mut rest = records.iter().peekable();
        while rest.peek().is_some() {
            let mut put = redis::cmd("HSET");
            put.arg(key);
            for (field, value) in rest.by_ref().take(CHUNK) {
                put.arg(field).arg(value);
            }
            let _: u64 = self.ask(&put, READ_MAX)?;
            let _: u64 = self.ask(redis::cmd("PEXPIRE").arg(key).arg(STAGED_MS), READ_MAX)?;
        }
        Ok(())
    }

    /// Everything in a hash that nobody changes meanwhile.
    pub(super) fn scan(&self, key: &str) -> Result<StoredRecords, KeepError> {
        let mut stored = StoredRecords::new();
        let mut cursor = String::from("0");
        loop {
            let mut scan = redis::cmd("HSCAN");
            scan.arg(key).arg(&cursor).arg("COUNT").arg(CHUNK);
            let (next, page): (String, Vec<Record>) = self.ask(&scan, READ_MAX)?;
            stored.extend(page);
            if next == "0" {
                return Ok(stored);
            }
            cursor = next;
        }
    }

    /// Whether Redis has this key.
    pub(super) fn has(&self, key: &str) -> Result<bool, KeepError> {
        Ok(self.ask::<u64>(redis::cmd("EXISTS").arg(key), READ_MAX)? > 0)
    }

    /// Waits until `want` replicas have everything that this connection wrote.
    pub(super) fn wait(&self, want: u64) -> Result<(), KeepError> {
        let budget = self.link.budget();
        let mut wait = redis::cmd("WAIT");
        wait.arg(want).arg(u64::try_from(budget.as_millis()).unwrap_or(u64::MAX));
        let have: u64 = self.ask(&wait, budget * 2)?;
        if have < want { Err(KeepError::Unreplicated { have, want }) } else { Ok(()) }
    }

    /// Waits until there is a connection.
    pub(super) fn connect(&self, patience: Duration) -> Result<(), KeepError> {
        let asked = Instant::now();
        while !self.link.is_up() {
            if asked.elapsed() > patience {
                return Err(KeepError::Gone);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn run(
        &self,
        script: &Script,
        keys: &[String],
        arguments: &[impl redis::ToRedisArgs],
        limit: Duration,
    ) -> Result<(u8, u64, u64), KeepError> {
        let answer =
            self.runtime.block_on(async { timeout(limit, script.run(&self.link, keys, arguments)).await });
        self.read(answer)
    }

    fn ask<T: FromRedisValue>(&self, command: &Cmd, limit: Duration) -> Result<T, KeepError> {
        let answer = self.runtime.block_on(async { timeout(limit, self.link.send(command)).await });
        self.read(answer)
    }

    fn read<T: FromRedisValue, E>(
        &self,
        answer: Result<Result<Value, LinkError>, E>,
    ) -> Result<T, KeepError> {
        match answer {
            Ok(Ok(value)) => redis::from_redis_value(value).map_err(|_| KeepError::Strange),
            Ok(Err(LinkError::Gone)) => Err(KeepError::Gone),
            Ok(Err(LinkError::Refused(error))) => Err(KeepError::Refused(error)),
            Err(_) => {
                // A link that counts as lost connects anew, as a task.
                let _entered = self.runtime.enter();
                self.link.silent();
                Err(KeepError::Gone)
            }
        }
    }
}

/// Fields in one command.
const CHUNK: usize = 1_000;
/// For what is done once a take-over and not for each commit.
const READ_MAX: Duration = Duration::from_secs(1);
const STAGED_MS: u64 = 60_000;
const LOOK_EVERY: Duration = Duration::from_millis(10);
