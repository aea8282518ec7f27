//! Days and months, in the zone of whoever is counted. The Gregorian calendar, from 1970 on.

use super::zone::{Zone, ZoneClock};
use crate::time::Timestamp;
use core::ops::Range;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// What a long quota lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Calendar {
    /// From midnight to midnight.
    Day,
    /// From the first to the first.
    Month,
}

impl Calendar {
    /// The day or month that holds `now`, half-open. Where clocks were set back across midnight, what is shown twice
    /// belongs to the day that had begun.
    pub fn period(self, zone: Zone, now: Timestamp) -> Range<Timestamp> {
        let now_us = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
        let clock = zone.clock();
        let shown_us = clock.shown_at(now_us);
        let mut start_day = self.start_day(shown_us.div_euclid(DAY_US));
        let mut end_day = self.next_start(start_day);
        let mut end = begin_of(&clock, end_day);
        // The clocks may have gone back: at most one day, unless somebody abolishes midnight for good.
        for _ in 0..STEPS_BACK_MAX {
            if end > now {
                break;
            }
            start_day = end_day;
            end_day = self.next_start(start_day);
            end = begin_of(&clock, end_day);
        }
        begin_of(&clock, start_day)..end
    }

    /// The longest period: `w` of `RateLimit-Policy`.
    pub const fn longest(self) -> Duration {
        match self {
            Self::Day => Duration::from_secs(86_400),
            Self::Month => Duration::from_secs(31 * 86_400),
        }
    }

    /// The first day of the period of `day`; days are counted from 1970-01-01.
    fn start_day(self, day: i64) -> i64 {
        match self {
            Self::Day => day,
            Self::Month => day.saturating_sub(day_of_month(day)),
        }
    }

    /// The first day of the period after the one that begins at `start_day`.
    fn next_start(self, start_day: i64) -> i64 {
        match self {
            Self::Day => start_day.saturating_add(1),
            // No month is longer than 31 days or shorter than 28: its first is in the next.
            Self::Month => self.start_day(start_day.saturating_add(31)),
        }
    }
}

/// When the clocks first show the midnight that begins `day`, or later.
fn begin_of(clock: &ZoneClock, day: i64) -> Timestamp {
    let first_us = clock.first_showing(day.saturating_mul(DAY_US));
    Timestamp::from_micros(u64::try_from(first_us).unwrap_or(0))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar; the year here begins in March, as in [`day_of_month`].
/// See Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
pub(crate) fn day_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year.saturating_sub(1) } else { year };
    let month_from_march = month.saturating_add(9).rem_euclid(12);
    let day_of_year = month_from_march
        .saturating_mul(153)
        .saturating_add(2)
        .div_euclid(5)
        .saturating_add(day)
        .saturating_sub(1);
    let leap_days =
        year.div_euclid(4).saturating_sub(year.div_euclid(100)).saturating_add(year.div_euclid(400));
    year.saturating_mul(365)
        .saturating_add(leap_days)
        .saturating_add(day_of_year)
        .saturating_sub(DAYS_FROM_MARCH_0000)
}

/// Days from the first of its month to `day`: 0 for the first.
///
/// A year here begins in March, so that the leap day is its last: months of 31, 30, 31, 30, 31 days repeat, which
/// `(153 * month + 2) / 5` sums up. See Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn day_of_month(day: i64) -> i64 {
    const DAYS_OF_400_YEARS: i64 = 146_097;
    let day_of_era = day.saturating_add(DAYS_FROM_MARCH_0000).rem_euclid(DAYS_OF_400_YEARS);
    // 1,460 days are four years without the leap day; 36,524 and 146,096 correct for centuries.
    let year_of_era = day_of_era
        .saturating_sub(day_of_era / 1_460)
        .saturating_add(day_of_era / 36_524)
        .saturating_sub(day_of_era / 146_096)
        / 365;
    let days_of_years =
        year_of_era.saturating_mul(365).saturating_add(year_of_era / 4).saturating_sub(year_of_era / 100);
    let day_of_year = day_of_era.saturating_sub(days_of_years);
    let month_from_march = day_of_year.saturating_mul(5).saturating_add(2) / 153;
    day_of_year.saturating_sub(month_from_march.saturating_mul(153).saturating_add(2) / 5)
}

/// From 0000-03-01 to 1970-01-01.
const DAYS_FROM_MARCH_0000: i64 = 719_468;

const DAY_US: i64 = 86_400_000_000;

/// Days that `now` may have begun although the clocks show an earlier one.
const STEPS_BACK_MAX: usize = 2;
