-- Mirrors `shared::limiter::long_quota`. Redis knows no calendar: the caller sends the moments at which the periods
-- around its own time begin. Where the key's time lies in none of them, `check` answers nothing but nil and that time,
-- and the caller asks again with the periods around it.
--
-- policy  <BBdBs  length, 9, limit, calendar (0 day, 1 month), name of the zone
-- state   <ddd    used, ends_at (of the period of `used`), last_admitted
-- bounds  <d...   beginnings of periods that follow each other

-- The period that holds `at`: when it begins and ends; nil where `bounds` does not tell.
local function period_of(bounds, at)
  local begins
  for i = 1, #bounds, 8 do
    local bound = read('<d', bounds, i)
    if at < bound then return begins, bound end
    begins = bound
  end
end

local function quota_used(limit, used, ends_at, at)
  return at < ends_at and math.min(used, limit) or 0
end

algorithms[9] = {
  check = function(policy, cost, state, now_us, _, bounds)
    local limit = read('<d', policy, 3)
    local used, ends_at, last_admitted = 0, 0, 0
    if state then used, ends_at, last_admitted = read('<ddd', state) end
    local at = math.max(now_us, last_admitted)
    used = quota_used(limit, used, ends_at, at)
    local remaining, reset_after = limit - used, used == 0 and 0 or ends_at - at
    if cost > remaining then
      return false, remaining, cost <= limit and reset_after or NEVER, reset_after, 0, nil, at
    end
    if cost == 0 then return true, remaining, 0, reset_after, 0, nil, at end
    if used == 0 then
      local begins, ends = period_of(bounds, at)
      if not begins then return nil, at end
      ends_at = ends
    end
    return true, remaining - cost, 0, ends_at - at, 0, pack('<ddd', used + cost, ends_at, at), at
  end,
}
