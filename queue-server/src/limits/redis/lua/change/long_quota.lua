-- Refunds and inheritance of the long quota.

algorithms[9].refund = function(policy, cost, state, taken_us, bounds)
  local limit = read('<d', policy, 3)
  local used, ends_at, last_admitted = read('<ddd', state)
  used = quota_used(limit, used, ends_at, math.max(now_us, last_admitted))
  if used == 0 then return state end
  local begins = period_of(bounds, last_admitted)
  if not begins then return nil, last_admitted end
  if taken_us < begins then return state end
  return pack('<d', math.max(used - cost, 0)) .. sub(state, 9)
end

algorithms[9].inherit = function(policy, previous, state, how, bounds)
  local limit, limit_before = read('<d', policy, 3), read('<d', previous, 3)
  local used, ends_at, last_admitted = read('<ddd', state)
  local at = math.max(now_us, last_admitted)
  used = carry(how, quota_used(limit_before, used, ends_at, at), limit_before, limit)
  if used == 0 then return pack('<ddd', 0, at, at) end
  local begins, ends = period_of(bounds, at)
  if not begins then return nil, at end
  return pack('<ddd', used, ends, at)
end
