-- Refunds and inheritance of the fixed window.

-- Cost taken in the window of the key's time, when that window began, and that time.
local function window_used(policy, state)
  local limit, window_us, aligned = read('<ddd', policy, 3)
  local used, first_admitted, last_admitted = read('<ddd', state)
  local at = math.max(now_us, last_admitted)
  local starts, ends = window_of(window_us, aligned, first_admitted, last_admitted)
  return at < ends and math.min(used, limit) or 0, starts, at
end

algorithms[4].refund = function(policy, cost, state, taken_us)
  local used, starts = window_used(policy, state)
  if used == 0 or taken_us < starts then return state end
  return pack('<d', math.max(used - cost, 0)) .. sub(state, 9)
end

algorithms[4].inherit = function(policy, previous, state, how)
  local limit, window_us, aligned = read('<ddd', policy, 3)
  local limit_before, _, aligned_before = read('<ddd', previous, 3)
  local used, _, at = window_used(previous, state)
  local _, first_admitted = read('<dd', state)
  used = carry(how, used, limit_before, limit)
  local is_over = math.min(first_admitted + window_us, LATEST_US) <= at
  local goes_on = aligned == aligned_before and used > 0 and not is_over
  return pack('<ddd', used, goes_on and first_admitted or at, at)
end
