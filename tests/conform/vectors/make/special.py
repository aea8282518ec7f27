"""Locks, calendars, permits, and several limiters at once. Zones come from Python's own `zoneinfo`."""
from datetime import datetime, timedelta, timezone
from functools import cache
from zoneinfo import ZoneInfo

from model import INF, FixedWindow, Model, SlidingLog, SubWindows, TwoCounters
from spaced import Gcra, IntervalBucket, LeakyQueue


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

    @cache
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
    "token_bucket": Gcra,
    "leaky_meter": Gcra,
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


class Layers:
    """Several limiters at once. Each key of each layer has a history of its own; all take, or none."""

    def __init__(self, policy):
        self.policy, self.models = policy, {}

    def of(self, keys):
        """The models of these keys, by layer; a layer that is not named has one key."""
        for layer, settings in self.policy.items():
            self.models.setdefault((layer, keys.get(layer, "")), KINDS[settings["limiter"]](settings))
        return {layer: self.models[layer, keys.get(layer, "")] for layer in self.policy}

    def take(self, t, cost, keys):
        models = self.of(keys)
        may = {layer: cost == 0 or (cost <= m.limit() and m.fits(m.key_time(t), cost)) for layer, m in models.items()}
        ok = all(may.values())
        wants = {layer: m.want(t, may[layer], cost) for layer, m in models.items()}
        for layer, m in models.items():
            if not may[layer]:
                m.refused(m.key_time(t), cost)
                wants[layer] = m.want(t, False, cost)
            elif ok and cost > 0:
                m.last = m.key_time(t)
                m.admit(m.last, cost)
                wants[layer] = m.want(t, True, cost)
        want = {"ok": ok, "remaining": min(w["remaining"] for w in wants.values()), "retry_after_us": 0}
        if not ok:
            waits = {layer: w["retry_after_us"] for layer, w in wants.items() if not may[layer]}
            # Never is the longest wait; of equals the first binds.
            want["bound_by"] = max(waits, key=lambda layer: INF if waits[layer] is None else waits[layer])
            want["retry_after_us"] = waits[want["bound_by"]]
        return want

    def refund(self, t, cost, taken, keys):
        for m in self.of(keys).values():
            m.refund(t, cost, taken)
        return self.take(t, 0, keys)
