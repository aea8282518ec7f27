"""Several limiters at once: all take, or none."""
from rows import MS, S, layers


def together():
    def gcra(burst, rate=None, period_us=S):
        return {"limiter": "gcra", "burst_capacity": burst, "rate": rate or burst, "period_us": period_us}

    def window(limit):
        return {"limiter": "fixed_window", "limit": limit, "window_us": 60 * S, "aligned": False}

    a, b, c = {"user": "a"}, {"user": "b"}, {"user": "c"}
    layers("layers_one_client_drains_nobody", {"user": gcra(1), "all": gcra(3)},
           [(0, 1, a), *[(0, 1, a)] * 5, (0, 1, b), (0, 1, c), (0, 1, {"user": "d"})],
           "six calls of one user take one of the global three; the fourth user is bound by the global limit", "L100 L102")
    layers("layers_windows_refusal_takes_nothing", {"user": window(1), "all": window(3)},
           [(0, 1, a), (0, 1, a), (0, 1, a), (0, 1, b), (0, 1, c), (0, 1, {"user": "d"})],
           "the same in plain windows", "L100 L102")
    layers("layers_refusal_of_the_outer_takes_nothing_inside", {"user": window(2), "all": window(2)},
           [(0, 1, a), (0, 1, b), (0, 1, a), (0, 1, a), (60 * S, 1, a), (60 * S, 1, a)],
           "who is refused by the global limit has spent nothing of their own", "L102 L103")
    layers("layers_longest_wait_binds", {"fast": gcra(1, 1, S), "slow": gcra(1, 1, 60 * S)},
           [(0, 1, {}), (0, 1, {}), (1_000 * MS, 1, {}), (59_999 * MS, 1, {}), (60 * S, 1, {})], "the answer names the larger wait")
    layers("layers_of_equal_waits_the_first", {"one": gcra(2), "two": gcra(2)}, [(0, 2, {}), (0, 1, {}), (500 * MS, 1, {})], "equal waits: the first that is named")
    layers("layers_never_is_the_longest_wait", {"small": gcra(2), "large": gcra(5, 1, 60 * S)},
           [(0, 2, {}), (0, 3, {}), (0, 6, {}), (1_000 * MS, 2, {})], "3 of 2 can never pass, however soon the other layer could; of two nevers the first", "L77")
    layers("layers_cost_on_every_layer", {"user": gcra(10), "all": gcra(12)},
           [(0, 8, a), (0, 5, a), (0, 5, b), (0, 4, b), (0, 1, a)], "8, then 5 too many for both, 5 too many for one, and 4 that pass", "L54 L100")
    layers("layers_peek_takes_nothing", {"user": gcra(2), "all": gcra(3)}, [(0, 0, a), (0, 2, a), (0, 0, a), (0, 1, a), (0, 1, b), (0, 0, c)], "what remains is the least of the layers")
    layers("layers_of_different_limiters", {"login": {"limiter": "lockout", "max": 2, "window_us": S, "lock_us": 30 * S}, "all": gcra(100)},
           [(0, 2, {"login": "x"}), (0, 1, {"login": "x"}), (10 * S, 1, {"login": "x"}), (10 * S, 100, {"login": "y"}), (10 * S, 2, {"login": "y"}), (30 * S, 1, {"login": "x"})],
           "a lock holds whatever the other layer says; 100 of 2 can never pass", "L100 L112")
    layers("layers_refund_to_all", {"user": gcra(2), "all": gcra(3)},
           [(0, 2, a), (0, 2, a, 0), (0, 2, b), (0, 2, a), (0, 1, a)], "given back to every layer", "L53 L103")
    layers("layers_clock_goes_back", {"user": gcra(1), "all": gcra(5)}, [(60 * S, 1, a), (30 * S, 1, b), (60 * S, 1, a), (61 * S, 1, a)], "each key stands still by itself", "L20")
