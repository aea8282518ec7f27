"""Locks, calendars, permits."""
from rows import MS, S, row, utc


def lockout():
    row("lockout_without_lock_waits_for_the_window", "lockout", {"compact": "true|3|1|0"},
        [(10_400_000, 3), (10_400_000, 1), (10_999_999, 1), (11_000_000, 1), (11_000_000, 0)],
        "lock 0: refused until the window ends, and never locked", "lock", "L74")
    row("lockout_restarts_inside_the_same_window", "lockout", {"max": 2, "window_us": 60 * S, "lock_us": S},
        [(0, 2), (10 * S, 1), (10_500_000, 1), (11 * S, 2), (11 * S, 1), (12 * S, 1)],
        "after the lock the count starts at 0, also inside the same window", "lock", "L112")
    row("lockout_peek_while_locked", "lockout", {"compact": "true|1|1|30"},
        [(0, 0), (0, 1), (0, 0), (0, 1), (S, 0), (S, 0, "peek"), (30 * S - 1, 1), (30 * S, 1)],
        "cost 0 never counts nor locks, and shows the lock", "peek", "")
    row("lockout_cost_above_max_never_locks", "lockout", {"compact": "true|3|1|30"},
        [(0, 4), (0, 2), (0, 4), (0, 2), (0, 4), (0, 1)],
        "a cost that can never pass is the caller's fault: null, and no lock; 2 + 2 is one too many and locks", "never", "L77")
    row("lockout_tries_every_ten_seconds", "lockout", {"compact": "true|5|60|900"},
        [(0, 5), (S, 1), *[(S + k * 10 * S, 1) for k in (1, 30, 60, 89)], (901 * S - 1, 1), (901 * S, 1)],
        "a client that keeps trying is let in when the lock ends", "lock", "L112")
    row("lockout_refund", "lockout", {"compact": "true|3|1|30"},
        [(0, 3), (100_000, 1, "refund", 0), (100_000, 1), (200_000, 1), (300_000, 3, "refund", 0), (30_200_000, 1)],
        "a refund makes room for one more call, but ends no lock", "refund", "L53")
    row("lockout_zero", "lockout", {"compact": "true|0|1|30"}, [(0, 1), (0, 0)], "0 denies all, and no wait helps", "never", "L50")


def quota():
    day, month = {"limit": 10, "calendar": "day", "zone": "UTC"}, {"limit": 10, "calendar": "month", "zone": "UTC"}
    eve = utc(2027, 3, 31, 23, 59, 59)
    row("quota_day_utc", "long_quota", day,
        [(utc(2027, 3, 14, 9, 30), 8), (utc(2027, 3, 14, 9, 30), 5), (utc(2027, 3, 14, 23, 59, 59), 2), (utc(2027, 3, 15) - 1, 1), (utc(2027, 3, 15), 10), (utc(2027, 3, 15), 11)],
        "midnight is half-open", "calendar", "L28")
    row("quota_month_utc", "long_quota", month, [(eve, 10), (eve, 1), (utc(2027, 4, 1), 1), (utc(2027, 4, 30, 12), 10), (utc(2027, 5, 1), 10)],
        "calendar months, not blocks of 30 days", "calendar", "L31")
    row("quota_february_of_leap_years", "long_quota", month,
        [(utc(2028, 2, 1), 10), (utc(2028, 2, 29), 1), (utc(2028, 3, 1), 10), (utc(2100, 2, 28), 10), (utc(2100, 2, 28), 1), (utc(2100, 3, 1), 1)],
        "2028 has a 29 February, 2100 has none", "calendar", "L31 L32")
    row("quota_refund_stays_in_its_day", "long_quota", day,
        [(utc(2027, 3, 14, 23), 10), (utc(2027, 3, 14, 23, 30), 4, "refund", utc(2027, 3, 14, 23)), (utc(2027, 3, 14, 23, 30), 4), (utc(2027, 3, 15), 10),
         (utc(2027, 3, 15, 1), 10, "refund", utc(2027, 3, 14, 23, 30)), (utc(2027, 3, 15, 1), 1)],
        "yesterday's quota is not given back today", "refund", "L53")
    row("quota_clock_goes_back_over_midnight", "long_quota", day, [(utc(2027, 3, 15), 10), (utc(2027, 3, 14, 23), 1), (utc(2027, 3, 16), 10)], "the key stays in its day", "clock", "L28")
    zones = "long_quota_zones"

    def local(name, zone, calendar, steps, note, about, faults):
        row(name, "long_quota", {"limit": 10, "calendar": calendar, "zone": zone}, steps, note, about, faults, zones)

    local("quota_day_taipei", "Asia/Taipei", "day",
          [(utc(2027, 3, 14, 15, 59, 59), 10), (utc(2027, 3, 14, 15, 59, 59), 1), (utc(2027, 3, 14, 16), 10)], "midnight in Taipei is 16:00 UTC", "calendar", "L30")
    local("quota_month_taipei", "Asia/Taipei", "month",
          [(utc(2027, 2, 28, 15), 10), (utc(2027, 2, 28, 16), 10), (utc(2027, 3, 31, 15, 59, 59), 1), (utc(2027, 3, 31, 16), 1)], "the month ends with the local day", "calendar", "L30 L31")
    local("quota_new_york_23_and_25_hours", "America/New_York", "day",
          [(utc(2026, 3, 8, 5), 10), (utc(2026, 3, 8, 5), 1), (utc(2026, 3, 9, 4), 1), (utc(2026, 11, 1, 4), 10), (utc(2026, 11, 1, 4), 1), (utc(2026, 11, 2, 4, 59, 59), 1), (utc(2026, 11, 2, 5), 1)],
          "the days on which clocks change last 23 and 25 hours", "calendar", "L30")
    local("quota_midnight_that_is_skipped", "America/Sao_Paulo", "day",
          [(utc(2018, 11, 4, 2, 59, 59), 10), (utc(2018, 11, 4, 2, 59, 59), 1), (utc(2018, 11, 4, 3), 10), (utc(2018, 11, 4, 3), 1)],
          "on 2018-11-04 clocks went from 00:00 to 01:00: the day begins at 01:00, which is 03:00 UTC", "calendar", "L30")
    local("quota_midnight_that_is_seen_twice", "America/St_Johns", "day",
          [(utc(2010, 11, 7, 2, 29, 59), 10), (utc(2010, 11, 7, 2, 29, 59), 1), (utc(2010, 11, 7, 2, 30), 10), (utc(2010, 11, 7, 2, 31), 1), (utc(2010, 11, 7, 3, 0), 1), (utc(2010, 11, 8, 3, 30), 1)],
          "on 2010-11-07 clocks went from 00:01 back to 23:01: the day that had begun goes on", "calendar", "L30")
    local("quota_day_that_never_was", "Pacific/Apia", "day",
          [(utc(2011, 12, 30, 9, 59, 59), 10), (utc(2011, 12, 30, 9, 59, 59), 1), (utc(2011, 12, 30, 10), 10), (utc(2011, 12, 30, 10), 1), (utc(2011, 12, 31, 10), 1)],
          "Samoa had no 30 December 2011: the 29th is followed by the 31st", "calendar", "L30")
    local("quota_month_in_summer_time", "Europe/Berlin", "month",
          [(utc(2027, 3, 31, 21, 59, 59), 10), (utc(2027, 3, 31, 21, 59, 59), 1), (utc(2027, 3, 31, 22), 1), (utc(2027, 10, 15), 9), (utc(2027, 10, 31, 22, 59, 59), 1), (utc(2027, 10, 31, 23), 10)],
          "the month begins in one offset and ends in another", "calendar", "L30 L31")


def permits():
    p = {"permits": 2, "life_us": 30 * S}
    row("permits_two_at_once", "concurrency", p,
        [(0, 1, "take", "a"), (S, 1, "take", "b"), (2 * S, 1, "take", "c"), (3 * S, 1, "give", "a"), (3 * S, 1, "take", "c"), (3 * S, 1, "take", "d")],
        "a permit that is given back is free at once; the wait counts on nobody giving back", "permits", "")
    row("permits_given_twice_or_by_another", "concurrency", p,
        [(0, 1, "take", "a"), (0, 1, "take", "b"), (S, 1, "give", "x"), (S, 1, "give", "a"), (S, 1, "give", "a"), (S, 1, "take", "c"), (S, 1, "take", "d")],
        "nobody but the holder frees a permit, and once", "permits", "L111")
    row("permits_of_a_holder_that_died", "concurrency", p,
        [(0, 1, "take", "a"), (10 * S, 1, "take", "b"), (30 * S - 1, 1, "take", "c"), (30 * S, 1, "take", "c"), (31 * S, 1, "give", "a"), (31 * S, 1, "take", "d"), (40 * S, 1, "take", "d")],
        "its life ends, half-open; what it gives back later is nobody else's", "permits", "L109")
    row("permits_with_weight", "concurrency", {"permits": 5, "life_us": 30 * S},
        [(0, 3, "take", "a"), (S, 2, "take", "b"), (2 * S, 3, "take", "c"), (2 * S, 4, "take", "c"), (2 * S, 6, "take", "c"), (2 * S, 0, "take", "c"), (3 * S, 3, "give", "a"), (3 * S, 3, "take", "c")],
        "a permit may weigh more than one; more than all can never pass", "permits", "L77")
    row("permits_renewed_by_their_holder", "concurrency", p,
        [(0, 1, "take", "a"), (20 * S, 1, "take", "a"), (40 * S, 2, "take", "b"), (49 * S, 1, "take", "a"), (49 * S, 1, "take", "b"), (78 * S, 2, "take", "b"), (79 * S, 2, "take", "b")],
        "taking again renews the one permit of a holder; it has not two", "permits", "L109 L111")


def more_special():
    row("lockout_never_locks_without_an_attempt_too_many", "lockout", {"compact": "true|3|60|900"},
        [(0, 1), (S, 1), (2 * S, 1), (59 * S, 0), (60 * S, 1), (60 * S, 2), (61 * S, 1)], "three of three are no lock; the fourth is", "lock", "L112")
    row("lockout_lock_runs_over_window_ends", "lockout", {"max": 2, "window_us": S, "lock_us": 5 * S},
        [(0, 2), (0, 1), (1_000 * MS, 1), (4_999 * MS, 1), (5_000 * MS, 2), (5_000 * MS, 1)], "a new window frees nobody who is locked", "lock", "L96 L112")
    row("lockout_clock_goes_back", "lockout", {"max": 1, "window_us": S, "lock_us": 10 * S},
        [(60 * S, 1), (60 * S, 1), (30 * S, 1), (69_999 * MS, 1), (70 * S, 1)], "no step back shortens or lengthens a lock", "clock", "L20 L22")
    row("lockout_header_seconds", "lockout", {"compact": "true|1|1|30"},
        [(0, 1), (0, 1), (100 * MS, 1), (29_999 * MS, 1), (30_000 * MS, 1)], "30 s, then 29.9 s which are 30, then 1", "wait", "L70 L71", header=True)
    row("lockout_keys_do_not_touch", "lockout", {"compact": "true|1|1|30"},
        [(0, 1, "a"), (0, 1, "a"), (0, 1, "b"), (S, 1, "a"), (S, 1, "b")], "a locked key locks nobody else", "lock", key=True)
    row("lockout_beyond_everything", "lockout", {"max": (1 << 64) - 1, "window_us": S, "lock_us": S},
        [(0, (1 << 64) - 1), (0, 1), (1_000 * MS, (1 << 64) - 1)], "2^64 - 1 attempts", "beyond_2_53", "L47")
    day = {"limit": 10, "calendar": "day", "zone": "UTC"}
    noon = utc(2027, 3, 14, 12)
    row("quota_refusal_takes_nothing", "long_quota", day, [(noon, 8), (noon, 5), (noon, 1), (noon, 1), (noon, 1)], "8, 5, 1, 1 of 10", "refusal", "L54 L55")
    row("quota_never_and_zero", "long_quota", {**day, "limit": 0}, [(noon, 1), (noon, 0)], "0 denies all", "never", "L50")
    row("quota_peek_begins_no_day", "long_quota", day, [(noon, 0, "peek"), (noon, 0), (noon, 10), (noon, 0)], "a day that nobody used is as new", "peek")
    row("quota_year_changes", "long_quota", {"limit": 1, "calendar": "month", "zone": "UTC"},
        [(utc(2027, 12, 31, 23, 59, 59), 1), (utc(2027, 12, 31, 23, 59, 59), 1), (utc(2028, 1, 1), 1), (utc(2028, 1, 31), 1)], "December ends with the year", "calendar", "L31 L32")
    row("quota_last_whole_day_of_time", "long_quota", day, [((1 << 53) - 86_400 * S, 10), ((1 << 53) - 86_400 * S, 1)], "the clock ends in the year 2255", "numbers", "L26")
    row("quota_day_lord_howe_half_an_hour", "long_quota", {**day, "zone": "Australia/Lord_Howe"},
        [(utc(2027, 4, 3, 13), 10), (utc(2027, 4, 4, 13, 29, 59), 1), (utc(2027, 4, 4, 13, 30), 1)],
        "clocks go back by 30 minutes only: the day lasts 24.5 hours", "calendar", "L30", file="long_quota_zones")
    row("quota_day_kathmandu", "long_quota", {**day, "zone": "Asia/Kathmandu"},
        [(utc(2027, 3, 14, 18, 14, 59), 10), (utc(2027, 3, 14, 18, 14, 59), 1), (utc(2027, 3, 14, 18, 15), 10)],
        "5 hours and 45 minutes before UTC", "calendar", "L30", file="long_quota_zones")
    row("permits_clock_goes_back", "concurrency", {"permits": 1, "life_us": 10 * S},
        [(60 * S, 1, "take", "a"), (30 * S, 1, "take", "b"), (69_999 * MS, 1, "take", "b"), (70 * S, 1, "take", "b")], "a life is counted in the key's own time", "clock", "L20")
    row("permits_refusal_holds_nothing", "concurrency", {"permits": 3, "life_us": 10 * S},
        [(0, 2, "take", "a"), (0, 2, "take", "b"), (0, 1, "take", "c"), (0, 1, "take", "d"), (S, 2, "give", "a"), (S, 2, "take", "b")],
        "who is refused holds no permit", "refusal", "L54")
    row("permits_zero", "concurrency", {"permits": 0, "life_us": S}, [(0, 1, "take", "a"), (0, 0, "peek")], "0 denies all", "never", "L50")
