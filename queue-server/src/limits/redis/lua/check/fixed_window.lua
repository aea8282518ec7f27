-- Mirrors `shared::limiter::fixed_window`.
--
-- policy  <BBddd  length, 4, limit, window_us, aligned (1; 0: from the first admission)
-- state   <ddd    used, first_admitted, last_admitted

-- The first moment of the window of the last admission, and the first one after it.
local function window_of(window_us, aligned, first_admitted, last_admitted)
  local starts = aligned == 1 and last_admitted - last_admitted % window_us or first_admitted
  return starts, math.min(starts + window_us, LATEST_US)
end

algorithms[4] = {
  check = function(policy, cost, state, now_us)
    local _, _, limit, window_us, aligned = read('<BBddd', policy)
    local used, first_admitted, last_admitted = 0, 0, 0
    if state then used, first_admitted, last_admitted = read('<ddd', state) end
    local at = math.max(now_us, last_admitted)
    local _, ends = window_of(window_us, aligned, first_admitted, last_admitted)
    used = at < ends and math.min(used, limit) or 0
    local remaining, reset_after = limit - used, used == 0 and 0 or ends - at
    if cost > remaining then
      return false, remaining, cost <= limit and ends - at or NEVER, reset_after, 0, nil, at
    end
    if cost == 0 then return true, remaining, 0, reset_after, 0, nil, at end
    if used == 0 then first_admitted = at end
    _, ends = window_of(window_us, aligned, first_admitted, at)
    return true, remaining - cost, 0, math.max(ends - at, 0), 0, pack('<ddd', used + cost, first_admitted, at), at
  end,
}
