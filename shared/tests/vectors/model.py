#!/usr/bin/env python3
"""Golden rows of the limiters, from definitions and not from the code they test.

A limiter here is one question about the whole list of what was ever admitted: may `cost` pass at `t`? Everything else a
row wants is searched for: `remaining` is the largest cost that may, `retry_after` the first microsecond at which this
cost may, `reset_after` the first at which nothing counts any more. Fractions are exact; zones come from Python's own
`zoneinfo`. Writes `<limiter>.jsonl` beside itself: `python3 model.py`.
"""
import json
import os
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from zoneinfo import ZoneInfo

FAR = 1 << 53
INF = 1 << 62


class Model:
    """History of one key. `units` are [t, cost] of what was admitted and not given back."""

    def __init__(self, policy):
        self.policy, self.units, self.last = dict(policy), [], 0

    def key_time(self, t):
        return max(t, self.last)

    # What an algorithm defines.
    def limit(self):
        return self.policy["limit"]

    def fits(self, t, cost):
        raise NotImplementedError

    def as_new(self, t):
        """Nothing counts at t."""
        return self.fits(t, self.limit()) if self.limit() else True

    def delay(self, t):
        return None

    # What follows.
    def remaining(self, t):
        low, high = 0, self.limit()
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.fits(t, middle) else (low, middle - 1)
        return low

    def first(self, t, holds):
        """The first moment from t on at which `holds`, which stays true once it is."""
        if holds(t):
            return t
        low, span = t, 1
        while not holds(t + span):
            low, span = t + span, span * 2
        high = t + span
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return high

    def refused(self, t, cost):
        pass

    def admit(self, t, cost):
        self.units.append([t, cost])

    def want(self, t, ok, cost):
        now = self.key_time(t)
        want = {"ok": ok, "remaining": self.remaining(now)}
        if ok:
            want["retry_after_us"] = 0
        elif cost > self.limit():
            want["retry_after_us"] = None
        else:
            want["retry_after_us"] = self.first(now, lambda at: self.fits(at, cost)) - now
        want["reset_after_us"] = self.first(now, self.as_new) - now
        return want

    def take(self, t, cost):
        now = self.key_time(t)
        ok = cost == 0 or (cost <= self.limit() and self.fits(now, cost))
        delay = self.delay(now) if ok else None
        if ok and cost > 0:
            self.admit(now, cost)
            self.last = now
        elif not ok:
            self.refused(now, cost)
        want = self.want(t, ok, cost)
        if delay is not None:
            want["delay_us"] = delay
        return want

    def counts(self, t, taken):
        """Whether what was taken at `taken` still counts at t, so that it can be given back."""
        raise NotImplementedError

    def carried(self, used, previous_limit, how):
        scaled = used if how == "keep" else -(-used * self.limit() // previous_limit)
        return min(scaled, self.limit())

    def inherit(self, previous, t, how):
        """What `previous` counts at t is taken at t, as far as it is kept."""
        if how == "reset":
            return
        self.last = previous.key_time(t)
        used = self.carried(previous.used(self.last), previous.limit(), how)
        if used:
            self.units = [[self.last, used]]

    def refund(self, t, cost, taken):
        now = self.key_time(t)
        if self.counts(now, taken):
            for unit in reversed(self.units):
                if unit[0] == taken:
                    back = min(cost, unit[1])
                    unit[1] -= back
                    cost -= back
        return self.want(t, True, 0)


class FixedWindow(Model):
    def window_of(self, t):
        return t // self.policy["window_us"]

    def used(self, t):
        if self.policy["aligned"]:
            return sum(c for at, c in self.units if self.window_of(at) == self.window_of(t))
        used, ends = 0, 0
        for at, c in self.units:
            if at >= ends or used == 0:
                used, ends = 0, at + self.policy["window_us"]
            used += c
        return used if t < ends else 0

    def fits(self, t, cost):
        return self.used(t) + cost <= self.limit()

    def as_new(self, t):
        return self.used(t) == 0

    def counts(self, t, taken):
        if self.policy["aligned"]:
            return self.window_of(t) == self.window_of(taken)
        return taken + self.policy["window_us"] > t


class SlidingLog(Model):
    def used(self, t):
        return sum(c for at, c in self.units if at + self.policy["window_us"] > t)

    fits, as_new = FixedWindow.fits, FixedWindow.as_new

    def inherit(self, previous, t, how):
        """The newest units, as they came."""
        assert how != "proportional" and isinstance(previous, SlidingLog)
        super().inherit(previous, t, how)
        room, self.units = sum(c for _, c in self.units), []
        for at, c in reversed(previous.units if room else []):
            fits = min(c, room)
            self.units, room = [[at, fits], *self.units], room - fits

    def counts(self, t, taken):
        return taken + self.policy["window_us"] > t


class TwoCounters(Model):
    def weight(self, t):
        w = self.policy["window_us"]
        current = sum(c for at, c in self.units if at // w == t // w)
        previous = sum(c for at, c in self.units if at // w == t // w - 1)
        return current + Fraction(previous * (w - t % w), w)

    def fits(self, t, cost):
        return self.weight(t) + cost <= self.limit()

    def as_new(self, t):
        return self.weight(t) == 0

    def counts(self, t, taken):
        w = self.policy["window_us"]
        return taken // w >= t // w - 1


class SubWindows(Model):
    def index(self, t):
        return t * self.policy["sub_windows"] // self.policy["window_us"]

    def used(self, t):
        oldest = self.index(t) - self.policy["sub_windows"]
        return sum(c for at, c in self.units if self.index(at) >= oldest)

    fits, as_new = FixedWindow.fits, FixedWindow.as_new

    def counts(self, t, taken):
        return self.index(taken) >= self.index(t) - self.policy["sub_windows"]


class IntervalBucket(Model):
    def limit(self):
        return self.policy["capacity"] if self.policy["refill"] else 0

    def missing(self, t):
        """Every admission and every refill in their order; a refill comes before an admission of its moment."""
        period, refill = self.policy["period_us"], self.policy["refill"]
        missing, grid, ticked = 0, None, 0
        for at, c in [*self.units, [t, 0]]:
            if grid is not None:
                ticks = (at - grid) // period
                missing = max(0, missing - (ticks - ticked) * refill)
                ticked = ticks
            if missing == 0:
                grid, ticked = at, 0
            missing += c
        return missing

    def used(self, t):
        return self.missing(t)

    def fits(self, t, cost):
        return self.missing(t) + cost <= self.limit()

    def as_new(self, t):
        return self.missing(t) == 0


class LeakyQueue(Model):
    def limit(self):
        return self.policy["max_waiting"] + 1

    def backlog(self, t):
        """Time until all that was admitted has gone on, and its spacing has passed."""
        unit = Fraction(self.policy["period_us"], self.policy["rate"])
        free_at = Fraction(0)
        for at, c in self.units:
            free_at = max(free_at, at) + c * unit
        return max(Fraction(0), free_at - t)

    def fits(self, t, cost):
        unit = Fraction(self.policy["period_us"], self.policy["rate"])
        return self.backlog(t) + cost * unit <= self.limit() * unit

    def as_new(self, t):
        return self.backlog(t) == 0

    def delay(self, t):
        return -(-self.backlog(t) // 1)


class Gcra(LeakyQueue):
    def limit(self):
        return self.policy["burst_capacity"]

    def delay(self, t):
        return None

    def used(self, t):
        return self.backlog(t) * Fraction(self.policy["rate"], self.policy["period_us"])

    def carried(self, used, previous_limit, how):
        """Fractions of a unit are kept, so the share is not rounded."""
        return min(used, self.limit()) if how == "keep" else used * Fraction(self.limit(), previous_limit)


class Lockout(Model):
    def __init__(self, policy):
        super().__init__(policy)
        if "compact" in policy:
            _, most, window, lock = policy["compact"].split("|")
            self.numbers = int(most), int(window) * 10**6, int(lock) * 10**6
        else:
            self.numbers = policy["max"], policy["window_us"], policy["lock_us"]
        self.lock_ends = 0

    def limit(self):
        return self.numbers[0]

    def used(self, t):
        w = self.numbers[1]
        return sum(c for at, c in self.units if at // w == t // w and at >= self.lock_ends)

    def locked(self, t):
        return t < self.lock_ends

    def fits(self, t, cost):
        return cost == 0 or (not self.locked(t) and self.used(t) + cost <= self.limit())

    def as_new(self, t):
        return not self.locked(t) and self.used(t) == 0

    def inherit(self, previous, t, how):
        if how != "reset":
            self.lock_ends = previous.lock_ends
        super().inherit(previous, t, how)

    def refused(self, t, cost):
        if cost <= self.limit() and not self.locked(t) and self.numbers[2]:
            self.lock_ends = t + self.numbers[2]

    def counts(self, t, taken):
        w = self.numbers[1]
        return taken // w == t // w and taken >= self.lock_ends

    def want(self, t, ok, cost):
        return {**super().want(t, ok, cost), "locked": self.locked(self.key_time(t))}


class LongQuota(Model):
    """A period ends when the zone's clocks have first shown the next one's first midnight or later."""

    def shown(self, t):
        zone = ZoneInfo(self.policy["zone"])
        at = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=t)
        return at.astimezone(zone).replace(tzinfo=None)

    def period(self, t):
        # The latest date that the clocks have shown: 3 days, second by second where it matters, is enough.
        latest = max(self.shown(t - back) for back in [0, *(h * 900_000_000 for h in range(1, 12))])
        latest = max([latest, *(self.shown(t - s * 1_000_000) for s in range(0, 10_800, 30))])
        return (latest.year, latest.month) if self.policy["calendar"] == "month" else latest.date()

    def used(self, t):
        period = self.period(t)
        return sum(c for at, c in self.units if self.period(at) == period)

    fits, as_new = FixedWindow.fits, FixedWindow.as_new

    def counts(self, t, taken):
        return self.period(t) == self.period(taken)


class Concurrency(Model):
    def __init__(self, policy):
        super().__init__(policy)
        self.held = {}

    def limit(self):
        return self.policy["permits"]

    def weight(self, t, but=None):
        return sum(c for who, (c, ends) in self.held.items() if t < ends and who != but)

    def fits(self, t, cost, who=None):
        return self.weight(t, who) + cost <= self.limit()

    def as_new(self, t):
        return self.weight(t) == 0

    def take_as(self, t, cost, who):
        now = self.key_time(t)
        ok = cost == 0 or (cost <= self.limit() and self.fits(now, cost, who))
        if ok and cost > 0:
            self.held[who] = (cost, now + self.policy["life_us"])
            self.last = now
        want = self.want(t, ok, cost)
        if not ok and cost <= self.limit():
            want["retry_after_us"] = self.first(now, lambda at: self.fits(at, cost, who)) - now
        return want

    def give(self, t, who):
        self.held.pop(who, None)
        return self.want(t, True, 0)


KINDS = {
    "gcra": Gcra,
    "fixed_window": FixedWindow,
    "sliding_log": SlidingLog,
    "sliding_two_counters": TwoCounters,
    "sliding_sub_windows": SubWindows,
    "interval_bucket": IntervalBucket,
    "leaky_queue": LeakyQueue,
    "lockout": Lockout,
    "long_quota": LongQuota,
    "concurrency": Concurrency,
}
FILES = {}


def row(name, limiter, policy, steps, note, file=None):
    """Steps: (t, cost), (t, cost, "refund", taken), (t, 0, "peek"), (t, cost, "take"|"give", holder),
    (t, 0, "set_policy", (policy, inherit))."""
    model, out = KINDS[limiter](policy), []
    for step in steps:
        t, cost, op, extra = (*step, *[None] * (4 - len(step)))
        entry = {"t_us": t, "cost": cost}
        if op == "refund":
            entry.update(op="refund", taken_us=extra)
            want = model.refund(t, cost, extra)
        elif op == "set_policy":
            settings, how = extra
            changed = KINDS[settings.get("limiter", limiter)](settings)
            changed.inherit(model, t, how)
            model = changed
            entry.update(op=op, policy=settings, inherit=how)
            want = model.want(t, True, 0)
        elif op == "give":
            entry.update(op="give", holder=extra)
            want = model.give(t, extra)
        elif op == "take":
            entry.update(holder=extra)
            want = model.take_as(t, cost, extra)
        elif op == "peek":
            entry.update(op="peek")
            want = model.want(t, True, 0)
        else:
            want = model.take(t, cost)
        out.append({**entry, "want": want})
    line = {"name": name, "limiter": limiter, "policy": policy, "steps": out, "note": note}
    FILES.setdefault(file or limiter, []).append(json.dumps(line))


S = 1_000_000


def utc(*moment):
    return int(datetime(*moment, tzinfo=timezone.utc).timestamp()) * S


def fixed():
    minute = {"limit": 60, "window_us": 60 * S, "aligned": True}
    row("fixed_sixty_on_both_sides_of_a_minute", "fixed_window", minute,
        [(59 * S, 60), (59 * S, 1), (60 * S - 1, 1), (60 * S, 60), (60 * S, 1), (60 * S, 0)],
        "twice the limit across one boundary: the stated bound")
    ten = {"limit": 10, "window_us": S, "aligned": True}
    row("fixed_refusal_takes_nothing", "fixed_window", ten, [(0, 8), (0, 5), (0, 1), (0, 1), (0, 1), (0, 11), (0, 0)],
        "8, 5, 1, 1 of 10: allow, deny, allow, allow")
    row("fixed_time_left_not_the_whole_window", "fixed_window", ten, [(100_000, 10), (900_000, 1), (999_999, 1), (S, 1)],
        "with 80 % of the window gone, the wait is what is left of it")
    row("fixed_refund_into_its_own_window_only", "fixed_window", ten,
        [(900_000, 6), (950_000, 6, "refund", 900_000), (950_000, 100, "refund", 950_000), (960_000, 10), (S, 5),
         (S + 1, 10, "refund", 960_000), (S + 1, 5), (S + 1, 1)],
        "a refund from the window before gives nothing, and none goes above the limit")
    row("fixed_clock_goes_back_over_the_boundary", "fixed_window", ten,
        [(10 * S, 10), (9 * S, 1), (9 * S, 0), (11 * S - 1, 1), (11 * S, 1), (10 * S, 9), (10 * S, 1)],
        "the key stays in the window of its last admission")
    first = {"limit": 3, "window_us": S, "aligned": False}
    row("fixed_from_the_first_hit", "fixed_window", first,
        [(700_000, 1), (1_699_999, 2), (1_699_999, 1), (1_700_000, 3), (1_700_000, 1), (5_000_000, 0), (5_000_000, 1),
         (5_999_999, 2), (5_999_999, 1), (6_000_000, 1)],
        "the window runs from the first admission; a peek begins none")
    row("fixed_zero_denies_all", "fixed_window", {"limit": 0, "window_us": S, "aligned": True},
        [(0, 1), (0, 0), (3600 * S, 1)], "0 means deny all: no wait helps")
    row("fixed_very_long_window", "fixed_window", {"limit": 1, "window_us": 3_000_000 * S, "aligned": False},
        [(5, 1), (50_005, 1), (3_000_000 * S + 4, 1), (3_000_000 * S + 5, 1)], "3,000,000 s is a number, not a timer")


def log():
    row("log_half_open", "sliding_log", {"limit": 1, "window_us": S}, [(5, 1), (S + 4, 1), (S + 5, 1), (S + 5, 1)],
        "what passed exactly one window ago no longer counts")
    p = {"limit": 5, "window_us": S}
    row("log_waits_for_as_many_units_as_it_needs", "sliding_log", p,
        [(0, 2), (200_000, 1), (500_000, 2), (600_000, 1), (600_000, 3), (600_000, 4), (600_000, 6), (S, 3), (S, 2), (1_200_000, 1)],
        "a cost of 3 waits for the oldest 3 units, wherever they are")
    row("log_no_burst_across_anything", "sliding_log", {"limit": 100, "window_us": S},
        [(980_000, 100), (1_010_000, 100), (1_979_999, 1), (1_980_000, 100), (1_980_000, 1)], "never above 100 in any second")
    row("log_refund", "sliding_log", p,
        [(0, 3), (100_000, 2), (200_000, 3, "refund", 0), (200_000, 4), (200_000, 3), (1_050_000, 2, "refund", 0),
         (1_100_000, 1), (1_100_000, 2)],
        "what has left the window is not given back again")
    row("log_clock_goes_back", "sliding_log", p, [(10 * S, 5), (9 * S, 1), (10_999_999, 1), (11 * S, 5), (3 * S, 1)],
        "entries stay in order")


def two():
    p = {"limit": 100, "window_us": S}
    row("two_counters_spent_late_then_a_drip", "sliding_two_counters", p,
        [(990_000, 100), (1_000_000, 1), (1_009_999, 1), (1_010_000, 1), (1_500_000, 49), (1_500_000, 1), (1_990_000, 49), (1_990_000, 1)],
        "199 pass in one second: the stated bound is twice the limit")
    row("two_counters_exact_fractions", "sliding_two_counters", {"limit": 3, "window_us": S},
        [(500_000, 3), (1_333_333, 1), (1_333_334, 1), (1_666_666, 1), (1_666_667, 1), (1_666_667, 1), (1_999_999, 2), (2_000_000, 1), (9 * S, 3)],
        "a third of a window is 333,333 1/3 us: no rounding in favour of either side")
    row("two_counters_needs_the_next_window", "sliding_two_counters", {"limit": 10, "window_us": S},
        [(0, 4), (1_000_000, 5), (1_100_000, 6), (1_100_000, 1), (1_100_000, 10), (1_100_000, 11), (2_000_000, 6), (2_200_000, 6)],
        "what this window took must leave too: the wait reaches into the next")
    row("two_counters_refund_by_window", "sliding_two_counters", {"limit": 10, "window_us": S},
        [(900_000, 10), (1_500_000, 5), (1_500_000, 5, "refund", 900_000), (1_500_000, 2), (1_600_000, 7, "refund", 1_500_000),
         (2_000_000, 4, "refund", 900_000), (2_000_000, 10)],
        "each counter gets back its own")
    row("two_counters_clock_goes_back", "sliding_two_counters", {"limit": 10, "window_us": S},
        [(2_000_000, 6), (1_000_000, 5), (1_000_000, 4), (1_999_999, 1), (2_900_000, 1), (3_000_000, 1), (3_100_000, 1)],
        "no window that was left comes again")


def sub():
    row("sub_windows_each_leaves_whole", "sliding_sub_windows", {"limit": 10, "window_us": S, "sub_windows": 4},
        [(0, 3), (249_999, 2), (250_000, 5), (250_000, 1), (1_000_000, 1), (1_249_999, 1), (1_250_000, 6), (1_250_000, 5), (1_499_999, 1), (1_500_000, 5), (1_500_000, 1)],
        "the units of 0 and of 0.249999 leave together, at 1.25 s")
    row("sub_windows_that_do_not_divide", "sliding_sub_windows", {"limit": 2, "window_us": S, "sub_windows": 3},
        [(333_333, 1), (333_334, 1), (1_333_333, 1), (1_333_334, 1), (1_333_334, 1), (1_666_666, 1), (1_666_667, 1)],
        "a third of a second is 333,333 1/3 us: parts begin at the next whole microsecond")
    row("sub_windows_one_part", "sliding_sub_windows", {"limit": 1, "window_us": S, "sub_windows": 1},
        [(500_000, 1), (1_999_999, 1), (2_000_000, 1)], "with one part a key behaves as if its window were twice as long")
    row("sub_windows_refund", "sliding_sub_windows", {"limit": 10, "window_us": S, "sub_windows": 10},
        [(50_000, 6), (450_000, 4), (500_000, 6, "refund", 50_000), (500_000, 7), (500_000, 6), (1_200_000, 6, "refund", 50_000), (1_200_000, 1)],
        "its own part, and nothing once that has left")
    row("sub_windows_clock_goes_back", "sliding_sub_windows", {"limit": 10, "window_us": S, "sub_windows": 10},
        [(5 * S, 10), (4 * S, 1), (5_999_999, 1), (6_100_000, 10), (6_000_000, 1)], "the key stands still")


def bucket():
    p = {"capacity": 30, "refill": 2, "period_us": S}
    row("bucket_restored_two_per_second_up_to_thirty", "interval_bucket", p,
        [(0, 30), (0, 1), (999_999, 1), (S, 3), (S, 2), (S, 1), (3_500_000, 5), (3_500_000, 4), (3_500_000, 1), (100 * S, 30), (100 * S, 31)],
        "whole periods that passed are made good in one step, never above the capacity")
    row("bucket_refusal_takes_nothing", "interval_bucket", {"capacity": 10, "refill": 10, "period_us": S},
        [(0, 8), (0, 5), (0, 1), (0, 1), (0, 1)], "8, 5, 1, 1 of 10")
    row("bucket_waits_whole_periods", "interval_bucket", {"capacity": 7, "refill": 3, "period_us": S},
        [(250_000, 7), (250_000, 1), (250_000, 3), (250_000, 4), (250_000, 7), (250_000, 8), (1_250_000, 3), (2_249_999, 1), (2_250_000, 3)],
        "periods begin with the admission that found the bucket full")
    row("bucket_begins_again_when_full", "interval_bucket", {"capacity": 2, "refill": 2, "period_us": S},
        [(0, 1), (900_000, 1), (S, 2), (1_700_000, 1), (2_000_000, 2), (2_600_000, 1), (3_599_999, 2), (3_600_000, 2)],
        "a full bucket is as one that was never used: its next period begins with its next admission")
    row("bucket_long_idle", "interval_bucket", {"capacity": 700_000, "refill": 700_000, "period_us": 3600 * S},
        [(0, 700_000), (12 * 3600 * S, 700_000), (12 * 3600 * S, 1), (400 * 86_400 * S, 700_000), (400 * 86_400 * S, 1)],
        "no idle time overflows or gives more than the capacity")
    row("bucket_zero_refill_denies_all", "interval_bucket", {"capacity": 5, "refill": 0, "period_us": S},
        [(0, 1), (0, 0), (3600 * S, 1)], "what never comes back is never given")
    row("bucket_clock_goes_back", "interval_bucket", {"capacity": 2, "refill": 1, "period_us": S},
        [(100 * S, 2), (40 * S, 1), (100_999_999, 1), (101 * S, 1), (101 * S, 1)], "a clock that goes back gives no refill")


def leaky():
    row("queue_tells_each_its_delay", "leaky_queue", {"rate": 10, "period_us": S, "max_waiting": 3},
        [(0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (50_000, 1), (100_000, 1), (100_000, 1), (S, 1)],
        "one goes at once, three wait, the fifth is refused until a place is free")
    row("queue_thirds", "leaky_queue", {"rate": 3, "period_us": S, "max_waiting": 2},
        [(0, 1), (0, 1), (0, 1), (0, 1), (333_333, 1), (333_334, 1), (1_333_332, 0), (1_333_334, 1)],
        "a place every 333,333 1/3 us; a delay is rounded up, so that none goes too early")
    row("queue_larger_cost_holds_the_way_longer", "leaky_queue", {"rate": 10, "period_us": S, "max_waiting": 4},
        [(0, 3), (0, 1), (0, 2), (0, 1), (0, 6), (400_000, 5), (400_000, 1)], "three units keep the next waiting 0.3 s")
    row("queue_that_holds_nobody", "leaky_queue", {"rate": 1, "period_us": S, "max_waiting": 0},
        [(0, 1), (999_999, 1), (S, 1), (S, 2)], "max_waiting 0: at once or not at all")
    row("queue_clock_goes_back", "leaky_queue", {"rate": 1, "period_us": S, "max_waiting": 1},
        [(10 * S, 1), (5 * S, 1), (9 * S, 1), (11 * S, 1)], "delays and waits are counted from the last admission")


def lockout():
    row("lockout_without_lock_waits_for_the_window", "lockout", {"compact": "true|3|1|0"},
        [(10_400_000, 3), (10_400_000, 1), (10_999_999, 1), (11_000_000, 1), (11_000_000, 0)],
        "lock 0: refused until the window ends, and never locked")
    row("lockout_restarts_inside_the_same_window", "lockout", {"max": 2, "window_us": 60 * S, "lock_us": S},
        [(0, 2), (10 * S, 1), (10_500_000, 1), (11 * S, 2), (11 * S, 1), (12 * S, 1)],
        "after the lock the count starts at 0, also inside the same window")
    row("lockout_peek_while_locked", "lockout", {"compact": "true|1|1|30"},
        [(0, 0), (0, 1), (0, 0), (0, 1), (S, 0), (S, 0, "peek"), (30 * S - 1, 1), (30 * S, 1)],
        "cost 0 never counts nor locks, and shows the lock")
    row("lockout_cost_above_max_never_locks", "lockout", {"compact": "true|3|1|30"},
        [(0, 4), (0, 2), (0, 4), (0, 2), (0, 4), (0, 1)],
        "a cost that can never pass is the caller's fault: null, and no lock; 2 + 2 is one too many and locks")
    row("lockout_tries_every_ten_seconds", "lockout", {"compact": "true|5|60|900"},
        [(0, 5), (S, 1), *[(S + k * 10 * S, 1) for k in (1, 30, 60, 89)], (901 * S - 1, 1), (901 * S, 1)],
        "a client that keeps trying is let in when the lock ends")
    row("lockout_refund", "lockout", {"compact": "true|3|1|30"},
        [(0, 3), (100_000, 1, "refund", 0), (100_000, 1), (200_000, 1), (300_000, 3, "refund", 0), (30_200_000, 1)],
        "a refund makes room for one more call, but ends no lock")
    row("lockout_zero", "lockout", {"compact": "true|0|1|30"}, [(0, 1), (0, 0)], "0 denies all, and no wait helps")


def quota():
    day, month = {"limit": 10, "calendar": "day", "zone": "UTC"}, {"limit": 10, "calendar": "month", "zone": "UTC"}
    eve = utc(2027, 3, 31, 23, 59, 59)
    row("quota_day_utc", "long_quota", day,
        [(utc(2027, 3, 14, 9, 30), 8), (utc(2027, 3, 14, 9, 30), 5), (utc(2027, 3, 14, 23, 59, 59), 2), (utc(2027, 3, 15) - 1, 1), (utc(2027, 3, 15), 10), (utc(2027, 3, 15), 11)],
        "midnight is half-open")
    row("quota_month_utc", "long_quota", month, [(eve, 10), (eve, 1), (utc(2027, 4, 1), 1), (utc(2027, 4, 30, 12), 10), (utc(2027, 5, 1), 10)],
        "calendar months, not blocks of 30 days")
    row("quota_february_of_leap_years", "long_quota", month,
        [(utc(2028, 2, 1), 10), (utc(2028, 2, 29), 1), (utc(2028, 3, 1), 10), (utc(2100, 2, 28), 10), (utc(2100, 2, 28), 1), (utc(2100, 3, 1), 1)],
        "2028 has a 29 February, 2100 has none")
    row("quota_refund_stays_in_its_day", "long_quota", day,
        [(utc(2027, 3, 14, 23), 10), (utc(2027, 3, 14, 23, 30), 4, "refund", utc(2027, 3, 14, 23)), (utc(2027, 3, 14, 23, 30), 4), (utc(2027, 3, 15), 10),
         (utc(2027, 3, 15, 1), 10, "refund", utc(2027, 3, 14, 23, 30)), (utc(2027, 3, 15, 1), 1)],
        "yesterday's quota is not given back today")
    row("quota_clock_goes_back_over_midnight", "long_quota", day, [(utc(2027, 3, 15), 10), (utc(2027, 3, 14, 23), 1), (utc(2027, 3, 16), 10)], "the key stays in its day")
    zones = "long_quota_zones"

    def local(name, zone, calendar, steps, note):
        row(name, "long_quota", {"limit": 10, "calendar": calendar, "zone": zone}, steps, note, zones)

    local("quota_day_taipei", "Asia/Taipei", "day",
          [(utc(2027, 3, 14, 15, 59, 59), 10), (utc(2027, 3, 14, 15, 59, 59), 1), (utc(2027, 3, 14, 16), 10)], "midnight in Taipei is 16:00 UTC")
    local("quota_month_taipei", "Asia/Taipei", "month",
          [(utc(2027, 2, 28, 15), 10), (utc(2027, 2, 28, 16), 10), (utc(2027, 3, 31, 15, 59, 59), 1), (utc(2027, 3, 31, 16), 1)], "the month ends with the local day")
    local("quota_new_york_23_and_25_hours", "America/New_York", "day",
          [(utc(2026, 3, 8, 5), 10), (utc(2026, 3, 8, 5), 1), (utc(2026, 3, 9, 4), 1), (utc(2026, 11, 1, 4), 10), (utc(2026, 11, 1, 4), 1), (utc(2026, 11, 2, 4, 59, 59), 1), (utc(2026, 11, 2, 5), 1)],
          "the days on which clocks change last 23 and 25 hours")
    local("quota_midnight_that_is_skipped", "America/Sao_Paulo", "day",
          [(utc(2018, 11, 4, 2, 59, 59), 10), (utc(2018, 11, 4, 2, 59, 59), 1), (utc(2018, 11, 4, 3), 10), (utc(2018, 11, 4, 3), 1)],
          "on 2018-11-04 clocks went from 00:00 to 01:00: the day begins at 01:00, which is 03:00 UTC")
    local("quota_midnight_that_is_seen_twice", "America/St_Johns", "day",
          [(utc(2010, 11, 7, 2, 29, 59), 10), (utc(2010, 11, 7, 2, 29, 59), 1), (utc(2010, 11, 7, 2, 30), 10), (utc(2010, 11, 7, 2, 31), 1), (utc(2010, 11, 7, 3, 0), 1), (utc(2010, 11, 8, 3, 30), 1)],
          "on 2010-11-07 clocks went from 00:01 back to 23:01: the day that had begun goes on")
    local("quota_day_that_never_was", "Pacific/Apia", "day",
          [(utc(2011, 12, 30, 9, 59, 59), 10), (utc(2011, 12, 30, 9, 59, 59), 1), (utc(2011, 12, 30, 10), 10), (utc(2011, 12, 30, 10), 1), (utc(2011, 12, 31, 10), 1)],
          "Samoa had no 30 December 2011: the 29th is followed by the 31st")
    local("quota_month_in_summer_time", "Europe/Berlin", "month",
          [(utc(2027, 3, 31, 21, 59, 59), 10), (utc(2027, 3, 31, 21, 59, 59), 1), (utc(2027, 3, 31, 22), 1), (utc(2027, 10, 15), 9), (utc(2027, 10, 31, 22, 59, 59), 1), (utc(2027, 10, 31, 23), 10)],
          "the month begins in one offset and ends in another")


def permits():
    p = {"permits": 2, "life_us": 30 * S}
    row("permits_two_at_once", "concurrency", p,
        [(0, 1, "take", "a"), (S, 1, "take", "b"), (2 * S, 1, "take", "c"), (3 * S, 1, "give", "a"), (3 * S, 1, "take", "c"), (3 * S, 1, "take", "d")],
        "a permit that is given back is free at once; the wait counts on nobody giving back")
    row("permits_given_twice_or_by_another", "concurrency", p,
        [(0, 1, "take", "a"), (0, 1, "take", "b"), (S, 1, "give", "x"), (S, 1, "give", "a"), (S, 1, "give", "a"), (S, 1, "take", "c"), (S, 1, "take", "d")],
        "nobody but the holder frees a permit, and once")
    row("permits_of_a_holder_that_died", "concurrency", p,
        [(0, 1, "take", "a"), (10 * S, 1, "take", "b"), (30 * S - 1, 1, "take", "c"), (30 * S, 1, "take", "c"), (31 * S, 1, "give", "a"), (31 * S, 1, "take", "d"), (40 * S, 1, "take", "d")],
        "its life ends, half-open; what it gives back later is nobody else's")
    row("permits_with_weight", "concurrency", {"permits": 5, "life_us": 30 * S},
        [(0, 3, "take", "a"), (S, 2, "take", "b"), (2 * S, 3, "take", "c"), (2 * S, 4, "take", "c"), (2 * S, 6, "take", "c"), (2 * S, 0, "take", "c"), (3 * S, 3, "give", "a"), (3 * S, 3, "take", "c")],
        "a permit may weigh more than one; more than all can never pass")
    row("permits_renewed_by_their_holder", "concurrency", p,
        [(0, 1, "take", "a"), (20 * S, 1, "take", "a"), (40 * S, 2, "take", "b"), (49 * S, 1, "take", "a"), (49 * S, 1, "take", "b"), (78 * S, 2, "take", "b"), (79 * S, 2, "take", "b")],
        "taking again renews the one permit of a holder; it has not two")


def changes():
    def change(name, limiter, policy, steps, note):
        row(name, limiter, policy, steps, note, "set_policy")

    def gcra(burst, rate):
        return {"burst_capacity": burst, "rate": rate, "period_us": S}

    def window(limit):
        return {"limit": limit, "window_us": S, "aligned": True}

    change("lowered_limit_binds_at_once", "gcra", gcra(10, 10),
           [(0, 8), (0, 0, "set_policy", (gcra(5, 5), "keep")), (0, 1), (200_000, 1), (200_000, 1), (S, 0, "peek")],
           "8 of 10 in use fill the new 5: nothing until one has come back")
    change("raised_limit_leaves_in_use_what_was", "gcra", gcra(10, 10),
           [(0, 10), (500_000, 0, "set_policy", (gcra(20, 20), "keep")), (500_000, 16), (500_000, 15), (750_000, 5)],
           "5 of 10 had come back under the old rate; the 5 in use stay in use")
    change("share_in_use_is_kept", "gcra", gcra(10, 10),
           [(0, 4), (0, 0, "set_policy", (gcra(100, 10), "proportional")), (0, 61), (0, 60)], "4 of 10 are 40 of 100")
    change("reset_begins_as_new", "gcra", gcra(10, 10), [(0, 10), (0, 0, "set_policy", (gcra(5, 5), "reset")), (0, 5), (0, 1)], "all 5 at once")
    change("unchanged_policy_again_and_again", "gcra", gcra(2, 1),
           [(0, 2), *[(k * 100_000, 0, "set_policy", (gcra(2, 1), "keep")) for k in range(1, 6)], (500_000, 1), (S, 1), (S, 1)],
           "a reload is no fresh bucket")
    change("window_lowered_and_raised", "fixed_window", window(10),
           [(100_000, 8), (200_000, 0, "set_policy", (window(5), "keep")), (200_000, 1), (300_000, 0, "set_policy", (window(20), "keep")),
            (300_000, 16), (300_000, 15), (S, 20)],
           "what a lower limit cannot hold is forgotten, and does not come back with a higher one")
    change("window_share_is_rounded_up", "fixed_window", window(10),
           [(0, 1), (0, 0, "set_policy", (window(3), "proportional")), (0, 3), (0, 2)], "0.3 of a unit in use is one")
    change("bucket_keeps_what_is_missing", "interval_bucket", {"capacity": 10, "refill": 2, "period_us": S},
           [(0, 10), (2 * S, 0, "set_policy", ({"capacity": 20, "refill": 2, "period_us": S}, "keep")), (2 * S, 15), (2 * S, 14), (3 * S, 2)],
           "two refills had come; 6 are missing of the 20 too")
    change("log_keeps_its_newest", "sliding_log", {"limit": 5, "window_us": S},
           [(0, 2), (400_000, 3), (500_000, 0, "set_policy", ({"limit": 3, "window_us": S}, "keep")), (1_000_000, 1), (1_399_999, 1), (1_400_000, 3)],
           "the two oldest make room for the lower limit")
    change("lock_outlives_a_higher_limit", "lockout", {"compact": "true|3|1|30"},
           [(0, 3), (0, 1), (0, 0, "set_policy", ({"compact": "true|100|1|5"}, "keep")), (S, 1), (30 * S - 1, 1), (30 * S, 100)],
           "a lock goes on as long as it was begun for")
    change("lock_ends_by_reset", "lockout", {"compact": "true|3|1|30"},
           [(0, 3), (0, 1), (0, 0, "set_policy", ({"compact": "true|3|1|30"}, "reset")), (0, 3), (0, 1)], "reset begins as new")
    change("another_algorithm_counts_what_is_in_use", "gcra", gcra(10, 10),
           [(0, 8), (200_000, 0, "set_policy", ({"limiter": "fixed_window", **window(10)}, "keep")), (200_000, 5), (200_000, 4), (S, 10)],
           "6 of 10 are in use, in the window of the change")


if __name__ == "__main__":
    for write in (fixed, log, two, sub, bucket, leaky, lockout, quota, permits, changes):
        write()
    for name, lines in FILES.items():
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".jsonl"), "w") as out:
            out.write("\n".join(lines) + "\n")
    print({name: len(lines) for name, lines in FILES.items()})
