-- Refunds and inheritance of the sliding log.

algorithms[5].refund = function(policy, cost, state, taken_us)
  local limit, window_us = read('<dd', policy, 3)
  local at = math.max(now_us, (read('<d', state)))
  if math.min(taken_us + window_us, LATEST_US) <= at then return state end
  local oldest, count = log_inside(state, limit, window_us, at)
  -- The newest units up to `taken_us` go: what stays is never older than what was given back. What has left stays written.
  local later = math.max(log_search(state, count, function(unit) return unit > taken_us end), oldest)
  local kept = math.max(later - cost, oldest)
  return sub(state, 1, 8 + kept * 8) .. sub(state, 9 + later * 8)
end

algorithms[5].inherit = function(policy, previous, state, how)
  local limit = read('<d', policy, 3)
  local limit_before, window_before_us = read('<dd', previous, 3)
  local at = math.max(now_us, (read('<d', state)))
  local oldest, count = log_inside(state, limit_before, window_before_us, at)
  local held = count - oldest
  local kept = carry(how, held, limit_before, limit)
  if how == KEEP then return pack('<d', at) .. sub(state, 9 + (count - kept) * 8) end
  local units = { pack('<d', at) }
  for unit = 0, kept - 1 do
    local from = oldest + math.floor(unit * held / kept)
    units[#units + 1] = sub(state, 9 + from * 8, 16 + from * 8)
  end
  return table.concat(units)
end
