//! What the scripts say, as decisions.

use redis::Value;
use shared::limiter::check::CheckReply;
use shared::limiter::{Cost, Decision};
use shared::time::Timestamp;
use std::time::Duration;

/// A reply, and the clock of Redis when it was made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) now: Timestamp,
    pub(super) said: Said,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It happened; the rest of the numbers.
    Decided(Vec<i64>),
    /// What is stored.
    Value(Vec<u8>),
    /// Nothing happened: a key was counted by another policy than the script knows.
    Changed,
    /// Nothing happened: the charge of this index needs the periods around this moment.
    Calendar { charge: usize, moment: Timestamp },
}

impl Reply {
    /// `None` for anything that no script says.
    pub(super) fn read(value: Value) -> Option<Self> {
        let Value::Array(mut parts) = value else { return None };
        let stored = match parts.get(2) {
            Some(Value::BulkString(_)) => parts.pop(),
            _ => None,
        };
        let numbers = parts.iter().map(|part| match part {
            Value::Int(number) => Some(*number),
            _ => None,
        });
        let numbers = numbers.collect::<Option<Vec<i64>>>()?;
        let (status, now, rest) = match numbers.as_slice() {
            [status, now, rest @ ..] => (*status, moment(*now)?, rest),
            _ => return None,
        };
        let said = match (status, stored, rest) {
            (DECIDED, Some(Value::BulkString(bytes)), []) => Said::Value(bytes),
            (DECIDED, None, rest) => Said::Decided(rest.to_vec()),
            (CHANGED, None, []) => Said::Changed,
            (CALENDAR, None, [charge, at]) => Said::Calendar {
                charge: usize::try_from(*charge).ok()?.checked_sub(1)?,
                moment: moment(*at)?,
            },
            _ => return None,
        };
        Some(Self { now, said })
    }
}

/// The decisions of a check, five numbers each.
pub(super) fn decisions(numbers: &[i64]) -> Option<CheckReply> {
    let (charges, rest) = numbers.as_chunks::<5>();
    let decision = |[passes, remaining, retry_after, reset_after, delay]: &[i64; 5]| {
        let remaining = Cost::try_from(*remaining).ok()?;
        let reset_after = span(*reset_after)?;
        Some(match (*passes, *retry_after) {
            (1, 0) => Decision::Allowed { remaining, reset_after, delay: span(*delay)? },
            (0, NEVER) => Decision::Denied { remaining, retry_after: None, reset_after },
            (0, wait) => Decision::Denied { remaining, retry_after: Some(span(wait)?), reset_after },
            _ => return None,
        })
    };
    let decisions = charges.iter().map(decision).collect::<Option<Vec<_>>>()?;
    rest.is_empty().then_some(CheckReply { decisions })
}

/// The decisions of a check of GCRAs, [`NUMBERS`] each: they ask for no delay, and pass where there is no wait.
pub(super) fn gcra_decisions(numbers: &[i64]) -> Option<CheckReply> {
    let (charges, rest) = numbers.as_chunks::<NUMBERS>();
    let decision = |[retry_after, remaining, reset_after]: &[i64; NUMBERS]| {
        let (remaining, reset_after) = (Cost::try_from(*remaining).ok()?, span(*reset_after)?);
        Some(match *retry_after {
            0 => Decision::Allowed { remaining, reset_after, delay: Duration::ZERO },
            NEVER => Decision::Denied { remaining, retry_after: None, reset_after },
            wait => Decision::Denied { remaining, retry_after: Some(span(wait)?), reset_after },
        })
    };
    let decisions = charges.iter().map(decision).collect::<Option<Vec<_>>>()?;
    rest.is_empty().then_some(CheckReply { decisions })
}

fn moment(us: i64) -> Option<Timestamp> {
    u64::try_from(us).ok().map(Timestamp::from_micros)
}

fn span(us: i64) -> Option<Duration> {
    u64::try_from(us).ok().map(Duration::from_micros)
}

const DECIDED: i64 = 0;
const CHANGED: i64 = 1;
const CALENDAR: i64 = 2;
const NEVER: i64 = -1;
/// What a script of GCRAs says of a charge.
pub(super) const NUMBERS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_script_says_is_no_reply() {
        let array = |numbers: &[i64]| Value::Array(numbers.iter().map(|n| Value::Int(*n)).collect());
        let calendar = Said::Calendar { charge: 1, moment: Timestamp::from_micros(9) };
        assert_eq!(Reply::read(array(&[2, 7, 2, 9])).unwrap().said, calendar);
        for strange in [&[][..], &[0], &[1, 7, 0], &[2, 7, 0, 9], &[2, 7], &[0, -1], &[3, 7]] {
            assert_eq!(Reply::read(array(strange)), None, "{strange:?}");
        }
        assert_eq!(Reply::read(Value::Nil), None);
        for strange in
            [&[1, 0, 0, 0][..], &[2, 0, 0, 0, 0], &[1, 0, 5, 0, 0], &[0, -1, 5, 0, 0], &[0, 1, -2, 0, 0]]
        {
            assert_eq!(decisions(strange), None, "{strange:?}");
        }
        for strange in [&[0, 0][..], &[-2, 0, 0], &[0, -1, 0], &[5, 1, -2], &[0, 0, 0, 0]] {
            assert_eq!(gcra_decisions(strange), None, "{strange:?}");
        }
    }
}
