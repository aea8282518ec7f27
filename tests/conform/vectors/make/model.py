"""What a limiter is: one question about the whole list of what was ever admitted, may `cost` pass at `t`?

Everything else that a row wants is searched for: `remaining` is the largest cost that may, `retry_after` the first
microsecond at which this cost may, `reset_after` the first at which nothing counts any more. Fractions are exact. Nothing
here is taken from the code that the rows test.
"""
from fractions import Fraction

INF = 1 << 70


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
        used, ends = self.first_hit()
        return used if t < ends else 0

    def first_hit(self):
        """What the newest window from a first hit holds, and when it ends."""
        used, ends = 0, 0
        for at, c in self.units:
            if at >= ends or used == 0:
                used, ends = 0, at + self.policy["window_us"]
            used += c
        return used, ends

    def inherit(self, previous, t, how):
        """A window from a first hit goes on from where it began, unless the new one would be over."""
        super().inherit(previous, t, how)
        both_run = isinstance(previous, FixedWindow) and not (previous.policy["aligned"] or self.policy["aligned"])
        if self.units and both_run:
            began = previous.first_hit()[1] - previous.policy["window_us"]
            if began + self.policy["window_us"] > self.last:
                self.units[0][0] = began

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
