//! What an isolate remembers about limits. All of it is bounded, and all of it may be lost at any time.

use crate::random::table_seed;
use shared::config::OnStoreFailure;
use shared::flat::{self, LiteMap};
use shared::gate::{Bound, HomeCall, Limit, Verdict};
use shared::limiter::check::CheckRequest;
use shared::limiter::deny_cache::DenyCache;
use shared::limiter::key::KeyHash;
use shared::limiter::lease::LeaseBook;
use shared::limiter::table::LimiterTable;
use shared::limiter::{Decision, Policy};
use shared::time::Timestamp;
use std::cell::{Cell, RefCell};
use std::time::Duration;
use worker::{Error, console_log, console_warn};

/// No borrow is held across an `await`.
pub(crate) struct LimitMemory {
    pub(super) deny_cache: RefCell<DenyCache>,
    /// By home. Only shops and the site have leases, and configuration names those.
    pub(super) leases: RefCell<LiteMap<String, LeaseBook>>,
    /// What this isolate itself has let pass, for the time in which a home does not answer.
    own: RefCell<LimiterTable>,
    /// Homes that did not answer, and when.
    failures: RefCell<LiteMap<String, Timestamp>>,
    failed_calls: Cell<u64>,
    open_limits: Cell<usize>,
    /// Requests that a policy in shadow would have refused, by policy.
    shadow_refusals: RefCell<LiteMap<String, u64>>,
    refusal_lines: Cell<Lines>,
}

/// Lines of the log in one second.
#[derive(Clone, Copy, Default)]
struct Lines {
    second: u64,
    written: u32,
    left_out: u64,
}

impl LimitMemory {
    pub(crate) fn new() -> Self {
        Self {
            deny_cache: RefCell::new(DenyCache::new(DENY_CACHE_SETS, table_seed())),
            leases: RefCell::default(),
            own: RefCell::new(LimiterTable::new(OWN_KEYS_MAX, table_seed())),
            failures: RefCell::default(),
            failed_calls: Cell::default(),
            open_limits: Cell::default(),
            shadow_refusals: RefCell::default(),
            refusal_lines: Cell::default(),
        }
    }

    /// Counts and logs whom policies in shadow would have refused.
    pub(super) fn note_verdict(&self, verdict: &Verdict<'_>) {
        self.count_unanswered(verdict.unanswered);
        for policy in &verdict.would_refuse {
            let mut refusals = self.shadow_refusals.borrow_mut();
            let count = flat::entry(&mut *refusals, &(*policy).to_owned());
            *count = count.saturating_add(1);
            if count.is_power_of_two() {
                console_log!("policy {policy} in shadow would have refused {count} requests so far");
            }
        }
    }

    /// Logs what refused a request: at most [`LINES_PER_SECOND`], so that a flood of refusals is none of lines.
    pub(super) fn log_refusal(&self, bound: &Bound<'_>, request_id: &str, now: Timestamp) {
        let mut lines = self.refusal_lines.get();
        if lines.second != now.as_secs() {
            lines = Lines { second: now.as_secs(), written: 0, left_out: lines.left_out };
        }
        if lines.written < LINES_PER_SECOND {
            let Bound { policy, key: KeyHash(key), home, retry_after, .. } = bound;
            let key = u128::from_be_bytes(*key);
            let counts_by: Vec<&str> = bound.counts_by.iter().map(|part| part.name()).collect();
            let (counts_by, wait_ms) = (counts_by.join("+"), retry_after.map_or(0, |wait| wait.as_millis()));
            let left_out = std::mem::take(&mut lines.left_out);
            console_log!(
                "a limit refuses: policy={policy} key={key:032x} home={home} counts_by={counts_by} wait_ms={wait_ms} \
                 request={request_id} left_out={left_out}"
            );
            lines.written += 1;
        } else {
            lines.left_out = lines.left_out.saturating_add(1);
        }
        self.refusal_lines.set(lines);
    }

    /// Counts and logs limits that stood open because nobody answered for them.
    fn count_unanswered(&self, limits: usize) {
        let before = self.open_limits.get();
        let count = before.saturating_add(limits);
        self.open_limits.set(count);
        // One line for each power of two keeps a long fault from flooding the log.
        if before.checked_ilog2() != count.checked_ilog2() {
            console_warn!("{count} limits stood open so far, because their home did not answer");
        }
    }

    pub(super) fn has_failed_lately(&self, home: &str, now: Timestamp) -> bool {
        let failed_at = self.failures.borrow().get(home).copied();
        failed_at.is_some_and(|at| at <= now && now < at.saturating_add(LEFT_ALONE_FOR))
    }

    pub(super) fn note_answer(&self, home: &str) {
        self.failures.borrow_mut().remove(home);
    }

    pub(super) fn note_failure(&self, home: &str, now: Timestamp, error: &Error) {
        self.failures.borrow_mut().insert(home.to_owned(), now);
        let count = self.failed_calls.get().saturating_add(1);
        self.failed_calls.set(count);
        if count.is_power_of_two() {
            console_warn!("limiter {home} did not answer: {error}; {count} calls failed so far");
        }
    }

    /// Counts what passed in this isolate's own limiter, so that it is not cold when a home fails.
    pub(super) fn keep_warm(&self, limits: &[Limit<'_>], decisions: &[Option<Decision>], now: Timestamp) {
        let mut own = self.own.borrow_mut();
        for (limit, decision) in limits.iter().zip(decisions) {
            let has_passed = decision.is_some_and(|decision| decision.is_allowed());
            if has_passed
                && decides_locally(limit)
                && let Ok(request) = CheckRequest::new(vec![limit.charge])
            {
                own.check(&request, now);
            }
        }
    }

    /// Decides for a home that does not answer, as far as its policies say so: by what this isolate has let pass. Until the
    /// home is back, all isolates together let pass at most the policy's numbers each.
    pub(super) fn decide_locally(
        &self,
        call: &HomeCall<'_>,
        limits: &[Limit<'_>],
        decisions: &mut [Option<Decision>],
        now: Timestamp,
    ) {
        let mut own = self.own.borrow_mut();
        for check in &call.checks {
            let is_local = |index: &&usize| limits.get(**index).is_some_and(decides_locally);
            let indices: Vec<usize> = check.indices.iter().filter(is_local).copied().collect();
            let charges = indices.iter().filter_map(|index| Some(limits.get(*index)?.charge)).collect();
            let Ok(request) = CheckRequest::new(charges) else { continue };
            let reply = own.check(&request, now);
            for (index, decision) in indices.iter().zip(reply.decisions) {
                if let Some(slot) = decisions.get_mut(*index) {
                    *slot = Some(decision);
                }
            }
        }
    }
}

/// A permit has a holder elsewhere, so it is open here.
fn decides_locally(limit: &Limit<'_>) -> bool {
    limit.on_store_failure == OnStoreFailure::Local && !matches!(limit.charge.policy, Policy::Concurrency(_))
}

/// 4,096 refusals of about 150 bytes.
const DENY_CACHE_SETS: usize = 1_024;

/// Keys whose share of this isolate is known; about 60 bytes each.
const OWN_KEYS_MAX: usize = 32_768;

/// Refusals that are logged one by one in a second.
const LINES_PER_SECOND: u32 = 10;

/// How long a home that failed is not asked again.
const LEFT_ALONE_FOR: Duration = Duration::from_secs(1);
