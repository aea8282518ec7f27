"""Windows: fixed, sliding, and in parts."""
from rows import MS, S, row


def fixed():
    minute = {"limit": 60, "window_us": 60 * S, "aligned": True}
    row("fixed_sixty_on_both_sides_of_a_minute", "fixed_window", minute,
        [(59 * S, 60), (59 * S, 1), (60 * S - 1, 1), (60 * S, 60), (60 * S, 1), (60 * S, 0)],
        "twice the limit across one boundary: the stated bound", "bound", "L40")
    ten = {"limit": 10, "window_us": S, "aligned": True}
    row("fixed_refusal_takes_nothing", "fixed_window", ten, [(0, 8), (0, 5), (0, 1), (0, 1), (0, 1), (0, 11), (0, 0)],
        "8, 5, 1, 1 of 10: allow, deny, allow, allow", "refusal", "L54 L55")
    row("fixed_time_left_not_the_whole_window", "fixed_window", ten, [(100_000, 10), (900_000, 1), (999_999, 1), (S, 1)],
        "with 80 % of the window gone, the wait is what is left of it", "wait", "L74")
    row("fixed_refund_into_its_own_window_only", "fixed_window", ten,
        [(900_000, 6), (950_000, 6, "refund", 900_000), (950_000, 100, "refund", 950_000), (960_000, 10), (S, 5),
         (S + 1, 10, "refund", 960_000), (S + 1, 5), (S + 1, 1)],
        "a refund from the window before gives nothing, and none goes above the limit", "refund", "L53")
    row("fixed_clock_goes_back_over_the_boundary", "fixed_window", ten,
        [(10 * S, 10), (9 * S, 1), (9 * S, 0), (11 * S - 1, 1), (11 * S, 1), (10 * S, 9), (10 * S, 1)],
        "the key stays in the window of its last admission", "clock", "L22")
    first = {"limit": 3, "window_us": S, "aligned": False}
    row("fixed_from_the_first_hit", "fixed_window", first,
        [(700_000, 1), (1_699_999, 2), (1_699_999, 1), (1_700_000, 3), (1_700_000, 1), (5_000_000, 0), (5_000_000, 1),
         (5_999_999, 2), (5_999_999, 1), (6_000_000, 1)],
        "the window runs from the first admission; a peek begins none", "bound", "L16")
    row("fixed_zero_denies_all", "fixed_window", {"limit": 0, "window_us": S, "aligned": True},
        [(0, 1), (0, 0), (3600 * S, 1)], "0 means deny all: no wait helps", "never", "L50")
    row("fixed_very_long_window", "fixed_window", {"limit": 1, "window_us": 3_000_000 * S, "aligned": False},
        [(5, 1), (50_005, 1), (3_000_000 * S + 4, 1), (3_000_000 * S + 5, 1)], "3,000,000 s is a number, not a timer", "numbers", "L27")


def log():
    row("log_half_open", "sliding_log", {"limit": 1, "window_us": S}, [(5, 1), (S + 4, 1), (S + 5, 1), (S + 5, 1)],
        "what passed exactly one window ago no longer counts", "bound", "L34")
    p = {"limit": 5, "window_us": S}
    row("log_waits_for_as_many_units_as_it_needs", "sliding_log", p,
        [(0, 2), (200_000, 1), (500_000, 2), (600_000, 1), (600_000, 3), (600_000, 4), (600_000, 6), (S, 3), (S, 2), (1_200_000, 1)],
        "a cost of 3 waits for the oldest 3 units, wherever they are", "wait", "L71")
    row("log_no_burst_across_anything", "sliding_log", {"limit": 100, "window_us": S},
        [(980_000, 100), (1_010_000, 100), (1_979_999, 1), (1_980_000, 100), (1_980_000, 1)], "never above 100 in any second", "bound", "L40")
    row("log_refund", "sliding_log", p,
        [(0, 3), (100_000, 2), (200_000, 3, "refund", 0), (200_000, 4), (200_000, 3), (1_050_000, 2, "refund", 0),
         (1_100_000, 1), (1_100_000, 2)],
        "what has left the window is not given back again", "refund", "L53")
    row("log_clock_goes_back", "sliding_log", p, [(10 * S, 5), (9 * S, 1), (10_999_999, 1), (11 * S, 5), (3 * S, 1)],
        "entries stay in order", "clock", "L20")


def two():
    p = {"limit": 100, "window_us": S}
    row("two_counters_spent_late_then_a_drip", "sliding_two_counters", p,
        [(990_000, 100), (1_000_000, 1), (1_009_999, 1), (1_010_000, 1), (1_500_000, 49), (1_500_000, 1), (1_990_000, 49), (1_990_000, 1)],
        "199 pass in one second: the stated bound is twice the limit", "bound", "L42 L60")
    row("two_counters_exact_fractions", "sliding_two_counters", {"limit": 3, "window_us": S},
        [(500_000, 3), (1_333_333, 1), (1_333_334, 1), (1_666_666, 1), (1_666_667, 1), (1_666_667, 1), (1_999_999, 2), (2_000_000, 1), (9 * S, 3)],
        "a third of a window is 333,333 1/3 us: no rounding in favour of either side", "numbers", "L51")
    row("two_counters_needs_the_next_window", "sliding_two_counters", {"limit": 10, "window_us": S},
        [(0, 4), (1_000_000, 5), (1_100_000, 6), (1_100_000, 1), (1_100_000, 10), (1_100_000, 11), (2_000_000, 6), (2_200_000, 6)],
        "what this window took must leave too: the wait reaches into the next", "wait", "L60")
    row("two_counters_refund_by_window", "sliding_two_counters", {"limit": 10, "window_us": S},
        [(900_000, 10), (1_500_000, 5), (1_500_000, 5, "refund", 900_000), (1_500_000, 2), (1_600_000, 7, "refund", 1_500_000),
         (2_000_000, 4, "refund", 900_000), (2_000_000, 10)],
        "each counter gets back its own", "refund", "L53")
    row("two_counters_clock_goes_back", "sliding_two_counters", {"limit": 10, "window_us": S},
        [(2_000_000, 6), (1_000_000, 5), (1_000_000, 4), (1_999_999, 1), (2_900_000, 1), (3_000_000, 1), (3_100_000, 1)],
        "no window that was left comes again", "clock", "L22")


def sub():
    row("sub_windows_each_leaves_whole", "sliding_sub_windows", {"limit": 10, "window_us": S, "sub_windows": 4},
        [(0, 3), (249_999, 2), (250_000, 5), (250_000, 1), (1_000_000, 1), (1_249_999, 1), (1_250_000, 6), (1_250_000, 5), (1_499_999, 1), (1_500_000, 5), (1_500_000, 1)],
        "the units of 0 and of 0.249999 leave together, at 1.25 s", "bound", "L34")
    row("sub_windows_that_do_not_divide", "sliding_sub_windows", {"limit": 2, "window_us": S, "sub_windows": 3},
        [(333_333, 1), (333_334, 1), (1_333_333, 1), (1_333_334, 1), (1_333_334, 1), (1_666_666, 1), (1_666_667, 1)],
        "a third of a second is 333,333 1/3 us: parts begin at the next whole microsecond", "numbers", "L49")
    row("sub_windows_one_part", "sliding_sub_windows", {"limit": 1, "window_us": S, "sub_windows": 1},
        [(500_000, 1), (1_999_999, 1), (2_000_000, 1)], "with one part a key behaves as if its window were twice as long", "bound", "")
    row("sub_windows_refund", "sliding_sub_windows", {"limit": 10, "window_us": S, "sub_windows": 10},
        [(50_000, 6), (450_000, 4), (500_000, 6, "refund", 50_000), (500_000, 7), (500_000, 6), (1_200_000, 6, "refund", 50_000), (1_200_000, 1)],
        "its own part, and nothing once that has left", "refund", "L53")
    row("sub_windows_clock_goes_back", "sliding_sub_windows", {"limit": 10, "window_us": S, "sub_windows": 10},
        [(5 * S, 10), (4 * S, 1), (5_999_999, 1), (6_100_000, 10), (6_000_000, 1)], "the key stands still", "clock", "L20")


def more_windows():
    """Whole milliseconds and windows from the first hit too, so that limiters with coarse clocks can be asked."""
    p = {"limit": 5, "window_us": S, "aligned": False}
    row("first_hit_wait_from_both_sides", "fixed_window", p,
        [(0, 5), (0, 1), (400 * MS, 1), (999 * MS, 1), (1_000 * MS, 1), (1_000 * MS, 4), (1_999 * MS, 1), (2_000 * MS, 5)],
        "denied one millisecond before the wait ends, allowed when it ends", "wait", "L74 L70")
    row("first_hit_refusal_takes_nothing", "fixed_window", {"limit": 10, "window_us": 60 * S, "aligned": False},
        [(0, 8), (0, 5), (0, 1), (0, 1), (0, 1)], "8, 5, 1, 1 of 10: allow, deny, allow, allow", "refusal", "L54 L55")
    row("first_hit_refusals_one_by_one", "fixed_window", {"limit": 3, "window_us": 60 * S, "aligned": False},
        [(0, 1), (0, 1), (0, 1), (0, 1), (30 * S, 1), (59_999 * MS, 1), (60 * S, 1), (60 * S, 1)],
        "refused calls neither count nor begin the window anew", "refusal", "L16 L54")
    row("first_hit_refund_never_above_the_limit", "fixed_window", {"limit": 10, "window_us": 60 * S, "aligned": False},
        [(0, 4), (S, 4, "refund", 0), (S, 100, "refund", 0), (S, 10), (S, 1)],
        "given back twice and a hundredfold, it is still 10", "refund", "L53")
    row("first_hit_refund_from_a_window_that_ended", "fixed_window", p,
        [(0, 5), (1_500 * MS, 5), (1_600 * MS, 5, "refund", 0), (1_600 * MS, 1)],
        "what was taken in the window before is not given back in this one", "refund", "L53")
    row("first_hit_never_and_not_yet", "fixed_window", {"limit": 5, "window_us": 60 * S, "aligned": False},
        [(0, 6), (0, 2), (0, 4), (0, 6), (0, 3)],
        "6 of 5 can never pass and has no wait; 4 with 3 left waits", "never", "L77 L55")
    row("first_hit_peek_begins_nothing", "fixed_window", p,
        [(0, 0, "peek"), (0, 0), (300 * MS, 5), (900 * MS, 0, "peek"), (900 * MS, 0), (1_299 * MS, 1), (1_300 * MS, 1)],
        "looking costs nothing and begins no window", "peek")
    row("first_hit_header_seconds", "fixed_window", {"limit": 1, "window_us": 2 * S, "aligned": False},
        [(0, 1), (100 * MS, 1), (1_000 * MS, 1), (1_001 * MS, 1), (1_999 * MS, 1), (1_999 * MS, 2), (2_000 * MS, 1)],
        "Retry-After in whole seconds: 1.9 s is 2, 1 ms is 1, never 0; what can never pass has none", "wait", "L70 L71 L73 L76 L77", header=True)
    row("first_hit_header_of_ones", "fixed_window", {"limit": 2, "window_us": 2 * S, "aligned": False},
        [(0, 1), (0, 1), (100 * MS, 1), (1_000 * MS, 1), (1_001 * MS, 1), (1_999 * MS, 1), (2_000 * MS, 1)],
        "the same for requests of one", "wait", "L70 L71 L73 L76", header=True)
    row("first_hit_ones_from_both_sides", "fixed_window", {"limit": 2, "window_us": S, "aligned": False},
        [(300 * MS, 1), (700 * MS, 1), (700 * MS, 1), (1_299 * MS, 1), (1_300 * MS, 1), (1_300 * MS, 1), (1_300 * MS, 1), (2_300 * MS, 1)],
        "requests of one: the window runs from the first hit, whatever comes later", "wait", "L16 L74")
    row("first_hit_very_long_window_of_ones", "fixed_window", {"limit": 1, "window_us": 3_000_000 * S, "aligned": False},
        [(0, 1), (50 * MS, 1), (S, 1), (2_999_999 * S, 1), (3_000_000 * S, 1)], "3,000,000 s are more than a timer counts", "numbers", "L27")
    row("first_hit_keys_of_ones", "fixed_window", {"limit": 1, "window_us": 60 * S, "aligned": False},
        [(0, 1, "a"), (0, 1, "a"), (0, 1, "b"), (30 * S, 1, "a"), (60 * S, 1, "a"), (60 * S, 1, "c")], "what one key spent is nobody else's", "bound", key=True)
    row("first_hit_ones_clock_goes_back", "fixed_window", {"limit": 2, "window_us": S, "aligned": False},
        [(60 * S, 1), (60 * S, 1), (50 * S, 1), (60_999 * MS, 1), (61 * S, 1)], "a step back of ten seconds frees nobody", "clock", "L20 L22")
    row("first_hit_clock_goes_back", "fixed_window", p,
        [(60 * S, 5), (50 * S, 1), (60_999 * MS, 1), (61 * S, 5)], "the key stands still for at most the step", "clock", "L20 L22")
    row("first_hit_keys_do_not_touch", "fixed_window", {"limit": 2, "window_us": 60 * S, "aligned": False},
        [(0, 2, "a"), (0, 1, "a"), (0, 2, "b"), (S, 1, "b"), (S, 1, "a"), (S, 1, "c")],
        "what one key spent is nobody else's", "bound", key=True)
    row("fixed_one_microsecond_windows", "fixed_window", {"limit": 1, "window_us": 1, "aligned": True},
        [(7, 1), (7, 1), (8, 1), (8, 1)], "the shortest window of all", "numbers", "L10")
    row("fixed_limit_of_2_to_53", "fixed_window", {"limit": (1 << 53) - 1, "window_us": S, "aligned": True},
        [(0, (1 << 53) - 2), (0, 2), (0, 1), (0, 1)], "no digit of a large count is lost", "beyond_2_53", "L12 L47")
    row("fixed_last_seconds_of_time", "fixed_window", {"limit": 2, "window_us": S, "aligned": False},
        [((1 << 53) - 2 * S - 2, 1), ((1 << 53) - 2 * S, 2), ((1 << 53) - S - 3, 1), ((1 << 53) - S - 2, 2)], "the clock's last seconds", "numbers", "L26")
    row("fixed_cost_beyond_everything", "fixed_window", {"limit": 10, "window_us": S, "aligned": True},
        [(0, 9), (0, (1 << 64) - 1), (0, 1), (0, (1 << 64) - 1)], "a cost of 2^64 - 1 overflows nothing", "beyond_2_53", "L47 L26")
    row("fixed_limit_beyond_everything", "fixed_window", {"limit": (1 << 64) - 1, "window_us": S, "aligned": True},
        [(0, (1 << 64) - 2), (0, 2), (0, 1), (0, 1), (S, (1 << 64) - 1)], "a limit of 2^64 - 1 still limits", "beyond_2_53", "L46 L47")
    row("log_wait_from_both_sides", "sliding_log", {"limit": 3, "window_us": S},
        [(0, 1), (300 * MS, 1), (600 * MS, 1), (700 * MS, 1), (700 * MS, 2), (999 * MS, 1), (1_000 * MS, 1), (1_299 * MS, 1), (1_300 * MS, 1)],
        "each unit waits for the oldest that leaves", "wait", "L70 L34")
    row("log_refusal_takes_nothing", "sliding_log", {"limit": 10, "window_us": S}, [(0, 8), (0, 5), (0, 1), (0, 1), (0, 1)],
        "8, 5, 1, 1 of 10", "refusal", "L54 L58")
    row("log_never_and_zero", "sliding_log", {"limit": 0, "window_us": S}, [(0, 1), (0, 0), (9 * S, 1)], "0 denies all", "never", "L50")
    row("two_counters_refusal_takes_nothing", "sliding_two_counters", {"limit": 10, "window_us": S},
        [(0, 8), (0, 5), (0, 1), (0, 1), (0, 1)], "8, 5, 1, 1 of 10", "refusal", "L54 L55")
    row("two_counters_wait_from_both_sides", "sliding_two_counters", {"limit": 10, "window_us": S},
        [(500 * MS, 10), (1_000 * MS, 1), (1_099 * MS, 1), (1_100 * MS, 1), (1_100 * MS, 1), (1_199 * MS, 1), (1_200 * MS, 1)],
        "a tenth of the window before leaves each 100 ms", "wait", "L60")
    row("two_counters_window_before_is_kept", "sliding_two_counters", {"limit": 10, "window_us": S},
        [(0, 10), (1_500 * MS, 6), (1_500 * MS, 5), (1_999 * MS, 5), (2_500 * MS, 8)],
        "a state forgotten after one window would give the whole limit again", "bound", "L60")
    row("two_counters_never_and_zero", "sliding_two_counters", {"limit": 0, "window_us": S}, [(0, 1), (0, 0)], "0 denies all", "never", "L50")
    row("two_counters_beyond_everything", "sliding_two_counters", {"limit": (1 << 64) - 1, "window_us": S},
        [(500 * MS, (1 << 64) - 1), (500 * MS, 1), (1_500 * MS, 1 << 63), (1_500 * MS, 1 << 62)],
        "limit times window is beyond 64 bits", "beyond_2_53", "L26 L46")
    row("sub_windows_refusal_takes_nothing", "sliding_sub_windows", {"limit": 10, "window_us": S, "sub_windows": 10},
        [(0, 8), (0, 5), (0, 1), (0, 1), (0, 1)], "8, 5, 1, 1 of 10", "refusal", "L54 L55")
    row("sub_windows_wait_from_both_sides", "sliding_sub_windows", {"limit": 4, "window_us": S, "sub_windows": 4},
        [(0, 1), (250 * MS, 1), (500 * MS, 2), (600 * MS, 1), (1_249 * MS, 1), (1_250 * MS, 1), (1_250 * MS, 1), (1_499 * MS, 1), (1_500 * MS, 1)],
        "a part leaves whole, one window after it ended", "wait", "L34")
    row("sub_windows_never_and_zero", "sliding_sub_windows", {"limit": 0, "window_us": S, "sub_windows": 2}, [(0, 1), (0, 0)], "0 denies all", "never", "L50")
    row("sub_windows_beyond_everything", "sliding_sub_windows", {"limit": (1 << 64) - 1, "window_us": S, "sub_windows": 3},
        [(0, (1 << 64) - 1), (1_333_333, 1), (1_333_334, (1 << 64) - 1), ((1 << 53) - 2 * S, (1 << 64) - 1)],
        "counts of 2^64 - 1, up to the last seconds of time", "beyond_2_53", "L26 L46")
