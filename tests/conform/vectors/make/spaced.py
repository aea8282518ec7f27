"""What comes back over time, whole periods at once or evenly."""
from fractions import Fraction

from model import Model


class IntervalBucket(Model):
    def limit(self):
        return self.policy["capacity"] if self.policy["refill"] else 0

    def missing(self, t):
        return self.walk(t)[0]

    def began(self, t):
        return self.walk(t)[1]

    def walk(self, t):
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
            missing = max(0, missing + c)
        return missing, grid

    def refund(self, t, cost, taken):
        """Less what whole periods have given back since; nothing from before the bucket was last full."""
        now = self.key_time(t)
        period, began = self.policy["period_us"], self.began(now)
        if began is not None and taken >= began:
            ended = (now - began) // period - (taken - began) // period
            back = max(0, min(cost, self.limit()) - ended * self.policy["refill"])
            self.units.append([self.last, -back])
        return self.want(t, True, 0)

    def used(self, t):
        return self.missing(t)

    def fits(self, t, cost):
        return self.missing(t) + cost <= self.limit()

    def as_new(self, t):
        return self.missing(t) == 0


class LeakyQueue(Model):
    def limit(self):
        return self.policy["max_waiting"] + 1 if self.policy["rate"] else 0

    def backlog(self, t):
        """Time until all that was admitted has gone on, and its spacing has passed."""
        if not self.limit():
            return Fraction(0)
        unit = Fraction(self.policy["period_us"], self.policy["rate"])
        free_at = Fraction(0)
        for at, c in self.units:
            free_at = max(free_at, at, max(free_at, at) + c * unit) if c > 0 else max(at, free_at + c * unit)
        return max(Fraction(0), free_at - t)

    def fits(self, t, cost):
        if cost == 0 or not self.limit():
            return cost == 0
        unit = Fraction(self.policy["period_us"], self.policy["rate"])
        return self.backlog(t) + cost * unit <= self.limit() * unit

    def as_new(self, t):
        return self.backlog(t) == 0

    def delay(self, t):
        return -(-self.backlog(t) // 1)


class Gcra(LeakyQueue):
    def limit(self):
        return self.policy["burst_capacity"] if self.policy["rate"] else 0

    def delay(self, t):
        return None

    def refund(self, t, cost, taken):
        """Less what has come back of it by itself since."""
        now = self.key_time(t)
        came_back = Fraction((now - taken) * self.policy["rate"], self.policy["period_us"])
        back = max(Fraction(0), min(cost, self.limit()) - came_back)
        self.units.append([self.last, -back])
        return self.want(t, True, 0)

    def used(self, t):
        return self.backlog(t) * Fraction(self.policy["rate"], self.policy["period_us"])

    def carried(self, used, previous_limit, how):
        """Fractions of a unit are kept, so the share is not rounded."""
        return min(used, self.limit()) if how == "keep" else used * Fraction(self.limit(), previous_limit)
