-- Refunds and inheritance of the two-counter window.

algorithms[6].refund = function(policy, cost, state, taken_us)
  local _, window_us = read('<dd', policy, 3)
  local previous, current, last_admitted = read('<ddd', state)
  local newest, taken = last_admitted - last_admitted % window_us, taken_us - taken_us % window_us
  local windows_ago = (newest - taken) / window_us
  if windows_ago == 0 then current = math.max(current - cost, 0) end
  if windows_ago == 1 then previous = math.max(previous - cost, 0) end
  return pack('<ddd', previous, current, last_admitted)
end

algorithms[6].replenish = function(policy, cost, state)
  local _, window_us = read('<dd', policy, 3)
  local _, _, last_admitted = read('<ddd', state)
  local at = math.max(now_us, last_admitted)
  local previous, current, elapsed_us = counters_at(window_us, state, at)
  local from_current = math.min(cost, current)
  local from_previous, rest = mul_div(cost - from_current, window_us, window_us - elapsed_us)
  if rest > 0 then from_previous = from_previous + 1 end
  return pack('<ddd', math.max(previous - from_previous, 0), current - from_current, at)
end

algorithms[6].inherit = function(policy, before, state, how)
  local limit, window_us = read('<dd', policy, 3)
  local limit_before, window_before_us = read('<dd', before, 3)
  local _, _, last_admitted = read('<ddd', state)
  local at = math.max(now_us, last_admitted)
  local previous, current, elapsed_us = counters_at(window_before_us, state, at)
  if window_us ~= window_before_us then
    local used = limit_before - counters_remaining(limit_before, window_before_us, previous, current, elapsed_us)
    previous, current = 0, carry(how, used, limit_before, limit)
  elseif how == PROPORTIONAL then
    previous, current = carry(how, previous, limit_before, limit), carry(how, current, limit_before, limit)
  end
  -- No more in use than the limit: what the window before weighs gives way.
  current = math.min(current, limit)
  if previous > 0 then
    previous = math.min(previous, (mul_div(limit - current, window_us, window_us - elapsed_us)))
  end
  return pack('<ddd', previous, current, at)
end
