//! What decides while the limit service does not answer.

use shared::{
    http::reason::Reason,
    limiter::{
        Cost, Decision, Policy, PolicyError, PolicySettings,
        check::Charge,
        key::{KeyHash, TableSeed},
        table::ShardedTable,
    },
    time::{Timestamp, micros},
    wire::limits::{CheckResult, DecidedBy},
};
use std::time::Duration;

/// What holds while the service does not answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fallback {
    /// Requests pass.
    #[default]
    Open,
    /// Requests are refused.
    Closed,
    /// A limiter in this process, for each set of keys that is asked about. Choose a share of the real limit that is safe
    /// when every process uses it up.
    Local(PolicySettings),
}

/// The fallback with its memory, kept warm by everything that the service lets pass.
pub(crate) enum Standby {
    Open,
    Closed,
    Local(Box<LocalLimiter>),
}

pub(crate) struct LocalLimiter {
    policy: Policy,
    table: ShardedTable,
}

impl Standby {
    pub(crate) fn new(fallback: Fallback, seed: TableSeed) -> Result<Self, PolicyError> {
        Ok(match fallback {
            Fallback::Open => Self::Open,
            Fallback::Closed => Self::Closed,
            Fallback::Local(settings) => {
                let policy = settings.try_into()?;
                Self::Local(Box::new(LocalLimiter { policy, table: ShardedTable::new(KEYS_MAX, seed) }))
            }
        })
    }

    /// Counts what the service let pass.
    pub(crate) fn warm(&self, key: KeyHash, cost: Cost, now: Timestamp) {
        if let Self::Local(local) = self {
            local.table.check_one(&Charge::new(local.policy, key, cost), now);
        }
    }

    /// Decides in the place of the service.
    pub(crate) fn decide(&self, key: KeyHash, cost: Cost, now: Timestamp) -> CheckResult {
        match self {
            Self::Open => result(None, None, now),
            Self::Closed => result(Some(Reason::LimiterUnavailable), None, now),
            Self::Local(local) => match local.table.check_one(&Charge::new(local.policy, key, cost), now) {
                Decision::Allowed { .. } => result(None, None, now),
                Decision::Denied { retry_after: None, .. } => result(Some(Reason::CostTooHigh), None, now),
                Decision::Denied { retry_after, .. } => result(Some(Reason::RateLimited), retry_after, now),
            },
        }
    }
}

fn result(code: Option<Reason>, retry_after: Option<Duration>, now: Timestamp) -> CheckResult {
    CheckResult {
        allowed: code.is_none(),
        code,
        policy: None,
        retry_after_us: retry_after.map(micros),
        remember_us: 0,
        delay_us: 0,
        decided_at_us: now.as_micros(),
        decided_by: DecidedBy::Fallback,
        receipt: None,
        holds_permit: false,
        rate_limit: String::new(),
        rate_limit_policy: String::new(),
        limits: Vec::new(),
        passed_over: Vec::new(),
    }
}

/// Keys of the local limiter.
const KEYS_MAX: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: KeyHash = KeyHash([1; 16]);

    #[test]
    fn a_local_limiter_that_was_kept_warm_gives_no_fresh_quota() {
        let settings = PolicySettings::Gcra { burst_capacity: 3, rate: 1, period_us: 1_000_000 };
        let standby = Standby::new(Fallback::Local(settings), TableSeed([7; 16])).unwrap();
        let now = Timestamp::from_millis(1_764_460_800_000);
        standby.warm(KEY, 2, now);
        assert!(standby.decide(KEY, 1, now).allowed);
        let refused = standby.decide(KEY, 1, now);
        assert_eq!((refused.code, refused.retry_after_us), (Some(Reason::RateLimited), Some(1_000_000)));
        assert_eq!(standby.decide(KEY, 4, now).code, Some(Reason::CostTooHigh));
    }

    #[test]
    fn open_and_closed_are_what_they_say() {
        let decide = |fallback| {
            let standby = Standby::new(fallback, TableSeed([7; 16])).unwrap();
            standby.decide(KEY, 1, Timestamp::default()).allowed
        };
        assert_eq!([Fallback::Open, Fallback::Closed].map(decide), [true, false]);
    }
}
