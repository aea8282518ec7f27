-- Mirrors `shared::limiter::gcra`.
--
-- A debt in parts may need 64 bits, so it is kept as the whole microseconds in which it comes back and the parts beyond
-- them: debt = us * rate + parts, parts < rate.
--
-- policy  <BBddddd  length, 1, burst_capacity, rate (parts a microsecond), period (parts a unit of cost),
--                   full_us and full_parts (burst_capacity * period)
-- state   <ddd      debt_us, debt_parts, last_admitted

-- Whole units of cost in (us, parts), rounded down.
local function gcra_units(us, parts, rate, period)
  local whole = us * rate + parts
  if whole < BEYOND then
    return (whole - whole % period) / period
  end
  local units, rest = mul_div(us, rate, period)
  local beyond = parts % period
  units = units + (parts - beyond) / period
  return rest >= period - beyond and units + 1 or units
end

-- The eighth result is the time in which what was there before has come back: the delay of a leaky queue.
local function gcra_check(policy, cost, state, now_us)
  local burst_capacity, rate, period, full_us, full_parts = read('<ddddd', policy, 3)
  local debt_us, debt_parts, at = 0, 0, now_us
  if state then
    local last_admitted
    debt_us, debt_parts, last_admitted = read('<ddd', state)
    if last_admitted > at then at = last_admitted end
    debt_us = debt_us - (at - last_admitted)
    if debt_us < 0 then debt_us, debt_parts = 0, 0 end
  end
  local free_us, free_parts = full_us - debt_us, full_parts - debt_parts
  if free_parts < 0 then free_us, free_parts = free_us - 1, free_parts + rate end
  local before = debt_parts > 0 and debt_us + 1 or debt_us
  if cost > burst_capacity then
    return false, gcra_units(free_us, free_parts, rate, period), NEVER, before, 0, nil, at
  end
  local cost_us, cost_parts = mul_div(cost, period, rate)
  local after_us, after_parts = free_us - cost_us, free_parts - cost_parts
  if after_parts < 0 then after_us, after_parts = after_us - 1, after_parts + rate end
  if after_us < 0 then
    -- (after_us, after_parts) is what is missing, negative: rounding it up drops the parts.
    return false, gcra_units(free_us, free_parts, rate, period), -after_us, before, 0, nil, at
  end
  local remaining = gcra_units(after_us, after_parts, rate, period)
  if cost == 0 then
    return true, remaining, 0, before, 0, nil, at, before
  end
  debt_us, debt_parts = debt_us + cost_us, debt_parts + cost_parts
  if debt_parts >= rate then debt_us, debt_parts = debt_us + 1, debt_parts - rate end
  local reset_after = debt_parts > 0 and debt_us + 1 or debt_us
  return true, remaining, 0, reset_after, 0, pack('<ddd', debt_us, debt_parts, at), at, before
end

algorithms[1] = { check = gcra_check }
