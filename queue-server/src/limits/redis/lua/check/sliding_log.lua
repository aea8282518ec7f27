-- Mirrors `shared::limiter::sliding_log`.
--
-- policy  <BBdd  length, 5, limit, window_us
-- state   <d...  last_admitted, then the time of each unit, oldest first

-- The time of the unit at an index from 0.
local function log_unit(state, index)
  return (read('<d', state, 9 + index * 8))
end

-- How many of the first `count` units come before the first one of which `is_later` is true.
local function log_search(state, count, is_later)
  local low, high = 0, count
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_later(log_unit(state, middle)) then high = middle else low = middle + 1 end
  end
  return low
end

-- The units that count at `at`: index of the oldest, and index after the newest.
local function log_inside(state, limit, window_us, at)
  local count = (#state - 8) / 8
  local left = log_search(state, count, function(unit) return math.min(unit + window_us, LATEST_US) > at end)
  return math.max(left, count - limit), count
end

algorithms[5] = {
  check = function(policy, cost, state, now_us)
    local _, _, limit, window_us = read('<BBdd', policy)
    state = state or pack('<d', 0)
    local at = math.max(now_us, (read('<d', state)))
    local oldest, count = log_inside(state, limit, window_us, at)
    -- Time until the unit at `index` has left.
    local function leaves(index)
      return math.max(math.min(log_unit(state, index) + window_us, LATEST_US) - at, 0)
    end
    local remaining = limit - (count - oldest)
    if cost > remaining or cost == 0 then
      local reset_after = count > oldest and leaves(count - 1) or 0
      if cost == 0 then return true, remaining, 0, reset_after, 0, nil, at end
      local retry_after = cost <= limit and leaves(oldest + cost - remaining - 1) or NEVER
      return false, remaining, retry_after, reset_after, 0, nil, at
    end
    local now = pack('<d', at)
    local next_state = now .. sub(state, 9 + oldest * 8) .. string.rep(now, cost)
    return true, remaining - cost, 0, math.min(at + window_us, LATEST_US) - at, 0, next_state, at
  end,
}
