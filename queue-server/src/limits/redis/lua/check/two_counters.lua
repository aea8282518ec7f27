-- Mirrors `shared::limiter::two_counters`.
--
-- policy  <BBdd  length, 6, limit, window_us
-- state   <ddd   previous, current, last_admitted

-- The counters as they are at `at`, not before the last admission, and the time since their window began.
local function counters_at(window_us, state, at)
  local elapsed_us = at % window_us
  if not state then return 0, 0, elapsed_us end
  local previous, current, last_admitted = read('<ddd', state)
  local windows_ago = ((at - elapsed_us) - (last_admitted - last_admitted % window_us)) / window_us
  if windows_ago == 0 then return previous, current, elapsed_us end
  return windows_ago == 1 and current or 0, 0, elapsed_us
end

-- Whole units free, rounded down.
local function counters_remaining(limit, window_us, previous, current, elapsed_us)
  local weighs, rest = mul_div(previous, window_us - elapsed_us, window_us)
  if rest > 0 then weighs = weighs + 1 end
  return math.max(limit - current - weighs, 0)
end

-- Time into a window at which `count` of the window before weighs at most `room`.
local function falls_to(window_us, count, room)
  if room >= count then return 0 end
  return window_us - (mul_div(room, window_us, count))
end

algorithms[6] = {
  check = function(policy, cost, state, now_us)
    local _, _, limit, window_us = read('<BBdd', policy)
    local at = now_us
    if state then
      local _, _, last_admitted = read('<ddd', state)
      at = math.max(now_us, last_admitted)
    end
    local previous, current, elapsed_us = counters_at(window_us, state, at)
    local remaining = counters_remaining(limit, window_us, previous, current, elapsed_us)
    local passes, taken = cost <= remaining, 0
    if passes then taken = cost end
    local windows = (current + taken > 0 and 2) or (previous > 0 and 1) or 0
    local reset_after = windows == 0 and 0 or windows * window_us - elapsed_us
    if not passes then
      local retry_after, room = NEVER, limit - cost
      if room >= current then
        retry_after = falls_to(window_us, previous, room - current) - elapsed_us
      elseif room >= 0 then
        retry_after = window_us + falls_to(window_us, current, room) - elapsed_us
      end
      return false, remaining, retry_after, reset_after, 0, nil, at
    end
    if cost == 0 then return true, remaining, 0, reset_after, 0, nil, at end
    return true, remaining - cost, 0, reset_after, 0, pack('<ddd', previous, current + cost, at), at
  end,
}
