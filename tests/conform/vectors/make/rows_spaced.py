"""What comes back over time: GCRA, the interval-refill bucket, the leaky queue."""
from rows import MS, S, row


def gcra():
    row("gcra_thirds_keep_their_remainder", "gcra", {"burst_capacity": 3, "rate": 3, "period_us": 1000000},
        [(0, 3), (333333, 1), (333334, 1), (666666, 1), (666667, 1), (999999, 1), (1000000, 1), (1000000, 1), (2000000, 3), (2333333, 1), (2333334, 1)],
        "a unit comes back every 333,333 1/3 us: in one second three, never four, and nothing drifts", "numbers", "L51")
    row("gcra_700_million_per_second", "gcra", {"burst_capacity": 700000000, "rate": 700000000, "period_us": 1000000},
        [(0, 700000000), (0, 1), (1, 700), (1, 1), (1000001, 700000000), (1000001, 1), (1500001, 350000001), (1500001, 350000000)],
        "700 units each microsecond; a limiter in whole nanoseconds would give 1,000,000,000 per second", "numbers", "L46 L49")
    row("gcra_finer_than_a_microsecond", "gcra", {"burst_capacity": 2000003, "rate": 2000003, "period_us": 1000000},
        [(0, 2000003), (1, 2), (1, 1), (2, 2), (3, 2), (999999, 1999992), (1000000, 4), (1000000, 2)],
        "2.000003 units each microsecond", "numbers", "L49 L51")
    row("gcra_seven_per_day", "gcra", {"burst_capacity": 1, "rate": 7, "period_us": 86400000000},
        [(0, 1), (12342857142, 1), (12342857143, 1), (24685714285, 1), (24685714286, 1), (86400000000, 1)],
        "86,400 s do not divide by 7", "numbers", "L51")
    row("gcra_burst_zero_denies_all", "gcra", {"burst_capacity": 0, "rate": 5, "period_us": 1000000},
        [(0, 1), (0, 0), (3600000000, 1), (3600000000, 9007199254740991)],
        "0 means deny all: no wait helps; a peek may still look", "never", "L50")
    row("gcra_rate_zero_denies_all", "gcra", {"burst_capacity": 5, "rate": 0, "period_us": 1000000},
        [(0, 1), (0, 0), (3600000000, 5)],
        "a rate of 0 would admit the burst once and then never: it denies all from the start", "never", "L50")
    row("gcra_refund_same_instant", "gcra", {"burst_capacity": 10, "rate": 10, "period_us": 1000000},
        [(0, 8), (0, 5), (0, 8, "refund", None), (0, 0, "peek"), (0, 100, "refund", None), (0, 10), (0, 1)],
        "a refund never goes above the maximum", "refund", "L53")
    row("gcra_refund_knows_when_it_was_taken", "gcra", {"burst_capacity": 5, "rate": 1, "period_us": 1000000},
        [(0, 5), (5000000, 5), (5000000, 5, "refund", 0), (5000000, 1), (6000000, 5, "refund", 5000000), (6000000, 5), (6000000, 1)],
        "what came back by itself is not given back again: refunding the first five at 5 s frees nothing", "refund", "L53")
    row("gcra_peek_and_refusal_leave_the_clock", "gcra", {"burst_capacity": 2, "rate": 1, "period_us": 1000000},
        [(1000000, 2), (9000000, 0, "peek"), (9000000, 3), (1500000, 1), (2000000, 1), (2000000, 1)],
        "time is held by admissions only: after a peek in the future the key goes on in its own time", "peek", "")
    row("gcra_step_back_then_forward", "gcra", {"burst_capacity": 2, "rate": 2, "period_us": 1000000},
        [(10000000, 2), (5000000, 1), (9999999, 1), (10499999, 1), (10500000, 1), (11000000, 1), (11000000, 1)],
        "a step back makes the key stand still for at most the step", "clock", "L20 L23")


def more_gcra():
    def per_second(burst, rate):
        return {"burst_capacity": burst, "rate": rate, "period_us": S}

    row("gcra_wait_from_both_sides", "gcra", per_second(5, 10),
        [(0, 5), (0, 1), (99 * MS, 1), (100 * MS, 1), (100 * MS, 1), (150 * MS, 3), (399 * MS, 3), (400 * MS, 3), (400 * MS, 1)],
        "denied one millisecond before the wait ends, allowed when it ends, also for a cost of 3", "wait", "L70 L71")
    row("gcra_ones_from_both_sides", "gcra", per_second(3, 2),
        [(0, 1), (0, 1), (0, 1), (0, 1), (250 * MS, 1), (499 * MS, 1), (500 * MS, 1), (500 * MS, 1), (999 * MS, 1), (1_000 * MS, 1), (9 * S, 1), (9 * S, 1), (9 * S, 1), (9 * S, 1)],
        "single requests on whole milliseconds: a refused one moves nothing, and idle time gives the burst and no more", "wait", "L44 L16")
    row("gcra_burst_of_one", "gcra", per_second(1, 1),
        [(0, 1), (0, 1), (1 * MS, 1), (500 * MS, 1), (999 * MS, 1), (1_000 * MS, 1), (1_001 * MS, 1)],
        "no burst at all: one each second", "bound", "L10 L62")
    row("gcra_header_seconds", "gcra", per_second(5, 5),
        [(0, 5), (0, 1), (0, 5), (100 * MS, 5), (199 * MS, 1), (199 * MS, 6), (200 * MS, 1)],
        "Retry-After in whole seconds: 200 ms is 1, never 0; what can never pass has none", "wait", "L70 L71 L73 L76 L77", header=True)
    row("gcra_header_rounds_up", "gcra", {"burst_capacity": 2, "rate": 1, "period_us": 2 * S},
        [(0, 2), (100 * MS, 1), (1_000 * MS, 1), (1_999 * MS, 1), (1_999 * MS, 2), (2_000 * MS, 1)],
        "1.9 s is 2, 1.001 s is 2, 1 ms is 1", "wait", "L70 L71", header=True)
    row("gcra_refused_ones_take_nothing", "gcra", per_second(2, 1),
        [(0, 1), (0, 1), (0, 1), (100 * MS, 1), (200 * MS, 1), (999 * MS, 1), (1_000 * MS, 1), (1_000 * MS, 1), (2_000 * MS, 1)],
        "a client that hammers is let in when its unit has come back, not later", "refusal", "L15 L54")
    row("gcra_remaining_on_refusal", "gcra", per_second(10, 1),
        [(0, 8), (0, 3), (0, 10), (0, 2), (0, 1)], "with 2 left, refused requests say 2, and 2 pass", "refusal", "L55 L56")
    row("gcra_never_and_not_yet", "gcra", per_second(5, 1),
        [(0, 1), (0, 5), (0, 6), (1_000 * MS, 6), (1_000 * MS, 5), (1_000 * MS, (1 << 53) - 1)],
        "5 of 5 waits, 6 of 5 can never pass", "never", "L77")
    row("gcra_peek_takes_nothing", "gcra", per_second(2, 1),
        [(0, 0, "peek"), (0, 2), (0, 0, "peek"), (0, 0), (500 * MS, 0), (999 * MS, 1), (1_000 * MS, 1)], "looked at five times, spent as if never", "peek")
    row("gcra_refund_is_not_a_gift", "gcra", per_second(10, 10),
        [(0, 10), (500 * MS, 10, "refund", 0), (500 * MS, 11), (500 * MS, 10), (500 * MS, 10, "refund", 500 * MS), (500 * MS, 10), (500 * MS, 1)],
        "half has come back by itself, and is not given back twice", "refund", "L53")
    row("gcra_burst_after_long_idle", "gcra", per_second(5, 5),
        [(0, 5), (2 * S, 5), (2 * S, 1), (3600 * S, 5), (3600 * S, 1), (86_400 * S, 6), (86_400 * S, 5), (86_400 * S, 1)],
        "idle for two intervals, an hour, a day: exactly the burst", "bound", "L26 L44")
    row("gcra_poll_every_50_ms", "gcra", per_second(5, 5), [(k * 50 * MS, 1) for k in range(21)],
        "from rest, burst plus rate: 5 and then one each 200 ms", "bound", "L43")
    row("gcra_step_back_of_hours", "gcra", per_second(5, 1),
        [(36_000 * S, 3), (7_200 * S, 2), (7_200 * S, 1), (36_000 * S, 1), (36_001 * S, 1)],
        "set back 8 hours, a key has what it had; the wait is counted from its own last moment", "clock", "L20 L22")
    row("gcra_step_forward_is_one_burst", "gcra", per_second(5, 1),
        [(0, 5), (3600 * S, 5), (3600 * S, 1), (0, 1), (3601 * S, 1)], "a step forward gives one burst, and the way back nothing", "clock", "L23 L24")
    row("gcra_keys_do_not_touch", "gcra", per_second(2, 1),
        [(0, 2, "a"), (0, 1, "a"), (0, 2, "b"), (S, 1, "b"), (S, 1, "a"), (S, 1, "c")], "what one key spent is nobody else's", "bound", key=True)
    row("gcra_by_the_name_of_token_bucket", "token_bucket", per_second(3, 3), [(0, 3), (0, 1), (1_000 * MS, 3)], "one engine", "bound", file="gcra")
    row("gcra_by_the_name_of_leaky_meter", "leaky_meter", per_second(3, 3), [(0, 2), (0, 2), (0, 1), (1_000 * MS, 3)], "one engine", "bound", file="gcra")
    row("gcra_thirds_for_twenty_units", "gcra", per_second(2, 3), [(0, 2), *[(-(-k * S // 3), 1) for k in range(1, 21)], (20 * S // 3, 1)],
        "one each third of a second, asked at the microsecond after it: twenty pass, none is lost, and there is not one more", "numbers", "L51")
    row("gcra_thousand_million_per_second", "gcra", per_second(1_000_000_000, 1_000_000_000),
        [(0, 999_999_999), (0, 2), (0, 1), (0, 1), (1, 1_000), (1, 1), (500_001, 500_000_000), (500_001, 1)],
        "a limit that fast still limits", "numbers", "L46")
    row("gcra_burst_of_2_to_53", "gcra", {"burst_capacity": (1 << 53) - 1, "rate": 1, "period_us": 1},
        [(0, (1 << 53) - 1), (0, 1), (1, 1), (1, 1), (5, 4), (5, (1 << 53) - 1)], "no digit is lost", "beyond_2_53", "L12 L47")
    row("gcra_last_moment_of_time", "gcra", per_second(2, 2),
        [((1 << 53) - 1, 2), ((1 << 53) - 1, 1), (0, 1)], "the clock's last microsecond: waits go beyond it without overflow", "numbers", "L26")
    row("gcra_beyond_everything", "gcra", {"burst_capacity": (1 << 64) - 1, "rate": 1, "period_us": 1},
        [(0, (1 << 64) - 1), (0, 1), (1, 1), (1, (1 << 64) - 1), (2, 1)], "a burst of 2^64 - 1", "beyond_2_53", "L26 L47")
    row("gcra_cost_beyond_everything", "gcra", per_second(10, 10),
        [(0, 9), (0, (1 << 64) - 1), (0, 1), (0, 0, "peek")], "a cost of 2^64 - 1 is refused for good and takes nothing", "beyond_2_53", "L47 L77")


def bucket():
    p = {"capacity": 30, "refill": 2, "period_us": S}
    row("bucket_restored_two_per_second_up_to_thirty", "interval_bucket", p,
        [(0, 30), (0, 1), (999_999, 1), (S, 3), (S, 2), (S, 1), (3_500_000, 5), (3_500_000, 4), (3_500_000, 1), (100 * S, 30), (100 * S, 31)],
        "whole periods that passed are made good in one step, never above the capacity", "bound", "L44")
    row("bucket_refusal_takes_nothing", "interval_bucket", {"capacity": 10, "refill": 10, "period_us": S},
        [(0, 8), (0, 5), (0, 1), (0, 1), (0, 1)], "8, 5, 1, 1 of 10", "refusal", "L54 L55")
    row("bucket_waits_whole_periods", "interval_bucket", {"capacity": 7, "refill": 3, "period_us": S},
        [(250_000, 7), (250_000, 1), (250_000, 3), (250_000, 4), (250_000, 7), (250_000, 8), (1_250_000, 3), (2_249_999, 1), (2_250_000, 3)],
        "periods begin with the admission that found the bucket full", "wait", "L71")
    row("bucket_begins_again_when_full", "interval_bucket", {"capacity": 2, "refill": 2, "period_us": S},
        [(0, 1), (900_000, 1), (S, 2), (1_700_000, 1), (2_000_000, 2), (2_600_000, 1), (3_599_999, 2), (3_600_000, 2)],
        "a full bucket is as one that was never used: its next period begins with its next admission", "bound", "L45")
    row("bucket_long_idle", "interval_bucket", {"capacity": 700_000, "refill": 700_000, "period_us": 3600 * S},
        [(0, 700_000), (12 * 3600 * S, 700_000), (12 * 3600 * S, 1), (400 * 86_400 * S, 700_000), (400 * 86_400 * S, 1)],
        "no idle time overflows or gives more than the capacity", "numbers", "L26 L44")
    row("bucket_zero_refill_denies_all", "interval_bucket", {"capacity": 5, "refill": 0, "period_us": S},
        [(0, 1), (0, 0), (3600 * S, 1)], "what never comes back is never given", "never", "L50")
    row("bucket_clock_goes_back", "interval_bucket", {"capacity": 2, "refill": 1, "period_us": S},
        [(100 * S, 2), (40 * S, 1), (100_999_999, 1), (101 * S, 1), (101 * S, 1)], "a clock that goes back gives no refill", "clock", "L20")


def leaky():
    row("queue_tells_each_its_delay", "leaky_queue", {"rate": 10, "period_us": S, "max_waiting": 3},
        [(0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (50_000, 1), (100_000, 1), (100_000, 1), (S, 1)],
        "one goes at once, three wait, the fifth is refused until a place is free", "queue", "")
    row("queue_thirds", "leaky_queue", {"rate": 3, "period_us": S, "max_waiting": 2},
        [(0, 1), (0, 1), (0, 1), (0, 1), (333_333, 1), (333_334, 1), (1_333_332, 0), (1_333_334, 1)],
        "a place every 333,333 1/3 us; a delay is rounded up, so that none goes too early", "queue", "L51")
    row("queue_larger_cost_holds_the_way_longer", "leaky_queue", {"rate": 10, "period_us": S, "max_waiting": 4},
        [(0, 3), (0, 1), (0, 2), (0, 1), (0, 6), (400_000, 5), (400_000, 1)], "three units keep the next waiting 0.3 s", "queue", "")
    row("queue_that_holds_nobody", "leaky_queue", {"rate": 1, "period_us": S, "max_waiting": 0},
        [(0, 1), (999_999, 1), (S, 1), (S, 2)], "max_waiting 0: at once or not at all", "queue", "")
    row("queue_clock_goes_back", "leaky_queue", {"rate": 1, "period_us": S, "max_waiting": 1},
        [(10 * S, 1), (5 * S, 1), (9 * S, 1), (11 * S, 1)], "delays and waits are counted from the last admission", "clock", "L20")


def more_spaced():
    p = {"capacity": 5, "refill": 2, "period_us": S}
    row("bucket_wait_from_both_sides", "interval_bucket", p,
        [(0, 5), (0, 1), (999 * MS, 1), (1_000 * MS, 3), (1_000 * MS, 2), (1_999 * MS, 1), (2_000 * MS, 1)],
        "nothing comes back between two periods", "wait", "L70 L71")
    row("bucket_never_and_not_yet", "interval_bucket", p, [(0, 1), (0, 5), (0, 6), (0, (1 << 53) - 1), (1_000 * MS, 5)], "5 of 5 waits, 6 of 5 can never pass", "never", "L77")
    row("bucket_peek_takes_nothing", "interval_bucket", p,
        [(500 * MS, 0, "peek"), (500 * MS, 0), (700 * MS, 5), (1_600 * MS, 0, "peek"), (1_699 * MS, 1), (1_700 * MS, 2)], "a peek begins no period", "peek")
    row("bucket_refund_less_what_came_back", "interval_bucket", {"capacity": 10, "refill": 3, "period_us": S},
        [(0, 5), (1_000 * MS, 2), (1_000 * MS, 5, "refund", 0), (1_000 * MS, 9), (1_000 * MS, 8), (1_000 * MS, 1)],
        "a period had given back 3 of the 5: the refund gives the other 2", "refund", "L53")
    row("bucket_refund_from_before_it_was_full", "interval_bucket", {"capacity": 10, "refill": 5, "period_us": S},
        [(0, 10), (2_000 * MS, 10), (2_000 * MS, 10, "refund", 0), (2_000 * MS, 1)], "what refills have paid is not given back again", "refund", "L53")
    row("bucket_refund_never_above_the_capacity", "interval_bucket", p,
        [(0, 3), (0, 3, "refund", 0), (0, 100, "refund", 0), (0, 5), (0, 1)], "given back twice and a hundredfold, it is still 5", "refund", "L53")
    row("bucket_beyond_everything", "interval_bucket", {"capacity": (1 << 64) - 1, "refill": (1 << 64) - 1, "period_us": 1},
        [(0, (1 << 64) - 1), (0, 1), (1, (1 << 64) - 1), ((1 << 53) - 2, (1 << 64) - 1), ((1 << 53) - 2, 1)], "refills beyond 64 bits", "beyond_2_53", "L26 L46")
    q = {"rate": 2, "period_us": S, "max_waiting": 2}
    row("queue_refusal_takes_no_place", "leaky_queue", q,
        [(0, 1), (0, 1), (0, 1), (0, 1), (0, 3), (499 * MS, 1), (500 * MS, 1), (500 * MS, 1)],
        "who is refused holds no place, and the place is free when it is said", "refusal", "L54 L15")
    row("queue_spaces_by_its_rate", "leaky_queue", {"rate": 10, "period_us": S, "max_waiting": 9}, [(k * 40 * MS, 1) for k in range(12)],
        "however they come, one goes on each 100 ms", "bound", "L45")
    row("queue_never_and_zero", "leaky_queue", {"rate": 0, "period_us": S, "max_waiting": 3}, [(0, 1), (0, 0), (9 * S, 1)], "a rate of 0 denies all", "never", "L50")
    row("queue_cost_that_never_fits", "leaky_queue", q, [(0, 4), (0, 3), (0, 4)], "more than one and those that may wait", "never", "L77")
    row("queue_peek_takes_no_place", "leaky_queue", q, [(0, 0), (0, 1), (0, 0, "peek"), (0, 0), (0, 2)], "a peek shows the delay it would have", "peek")
