//! What went wrong in other limiters, each once.

use shared::limiter::compact::{CompactError, CompactField, CompactLockout};
use shared::limiter::concurrency::Holder;
use shared::limiter::sliding_log::LOG_LIMIT_MAX;
use shared::limiter::sub_windows::SUB_WINDOWS_MAX;
use shared::limiter::{Cost, Decision, Policy, PolicyError, PolicySettings, State};
use shared::time::Timestamp;
use std::time::Duration;

const SECOND_US: u64 = 1_000_000;
const MINUTE_US: u64 = 60 * SECOND_US;

fn at_us(micros: u64) -> Timestamp {
    Timestamp::from_micros(1_764_460_800_000_000 + micros)
}

/// One key and its calls.
struct Caller {
    policy: Policy,
    state: State,
}

impl Caller {
    fn of(settings: PolicySettings) -> Self {
        let policy = Policy::try_from(settings).unwrap();
        Self { policy, state: policy.new_state() }
    }

    fn ask(&mut self, at: Timestamp, cost: Cost) -> Decision {
        let transition = self.policy.check(self.state.clone(), at, cost);
        self.state = transition.state;
        transition.decision
    }

    fn passes(&mut self, micros: u64, cost: Cost) -> bool {
        self.ask(at_us(micros), cost).is_allowed()
    }
}

/// One policy of every algorithm that takes no holder, with this limit and a window of a second.
fn every(limit: Cost) -> Vec<PolicySettings> {
    let (window_us, period_us) = (SECOND_US, SECOND_US);
    vec![
        PolicySettings::Gcra { burst_capacity: limit, rate: limit, period_us },
        PolicySettings::IntervalBucket { capacity: limit, refill: limit, period_us },
        PolicySettings::LeakyQueue { rate: limit, period_us, max_waiting: limit.saturating_sub(1) },
        PolicySettings::FixedWindow { limit, window_us, aligned: true },
        PolicySettings::FixedWindow { limit, window_us, aligned: false },
        PolicySettings::SlidingLog { limit, window_us },
        PolicySettings::SlidingTwoCounters { limit, window_us },
        PolicySettings::SlidingSubWindows { limit, window_us, sub_windows: 10 },
        PolicySettings::Lockout { max: limit, window_us, lock_us: 0 },
        PolicySettings::LongQuota {
            limit,
            calendar: shared::limiter::calendar::Calendar::Day,
            zone: "UTC".to_owned(),
        },
    ]
}

#[test]
fn eight_five_one_one_of_ten_is_allow_deny_allow_allow() {
    for settings in every(10) {
        let mut caller = Caller::of(settings.clone());
        let answers = [8, 5, 1, 1].map(|cost| caller.ask(at_us(0), cost));
        assert_eq!(answers.map(|answer| answer.is_allowed()), [true, false, true, true], "{settings:?}");
        assert_eq!(answers.map(|answer| answer.remaining()), [2, 2, 1, 0], "{settings:?}");
    }
}

#[test]
fn more_than_the_limit_can_never_pass_and_is_not_a_wait() {
    for settings in every(10) {
        let mut caller = Caller::of(settings.clone());
        let never = caller.ask(at_us(0), 11);
        assert_eq!((never.retry_after(), never.remaining()), (None, 10), "{settings:?}");
        assert!(caller.passes(0, 10));
        let never = caller.ask(at_us(0), Cost::MAX);
        assert_eq!((never.retry_after(), never.remaining()), (None, 0), "{settings:?}");
    }
}

#[test]
fn a_limit_of_zero_denies_everything_for_ever_and_may_be_peeked_at() {
    let zero = every(0).into_iter().map(|settings| match settings {
        PolicySettings::LeakyQueue { period_us, .. } => {
            PolicySettings::LeakyQueue { rate: 0, period_us, max_waiting: 5 }
        }
        other => other,
    });
    for settings in zero {
        let mut caller = Caller::of(settings.clone());
        assert_eq!(caller.ask(at_us(0), 1).retry_after(), None, "{settings:?}");
        assert_eq!(
            caller.ask(at_us(0), 0),
            Decision::Allowed { remaining: 0, reset_after: Duration::ZERO, delay: Duration::ZERO }
        );
    }
}

#[test]
fn a_burst_on_both_sides_of_a_minute() {
    let passed = |settings| {
        let mut caller = Caller::of(settings);
        let before = (0..60).filter(|_| caller.passes(59 * SECOND_US, 1)).count();
        before + (0..60).filter(|_| caller.passes(60 * SECOND_US, 1)).count()
    };
    let (limit, window_us) = (60, MINUTE_US);
    assert_eq!(passed(PolicySettings::FixedWindow { limit, window_us, aligned: true }), 120);
    assert_eq!(passed(PolicySettings::SlidingLog { limit, window_us }), 60);
    assert_eq!(passed(PolicySettings::SlidingSubWindows { limit, window_us, sub_windows: 6 }), 60);
}

#[test]
fn an_entry_exactly_one_window_old_no_longer_counts() {
    let mut log = Caller::of(PolicySettings::SlidingLog { limit: 1, window_us: SECOND_US });
    assert!(log.passes(5, 1));
    assert!(!log.passes(SECOND_US + 4, 1));
    assert!(log.passes(SECOND_US + 5, 1));
}

#[test]
fn any_idle_time_refills_to_the_maximum_and_not_beyond() {
    // Twelve hours at 700,000 an hour, at 14,500 a minute and at 300 a second, and then until the end of time.
    for (capacity, refill, period_us) in [
        (700_000, 700_000, 60 * MINUTE_US),
        (14_500, 14_500, MINUTE_US),
        (300, 300, SECOND_US),
        (Cost::MAX, Cost::MAX, 1),
    ] {
        for idle_us in [12 * 60 * MINUTE_US, Timestamp::MAX.as_micros()] {
            let mut caller = Caller::of(PolicySettings::IntervalBucket { capacity, refill, period_us });
            assert!(caller.passes(0, capacity));
            assert!(caller.passes(idle_us, capacity), "{capacity} after {idle_us}");
            assert!(!caller.passes(idle_us, 1));
        }
    }
}

#[test]
fn an_idle_of_two_intervals_gives_exactly_the_burst() {
    let mut bucket =
        Caller::of(PolicySettings::IntervalBucket { capacity: 5, refill: 5, period_us: SECOND_US });
    assert!(bucket.passes(0, 5));
    let passed = (0..10).filter(|_| bucket.passes(2 * SECOND_US, 1)).count();
    assert_eq!(passed, 5);
}

#[test]
fn a_wait_of_many_days_is_a_number_and_not_a_timer() {
    let long_us = 3_000_000 * SECOND_US;
    let mut window = Caller::of(PolicySettings::FixedWindow { limit: 1, window_us: long_us, aligned: false });
    assert!(window.passes(0, 1));
    assert_eq!(window.ask(at_us(50_000), 1).retry_after(), Some(Duration::from_micros(long_us - 50_000)));
}

#[test]
fn limits_of_a_thousand_million_a_second_limit() {
    for settings in every(1_000_000_000) {
        let Ok(_) = Policy::try_from(settings.clone()) else {
            assert!(matches!(settings, PolicySettings::SlidingLog { .. }));
            continue;
        };
        let mut caller = Caller::of(settings.clone());
        assert_eq!(caller.ask(at_us(0), 999_999_999).remaining(), 1, "{settings:?}");
        assert!(!caller.passes(0, 2), "{settings:?}");
    }
}

#[test]
fn the_limit_in_the_last_instants_and_then_a_drip_through_two_counters() {
    let mut two = Caller::of(PolicySettings::SlidingTwoCounters { limit: 100, window_us: SECOND_US });
    assert!(two.passes(990_000, 100));
    let dripped = (1_000_000..1_990_000).step_by(1_000).filter(|at| two.passes(*at, 1)).count();
    assert_eq!(dripped, 98, "198 within one second: the stated bound is 200");
    let mut sub =
        Caller::of(PolicySettings::SlidingSubWindows { limit: 100, window_us: SECOND_US, sub_windows: 10 });
    assert!(sub.passes(990_000, 100));
    assert_eq!((1_000_000..2_000_000).step_by(1_000).filter(|at| sub.passes(*at, 1)).count(), 0);
}

#[test]
fn the_window_before_is_kept_for_two_windows() {
    let policy =
        Policy::try_from(PolicySettings::SlidingTwoCounters { limit: 10, window_us: SECOND_US }).unwrap();
    let spent = policy.check(policy.new_state(), at_us(0), 10);
    assert_eq!(spent.expiry, at_us(2 * SECOND_US));
    let later = policy.check(spent.state, at_us(SECOND_US + 500_000), 0).decision;
    assert_eq!(later.remaining(), 5);
}

#[test]
fn a_queue_spaces_evenly_and_its_clock_never_begins_anew() {
    let mut queue = Caller::of(PolicySettings::LeakyQueue { rate: 10, period_us: SECOND_US, max_waiting: 4 });
    let mut goes_on = Vec::new();
    for tick in 0..3_000_u64 {
        let now = at_us(tick * 1_237);
        if let Decision::Allowed { delay, .. } = queue.ask(now, 1) {
            goes_on.push(now.saturating_add(delay).as_micros());
        }
    }
    assert!(
        goes_on.windows(2).all(|pair| pair[1] - pair[0] >= 100_000),
        "two went on within a tenth of a second"
    );
    // 3.7 s at ten a second, the one that went at once, and the four that still wait.
    assert_eq!(goes_on.len(), 37 + 1 + 4);
}

#[test]
fn tries_while_locked_do_not_lengthen_the_lock() {
    let lock_us = 15 * MINUTE_US;
    let mut login = Caller::of(PolicySettings::Lockout { max: 5, window_us: MINUTE_US, lock_us });
    assert!(login.passes(0, 5));
    assert_eq!(login.ask(at_us(SECOND_US), 1).retry_after(), Some(Duration::from_micros(lock_us)));
    for try_us in (SECOND_US..SECOND_US + lock_us).step_by(10_000_000) {
        assert!(!login.passes(try_us, 1));
    }
    assert!(!login.passes(SECOND_US + lock_us - 1, 1));
    assert!(login.passes(SECOND_US + lock_us, 5));
}

#[test]
fn a_lockout_without_a_lock_refuses_until_its_window_ends() {
    let mut caller = Caller::of(PolicySettings::Lockout { max: 3, window_us: SECOND_US, lock_us: 0 });
    assert!(caller.passes(900_000, 3));
    assert_eq!(caller.ask(at_us(900_000), 1).retry_after(), Some(Duration::from_millis(100)));
    assert!(caller.passes(SECOND_US, 1));
}

#[test]
fn peeks_and_costs_that_never_pass_begin_no_lock() {
    let mut caller =
        Caller::of(PolicySettings::Lockout { max: 3, window_us: SECOND_US, lock_us: 30 * SECOND_US });
    assert!(caller.passes(0, 3));
    assert!(caller.passes(0, 0));
    assert!(!caller.passes(0, 4));
    assert!(caller.passes(SECOND_US, 3), "no lock began");
}

#[test]
fn a_month_is_the_calendar_s_and_one_moment_decides() {
    let month = |limit| PolicySettings::LongQuota {
        limit,
        calendar: shared::limiter::calendar::Calendar::Month,
        zone: "UTC".to_owned(),
    };
    // 2027-03-31T23:59:59.999999Z and the next microsecond.
    let last = Timestamp::from_micros(1_806_537_600_000_000 - 1);
    let first = Timestamp::from_micros(1_806_537_600_000_000);
    let mut caller = Caller::of(month(1));
    assert!(caller.ask(last, 1).is_allowed());
    let refused = caller.ask(last, 1);
    assert_eq!((refused.remaining(), refused.retry_after()), (0, Some(Duration::from_micros(1))));
    let next = caller.ask(first, 1);
    assert_eq!(next.reset_after(), Duration::from_secs(30 * 86_400), "all of April");
    // February of a leap year that is a century's: 2000-02-01.
    let mut leap = Caller::of(month(1));
    assert_eq!(
        leap.ask(Timestamp::from_millis(949_363_200_000), 1).reset_after(),
        Duration::from_secs(29 * 86_400)
    );
}

#[test]
fn settings_beyond_the_arithmetic_are_refused() {
    let check =
        |settings: PolicySettings, want: PolicyError| assert_eq!(Policy::try_from(settings), Err(want));
    let window_us = SECOND_US;
    let most = LOG_LIMIT_MAX;
    assert!(Policy::try_from(PolicySettings::SlidingLog { limit: most, window_us }).is_ok());
    check(PolicySettings::SlidingLog { limit: most + 1, window_us }, PolicyError::LimitTooLarge { most });
    let most = SUB_WINDOWS_MAX;
    let parts =
        |sub_windows, window_us| PolicySettings::SlidingSubWindows { limit: 1, window_us, sub_windows };
    assert!(Policy::try_from(parts(most, window_us)).is_ok());
    check(parts(most + 1, window_us), PolicyError::SubWindows { most });
    check(parts(0, window_us), PolicyError::SubWindows { most });
    check(parts(8, 7), PolicyError::SubWindows { most });
    check(parts(8, 0), PolicyError::PeriodNotWholeMicros);
    let bucket = |capacity, period_us| PolicySettings::IntervalBucket { capacity, refill: 1, period_us };
    let whole = Timestamp::MAX.as_micros();
    assert!(Policy::try_from(bucket(1, whole)).is_ok());
    check(bucket(2, whole), PolicyError::BeyondResolution);
    check(bucket(1, whole + 1), PolicyError::PeriodTooLong);
    check(
        PolicySettings::LeakyQueue { rate: 1, period_us: 1, max_waiting: Cost::MAX },
        PolicyError::BeyondResolution,
    );
    let zone = "Asia/Atlantis".to_owned();
    check(
        PolicySettings::LongQuota { limit: 1, calendar: shared::limiter::calendar::Calendar::Day, zone },
        PolicyError::UnknownZone,
    );
}

#[test]
fn the_compact_form_is_read_or_refused_with_place_and_reason() {
    let read = |text: &str| text.parse::<CompactLockout>();
    let setting = read("false|3|1|0").unwrap();
    assert_eq!((setting.enabled, setting.max, setting.window_s.get(), setting.lock_s), (false, 3, 1, 0));
    assert_eq!(read(&CompactLockout::BUILT_IN.to_string()), Ok(CompactLockout::BUILT_IN));
    assert_eq!(CompactLockout::BUILT_IN.to_string(), "false|3|1|30");
    assert!(read("true|4294967295|4294967295|4294967295").unwrap().policy().is_ok());

    let number = |text: &str, field: CompactField, least: u32, found: &str| {
        assert_eq!(read(text), Err(CompactError::NotANumber { field, least, found: found.to_owned() }));
    };
    number("true|-1|1|30", CompactField::Max, 0, "-1");
    number("true|+3|1|30", CompactField::Max, 0, "+3");
    number("true||1|30", CompactField::Max, 0, "");
    number("true|3.5|1|30", CompactField::Max, 0, "3.5");
    number("true|4294967296|1|30", CompactField::Max, 0, "4294967296");
    number("true|3|0|30", CompactField::Window, 1, "0");
    number("true|3| 1|30", CompactField::Window, 1, " 1");
    number("true|3|1|30s", CompactField::Lock, 0, "30s");
    number("true|3|1|٣", CompactField::Lock, 0, "٣");
    let long = "9".repeat(1_000);
    number(&format!("true|{long}|1|30"), CompactField::Max, 0, &long[..32]);
    for (text, parts) in [("", 1), ("true|3|1", 3), ("true|3|1|30|", 5), ("true|3|1|30|x|y", 6)] {
        assert_eq!(read(text), Err(CompactError::Parts { parts }), "{text}");
    }
    for found in ["True", "1", "yes", " true", ""] {
        assert_eq!(read(&format!("{found}|3|1|30")), Err(CompactError::NotABool { found: found.to_owned() }));
    }
    assert_eq!(
        read("true|3|1|x").unwrap_err().to_string(),
        "lock_s (part 4 of 4): a whole number from 0 to 4294967295, not \"x\""
    );
}

#[test]
fn a_check_without_a_holder_takes_no_permit() {
    let mut caller = Caller::of(PolicySettings::Concurrency { permits: 3, life_us: SECOND_US });
    assert_eq!(caller.ask(at_us(0), 1).retry_after(), None);
    let held = caller.policy.check_for(caller.state.clone(), at_us(0), 2, Some(Holder([1; 16])));
    assert_eq!(held.decision.remaining(), 1);
}
