-- Refunds and inheritance of the lockout. A lock goes on as long as it was begun for.

algorithms[8].refund = function(policy, cost, state, taken_us)
  local max, window_us = read('<dd', policy, 3)
  local used, last_admitted, locked_until = read('<ddd', state)
  local at = math.max(now_us, last_admitted)
  local ended = taken_us < locked_until or taken_us - taken_us % window_us ~= at - at % window_us
  if ended or lockout_used(max, window_us, used, last_admitted, at) == 0 then return state end
  return pack('<ddd', math.max(used - cost, 0), last_admitted, locked_until)
end

algorithms[8].replenish = function(policy, cost, state)
  local _, last_admitted = read('<dd', state)
  return algorithms[8].refund(policy, cost, state, math.max(now_us, last_admitted))
end

algorithms[8].inherit = function(policy, previous, state, how)
  local max = read('<d', policy, 3)
  local max_before, window_before_us = read('<dd', previous, 3)
  local used, last_admitted, locked_until = read('<ddd', state)
  local at = math.max(now_us, last_admitted)
  used = lockout_used(max_before, window_before_us, used, last_admitted, at)
  return pack('<ddd', carry(how, used, max_before, max), at, locked_until)
end
