"""Policies that change while keys are counted."""
from rows import MS, S, row, utc


def changes():
    def change(name, limiter, policy, steps, note, about, faults):
        row(name, limiter, policy, steps, note, about, faults, "set_policy")

    def gcra(burst, rate):
        return {"burst_capacity": burst, "rate": rate, "period_us": S}

    def window(limit):
        return {"limit": limit, "window_us": S, "aligned": True}

    change("lowered_limit_binds_at_once", "gcra", gcra(10, 10),
           [(0, 8), (0, 0, "set_policy", (gcra(5, 5), "keep")), (0, 1), (200_000, 1), (200_000, 1), (S, 0, "peek")],
           "8 of 10 in use fill the new 5: nothing until one has come back", "change", "L126")
    change("raised_limit_leaves_in_use_what_was", "gcra", gcra(10, 10),
           [(0, 10), (500_000, 0, "set_policy", (gcra(20, 20), "keep")), (500_000, 16), (500_000, 15), (750_000, 5)],
           "5 of 10 had come back under the old rate; the 5 in use stay in use", "change", "L125 L128")
    change("share_in_use_is_kept", "gcra", gcra(10, 10),
           [(0, 4), (0, 0, "set_policy", (gcra(100, 10), "proportional")), (0, 61), (0, 60)], "4 of 10 are 40 of 100", "change", "L126")
    change("reset_begins_as_new", "gcra", gcra(10, 10), [(0, 10), (0, 0, "set_policy", (gcra(5, 5), "reset")), (0, 5), (0, 1)], "all 5 at once", "change", "L126")
    change("unchanged_policy_again_and_again", "gcra", gcra(2, 1),
           [(0, 2), *[(k * 100_000, 0, "set_policy", (gcra(2, 1), "keep")) for k in range(1, 6)], (500_000, 1), (S, 1), (S, 1)],
           "a reload is no fresh bucket", "change", "L125")
    change("window_lowered_and_raised", "fixed_window", window(10),
           [(100_000, 8), (200_000, 0, "set_policy", (window(5), "keep")), (200_000, 1), (300_000, 0, "set_policy", (window(20), "keep")),
            (300_000, 16), (300_000, 15), (S, 20)],
           "what a lower limit cannot hold is forgotten, and does not come back with a higher one", "change", "L126 L128")
    change("window_share_is_rounded_up", "fixed_window", window(10),
           [(0, 1), (0, 0, "set_policy", (window(3), "proportional")), (0, 3), (0, 2)], "0.3 of a unit in use is one", "change", "L126")
    change("bucket_keeps_what_is_missing", "interval_bucket", {"capacity": 10, "refill": 2, "period_us": S},
           [(0, 10), (2 * S, 0, "set_policy", ({"capacity": 20, "refill": 2, "period_us": S}, "keep")), (2 * S, 15), (2 * S, 14), (3 * S, 2)],
           "two refills had come; 6 are missing of the 20 too", "change", "L125")
    change("log_keeps_its_newest", "sliding_log", {"limit": 5, "window_us": S},
           [(0, 2), (400_000, 3), (500_000, 0, "set_policy", ({"limit": 3, "window_us": S}, "keep")), (1_000_000, 1), (1_399_999, 1), (1_400_000, 3)],
           "the two oldest make room for the lower limit", "change", "L126")
    change("lock_outlives_a_higher_limit", "lockout", {"compact": "true|3|1|30"},
           [(0, 3), (0, 1), (0, 0, "set_policy", ({"compact": "true|100|1|5"}, "keep")), (S, 1), (30 * S - 1, 1), (30 * S, 100)],
           "a lock goes on as long as it was begun for", "change", "L126")
    change("lock_ends_by_reset", "lockout", {"compact": "true|3|1|30"},
           [(0, 3), (0, 1), (0, 0, "set_policy", ({"compact": "true|3|1|30"}, "reset")), (0, 3), (0, 1)], "reset begins as new", "change", "L126")
    change("another_algorithm_counts_what_is_in_use", "gcra", gcra(10, 10),
           [(0, 8), (200_000, 0, "set_policy", ({"limiter": "fixed_window", **window(10)}, "keep")), (200_000, 5), (200_000, 4), (S, 10)],
           "6 of 10 are in use, in the window of the change", "change", "L126")


def more_changes():
    def change(name, limiter, policy, steps, note, faults):
        row(name, limiter, policy, steps, note, "change", faults, "set_policy")

    noon = utc(2027, 3, 14, 12)
    day = {"limit": 10, "calendar": "day", "zone": "UTC"}
    change("quota_lowered_at_noon", "long_quota", day,
           [(noon, 8), (noon, 0, "set_policy", ({**day, "limit": 5}, "keep")), (noon, 1), (noon, 0, "set_policy", ({**day, "limit": 20}, "keep")), (noon, 16), (noon, 15)],
           "8 of 10 fill the 5; raised again, 5 are in use and not 8", "L126 L128")
    change("quota_share_at_noon", "long_quota", day,
           [(noon, 5), (noon, 0, "set_policy", ({**day, "limit": 100}, "proportional")), (noon, 51), (noon, 50)], "half stays half", "L126")
    change("bucket_lowered_binds_at_once", "interval_bucket", {"capacity": 10, "refill": 2, "period_us": S},
           [(0, 8), (0, 0, "set_policy", ({"capacity": 5, "refill": 2, "period_us": S}, "keep")), (0, 1), (1_000 * MS, 2), (1_000 * MS, 1)],
           "8 missing of 10 empty the 5; its periods go on", "L126")
    change("first_hit_window_goes_on", "fixed_window", {"limit": 10, "window_us": S, "aligned": False},
           [(300 * MS, 8), (700 * MS, 0, "set_policy", ({"limit": 5, "window_us": S, "aligned": False}, "keep")), (700 * MS, 1), (1_299 * MS, 1), (1_300 * MS, 5)],
           "the window that was begun ends when it would have ended", "L126 L16")
    change("lockout_raised_while_counting", "lockout", {"compact": "true|3|60|30"},
           [(0, 3), (0, 0, "set_policy", ({"compact": "true|5|60|30"}, "keep")), (0, 2), (0, 1), (29_999 * MS, 1), (30 * S, 1)],
           "3 of 3 are 3 of 5; the sixth locks", "L126")
    change("lowered_to_zero_and_back", "gcra", {"burst_capacity": 10, "rate": 10, "period_us": S},
           [(0, 4), (0, 0, "set_policy", ({"burst_capacity": 0, "rate": 10, "period_us": S}, "keep")), (0, 1), (500 * MS, 1),
            (500 * MS, 0, "set_policy", ({"burst_capacity": 10, "rate": 10, "period_us": S}, "keep")), (500 * MS, 10), (500 * MS, 1)],
           "0 holds nothing in use, so that nothing comes back from it", "L50 L126")
    change("faster_rate_from_now_on", "gcra", {"burst_capacity": 10, "rate": 1, "period_us": S},
           [(0, 10), (1_000 * MS, 0, "set_policy", ({"burst_capacity": 10, "rate": 10, "period_us": S}, "keep")), (1_000 * MS, 2), (1_000 * MS, 1), (1_100 * MS, 1), (1_100 * MS, 1)],
           "one had come back at the old rate; from here on ten a second", "L125 L126")
    change("reload_of_the_same_window", "fixed_window", {"limit": 2, "window_us": 60 * S, "aligned": False},
           [(0, 2), *[(k * S, 0, "set_policy", ({"limit": 2, "window_us": 60 * S, "aligned": False}, "keep")) for k in (1, 2, 3)], (4 * S, 1), (59_999 * MS, 1), (60 * S, 2)],
           "reloaded three times with nothing changed: no fresh window", "L125")
