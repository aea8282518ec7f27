//! The home of some keys' limiter states: one thread, so that what it decides is exact.

use super::kept::{KEYS_MAX, KeptRows};
use crate::clock;
use crate::random::table_seed;
use shared::flat::{self, LiteMap};
use shared::limiter::Record;
use shared::limiter::check::Charge;
use shared::limiter::home::{HomeReply, HomeRequest, Keeping};
use shared::limiter::key::KeyHash;
use shared::limiter::table::LimiterTable;
use shared::time::Timestamp;
use std::cell::{RefCell, RefMut};
use std::time::Duration;
use worker::{DurableObject, Env, Error, Request, Response, Result, State, console_warn, durable_object};

/// States live in memory. What an idle object would forget before it has recovered is also kept in rows: locks in force
/// and long quotas before the reply, other long windows within [`WRITTEN_WITHIN`].
#[durable_object]
pub struct LimiterObject {
    state: State,
    /// Loaded by the first call; `None` also after a load that failed, which the next call tries again.
    inner: RefCell<Option<Inner>>,
}

struct Inner {
    table: LimiterTable,
    /// `None` until the first key needs one: most objects hold short windows only, and store nothing.
    rows: Option<KeptRows>,
    /// Keys whose rows are behind their states.
    unwritten: LiteMap<KeyHash, ()>,
    alarm_at: Option<Timestamp>,
    /// States that found no row.
    rowless: u64,
}

impl DurableObject for LimiterObject {
    fn new(state: State, _env: Env) -> Self {
        Self { state, inner: RefCell::default() }
    }

    /// Takes a [`HomeRequest`] and answers with its [`HomeReply`], both as the bytes that travel.
    async fn fetch(&self, mut request: Request) -> Result<Response> {
        #[cfg(feature = "plant")]
        if let Some(answer) = crate::plant::in_object(&request.path()).await {
            return answer;
        }
        let Ok(request) = HomeRequest::from_bytes(&request.bytes().await?) else {
            return Response::error("not a call of a limiter", 400);
        };
        // From here to the reply nothing waits, so no other call comes between.
        let now = clock::now();
        let (reply, alarm) = {
            let mut inner = self.loaded(now)?;
            let reply = inner.answer(&self.state, &request, now)?;
            (reply.to_bytes().map_err(|error| error.to_string())?, inner.alarm_to_set(now))
        };
        if let Some(after) = alarm {
            self.set_alarm(after);
        }
        Response::from_bytes(reply)
    }

    /// Writes what is unwritten and removes rows that have ended.
    async fn alarm(&self) -> Result<Response> {
        let now = clock::now();
        let next = {
            let mut inner = self.loaded(now)?;
            inner.alarm_at = None;
            inner.write_behind(&self.state, now)?;
            let next = inner.rows(&self.state)?.clean(now)?;
            inner.alarm_at = next.map(|next| {
                // What a flood has left is cleared away part by part.
                let pause = if next <= now { CLEANED_AGAIN_AFTER } else { CLEANED_EVERY };
                next.max(now.saturating_add(pause))
            });
            inner.alarm_at.map(|next| next.since(now))
        };
        if let Some(after) = next {
            self.set_alarm(after);
        }
        Response::empty()
    }
}

impl LimiterObject {
    /// The states, after those that an earlier life has kept.
    fn loaded(&self, now: Timestamp) -> Result<RefMut<'_, Inner>> {
        let mut inner = self.inner.borrow_mut();
        if inner.is_none() {
            *inner = Some(Inner::load(&self.state, now)?);
        }
        RefMut::filter_map(inner, Option::as_mut).map_err(|_| Error::from("a limiter object is not loaded"))
    }

    /// Beside the reply: an alarm that is lost is set again by a later call.
    fn set_alarm(&self, after: Duration) {
        let storage = self.state.storage();
        self.state.wait_until(async move {
            if let Err(error) = storage.set_alarm(after).await {
                console_warn!("a limiter object cannot set its alarm: {error}");
            }
        });
    }
}

impl Inner {
    /// Rows are read before any key comes, so that no flood takes the room of what they say.
    fn load(state: &State, now: Timestamp) -> Result<Self> {
        let mut table = LimiterTable::new(KEYS_MAX, table_seed());
        let rows = KeptRows::find(state)?;
        if let Some(rows) = &rows {
            rows.read_all(|record| table.restore(record, now))?;
        }
        #[cfg(feature = "plant")]
        crate::plant::note_load();
        Ok(Self { table, rows, unwritten: LiteMap::new(), alarm_at: None, rowless: 0 })
    }

    fn answer(&mut self, state: &State, request: &HomeRequest, now: Timestamp) -> Result<HomeReply> {
        // A policy that took over from one whose states are written has its row still.
        let had_row = |key: KeyHash| {
            let record = if self.rows.is_some() { self.table.record(key) } else { None };
            record.is_some_and(|record| Keeping::may_be_written(&record.policy))
        };
        let is_kept = |charge: &&Charge| Keeping::may_be_written(&charge.policy) || had_row(charge.key);
        let keys = flat::map(request.charges().filter(is_kept).map(|charge| (charge.key, ())));
        let before: Vec<Option<Record>> = keys.keys().map(|key| self.table.record(*key)).collect();
        self.table.sweep(SWEPT_PER_CALL, now);
        let unrecorded = self.table.unrecorded_checks();
        let reply = request.answer(&mut self.table, now);
        self.warn_of_unrecorded(unrecorded);
        for (key, before) in keys.keys().zip(before) {
            if self.table.record(*key) != before {
                self.keep(state, *key, now)?;
            }
        }
        Ok(reply)
    }

    /// Writes the changed state of a key now, or marks it.
    fn keep(&mut self, state: &State, key: KeyHash, now: Timestamp) -> Result<()> {
        match self.table.record(key) {
            Some(record) if Keeping::of(&record, now) == Keeping::WrittenThrough => {
                self.write(state, &record, now)?;
                self.unwritten.remove(&key);
            }
            _ => {
                self.unwritten.insert(key, ());
            }
        }
        if self.unwritten.len() >= UNWRITTEN_MAX {
            self.write_behind(state, now)?;
        }
        Ok(())
    }

    fn write_behind(&mut self, state: &State, now: Timestamp) -> Result<()> {
        for (key, ()) in std::mem::take(&mut self.unwritten) {
            match self.table.record(key).filter(|record| Keeping::of(record, now) != Keeping::InMemory) {
                Some(record) => self.write(state, &record, now)?,
                None => self.rows(state)?.remove(key)?,
            }
        }
        Ok(())
    }

    fn write(&mut self, state: &State, record: &Record, now: Timestamp) -> Result<()> {
        let ends_at = self.table.state(record.key, now).map_or(now, |state| state.expiry);
        if !self.rows(state)?.write(record, ends_at)? {
            self.rowless = self.rowless.saturating_add(1);
            if self.rowless.is_power_of_two() {
                let rowless = self.rowless;
                console_warn!(
                    "a limiter object has no row for another key: {rowless} states so far are in memory only"
                );
            }
        }
        Ok(())
    }

    fn rows(&mut self, state: &State) -> Result<&mut KeptRows> {
        let rows = match self.rows.take() {
            Some(rows) => rows,
            None => KeptRows::create(state)?,
        };
        Ok(self.rows.insert(rows))
    }

    /// In which time to wake up, if not earlier already: soon where something is unwritten, else when rows may have ended.
    fn alarm_to_set(&mut self, now: Timestamp) -> Option<Duration> {
        let after = match (self.unwritten.is_empty(), &self.rows) {
            (false, _) => WRITTEN_WITHIN,
            (true, Some(_)) => CLEANED_EVERY,
            (true, None) => return None,
        };
        let wanted = now.saturating_add(after);
        if self.alarm_at.is_some_and(|at| at <= wanted && at >= now) {
            return None;
        }
        self.alarm_at = Some(wanted);
        Some(after)
    }

    fn warn_of_unrecorded(&self, before: u64) {
        let count = self.table.unrecorded_checks();
        if count != before && count.is_power_of_two() {
            console_warn!("a limiter object is full: {count} checks passed without a record so far");
        }
    }
}

/// Each call also clears a few recovered states, so that memory shrinks after a rush without an alarm.
const SWEPT_PER_CALL: usize = 2;

/// Half of the time that an object is idle before it is evicted: a crash costs the counts of this time at most.
const WRITTEN_WITHIN: Duration = Duration::from_secs(5);

/// States written in one go, about 20 ms of work.
const UNWRITTEN_MAX: usize = 1_024;

/// Rows that have ended are cleared away together.
const CLEANED_EVERY: Duration = Duration::from_mins(1);

/// Until the next go, where one left rows that have ended.
const CLEANED_AGAIN_AFTER: Duration = Duration::from_secs(1);
