-- Mirrors `shared::limiter::interval_bucket`.
--
-- policy  <BBddd  length, 2, capacity, refill, period_us
-- state   <ddd    missing, full_until, last_admitted

-- Periods that have ended at `at`.
local function whole_periods(full_until, period_us, at)
  local since = at > full_until and at - full_until or 0
  return (since - since % period_us) / period_us
end

-- What is missing at `at`, not before the last admission.
local function bucket_missing(capacity, refill, period_us, missing, full_until, last_admitted, at)
  local periods = whole_periods(full_until, period_us, at) - whole_periods(full_until, period_us, last_admitted)
  return math.min(math.max(missing - periods * refill, 0), capacity)
end

-- Time from `at` to the end of the period that makes `cost` good.
local function bucket_time_for(refill, period_us, full_until, at, cost)
  if cost == 0 then return 0 end
  local began = math.min(full_until + whole_periods(full_until, period_us, at) * period_us, LATEST_US)
  local ends = math.min(began + math.ceil(cost / refill) * period_us, LATEST_US)
  return math.max(ends - at, 0)
end

algorithms[2] = {
  check = function(policy, cost, state, now_us)
    local _, _, capacity, refill, period_us = read('<BBddd', policy)
    local missing, full_until, last_admitted = 0, 0, 0
    if state then missing, full_until, last_admitted = read('<ddd', state) end
    local at = math.max(now_us, last_admitted)
    missing = bucket_missing(capacity, refill, period_us, missing, full_until, last_admitted, at)
    local remaining = capacity - missing
    if cost > remaining or cost == 0 then
      local reset_after = bucket_time_for(refill, period_us, full_until, at, missing)
      if cost == 0 then return true, remaining, 0, reset_after, 0, nil, at end
      local retry_after = NEVER
      if cost <= capacity then
        retry_after = bucket_time_for(refill, period_us, full_until, at, cost - remaining)
      end
      return false, remaining, retry_after, reset_after, 0, nil, at
    end
    if missing == 0 then full_until = at end
    missing = missing + cost
    local reset_after = bucket_time_for(refill, period_us, full_until, at, missing)
    return true, remaining - cost, 0, reset_after, 0, pack('<ddd', missing, full_until, at), at
  end,
}
