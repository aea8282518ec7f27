-- Refunds and inheritance of GCRA, and of the leaky queue that is one.

algorithms[1].refund = function(policy, cost, state, taken_us)
  local burst_capacity, rate, period = read('<ddd', policy, 3)
  local debt_us, debt_parts, last_admitted = read('<ddd', state)
  local at = math.max(now_us, last_admitted)
  local back_us, back_parts = mul_div(math.min(cost, burst_capacity), period, rate)
  back_us = back_us - math.max(at - taken_us, 0)
  if back_us < 0 then return state end
  debt_us, debt_parts = debt_us - back_us, debt_parts - back_parts
  if debt_parts < 0 then debt_us, debt_parts = debt_us - 1, debt_parts + rate end
  if debt_us < 0 then debt_us, debt_parts = 0, 0 end
  return pack('<ddd', debt_us, debt_parts, last_admitted)
end

-- The wide debt of `state` is scaled to the parts of the new policy, and cut into microseconds and parts again.
local function gcra_inherit(policy, previous, state, how)
  local burst_capacity, rate, period, full_us, full_parts = read('<ddddd', policy, 3)
  local burst_before, rate_before, period_before = read('<ddd', previous, 3)
  -- The debt at the key's time is what a look tells, before it is rounded.
  local debt_us, debt_parts, last_admitted = read('<ddd', state)
  local at = math.max(now_us, last_admitted)
  debt_us = debt_us - (at - last_admitted)
  if debt_us < 0 then debt_us, debt_parts = 0, 0 end
  local parts = wide_mul_add(wide_of(debt_us), rate_before, debt_parts)
  parts = wide_mul_add(parts, period, 0)
  if how == PROPORTIONAL then
    parts = wide_mul_add(parts, burst_capacity, 0)
    parts = wide_div_up(parts, math.max(burst_before, 1))
  end
  local us, rest = wide_div(wide_div_up(parts, period_before), rate)
  us = wide_number(us)
  if us > full_us or (us == full_us and rest > full_parts) then us, rest = full_us, full_parts end
  return pack('<ddd', us, rest, at)
end

algorithms[1].inherit = gcra_inherit
