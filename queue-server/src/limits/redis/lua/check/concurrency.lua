-- Mirrors `shared::limiter::concurrency`.
--
-- policy  <BBdd     length, 10, permits, life_us
-- state   <d...     last_admitted, then 32 bytes for each permit in the order of their ends:
--                   <c16dd holder, cost, ends_at
-- holder            16 bytes, or none: nobody can take a permit

local PERMIT_BYTES = 32

-- The permits in force at `at` as a list of their bytes, costs and ends, without those of `holder`; and what weighs
-- everything in force, and when it ends.
local function permits_in_force(state, at, holder)
  local others, costs, ends, weight, last_end = {}, {}, {}, 0, at
  for i = 9, state and #state or 0, PERMIT_BYTES do
    local owner, cost, ends_at = read('<c16dd', state, i)
    if at < ends_at then
      weight, last_end = weight + cost, ends_at
      if owner ~= holder then
        local n = #others + 1
        others[n], costs[n], ends[n] = sub(state, i, i + PERMIT_BYTES - 1), cost, ends_at
      end
    end
  end
  return others, costs, ends, weight, last_end
end

algorithms[10] = {
  check = function(policy, cost, state, now_us, holder)
    local _, _, permits, life_us = read('<BBdd', policy)
    local at = state and math.max(now_us, (read('<d', state))) or now_us
    local others, costs, ends, weight, last_end = permits_in_force(state, at, holder)
    if cost == 0 then return true, math.max(permits - weight, 0), 0, last_end - at, 0, nil, at end
    local held = 0
    for i = 1, #others do held = held + costs[i] end
    if holder == '' or held + cost > permits then
      local retry_after = NEVER
      if holder ~= '' and cost <= permits then
        retry_after = 0
        for i = 1, #others do
          if held <= permits - cost then break end
          held, retry_after = held - costs[i], ends[i] - at
        end
      end
      return false, math.max(permits - weight, 0), retry_after, last_end - at, 0, nil, at
    end
    local ends_at = math.min(at + life_us, LATEST_US)
    -- After those that end with it: a lower life may have come since they were taken.
    local place = #others + 1
    while place > 1 and ends[place - 1] > ends_at do place = place - 1 end
    table.insert(others, place, pack('<c16dd', holder, cost, ends_at))
    last_end = math.max(ends_at, ends[#others - 1] or 0)
    return true, permits - held - cost, 0, last_end - at, 0, pack('<d', at) .. table.concat(others), at
  end,
}
