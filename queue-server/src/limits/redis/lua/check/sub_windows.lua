-- Mirrors `shared::limiter::sub_windows`.
--
-- policy  <BBddd  length, 7, limit, window_us, parts (of the window)
-- state   <d...   last_admitted, then the count of each of parts + 1 sub-windows, the one of last_admitted last;
--                 none while nothing was taken

-- The sub-window that holds `at`.
local function part_of(window_us, parts, at)
  local into_us = at % window_us
  return (at - into_us) / window_us * parts + (mul_div(into_us, parts, window_us))
end

-- The first moment of a sub-window.
local function part_start(window_us, parts, part)
  local into = part % parts
  local into_us, rest = mul_div(into, window_us, parts)
  if rest > 0 then into_us = into_us + 1 end
  return math.min((part - into) / parts * window_us + into_us, LATEST_US)
end

-- The counts that count at `at`, not before the last admission, oldest first, and their sum.
local function part_counts(window_us, parts, state, at)
  local counts, sum = {}, 0
  local held, last_admitted = 0, 0
  if state then held, last_admitted = #state / 8 - 1, read('<d', state) end
  local passed = part_of(window_us, parts, at) - part_of(window_us, parts, last_admitted)
  for i = 1, parts + 1 do
    -- Held counts are as many as the sub-windows, or none.
    local from = i + passed
    counts[i] = from <= held and read('<d', state, 1 + from * 8) or 0
    sum = sum + counts[i]
  end
  return counts, sum
end

-- Time until the oldest sub-windows that hold `lacking` have left.
local function parts_time_for(window_us, parts, counts, at, lacking)
  local freed, next_part = 0, part_of(window_us, parts, at)
  for i = 1, parts + 1 do
    freed, next_part = freed + counts[i], next_part + 1
    if freed >= lacking then break end
  end
  return math.max(part_start(window_us, parts, next_part) - at, 0)
end

local function parts_state(counts, last_admitted)
  return pack('<d' .. string.rep('d', #counts), last_admitted, unpack(counts))
end

algorithms[7] = {
  check = function(policy, cost, state, now_us)
    local _, _, limit, window_us, parts = read('<BBddd', policy)
    local at = state and math.max(now_us, (read('<d', state))) or now_us
    local counts, used = part_counts(window_us, parts, state, at)
    local remaining = math.max(limit - used, 0)
    local passes, retry_after, next_state = cost <= remaining, 0, nil
    if passes and cost > 0 then
      counts[parts + 1], used = counts[parts + 1] + cost, used + cost
      remaining = remaining - cost
      next_state = parts_state(counts, at)
    elseif not passes then
      retry_after = NEVER
      if cost <= limit then
        retry_after = parts_time_for(window_us, parts, counts, at, cost - remaining)
      end
    end
    local reset_after = used > 0 and parts_time_for(window_us, parts, counts, at, used) or 0
    return passes, remaining, retry_after, reset_after, 0, next_state, at
  end,
}
