-- Refunds and inheritance of the interval-refill bucket.

algorithms[2].refund = function(policy, cost, state, taken_us)
  local capacity, refill, period_us = read('<ddd', policy, 3)
  local missing, full_until, last_admitted = read('<ddd', state)
  if taken_us < full_until then return state end
  local at = math.max(now_us, last_admitted)
  local periods = whole_periods(full_until, period_us, at) - whole_periods(full_until, period_us, taken_us)
  local back = math.max(math.min(cost, capacity) - math.max(periods, 0) * refill, 0)
  return pack('<ddd', math.max(missing - back, 0), full_until, last_admitted)
end

algorithms[2].inherit = function(policy, previous, state, how)
  local capacity = read('<d', policy, 3)
  local capacity_before, refill_before, period_before_us = read('<ddd', previous, 3)
  local missing, full_until, last_admitted = read('<ddd', state)
  local at = math.max(now_us, last_admitted)
  missing = bucket_missing(capacity_before, refill_before, period_before_us, missing, full_until, last_admitted, at)
  missing = carry(how, missing, capacity_before, capacity)
  return pack('<ddd', missing, missing == 0 and at or full_until, at)
end
