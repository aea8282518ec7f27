-- Refunds and inheritance of sub-windows.

algorithms[7].refund = function(policy, cost, state, taken_us)
  local _, window_us, parts = read('<ddd', policy, 3)
  local last_admitted = read('<d', state)
  local later = math.max(part_of(window_us, parts, last_admitted) - part_of(window_us, parts, taken_us), 0)
  local counts = { read('<' .. string.rep('d', #state / 8 - 1), state, 9) }
  counts[#counts] = nil -- where reading ended
  for i = #counts - later, 1, -1 do
    local back = math.min(cost, counts[i])
    counts[i], cost = counts[i] - back, cost - back
  end
  return parts_state(counts, last_admitted)
end

algorithms[7].inherit = function(policy, previous, state, how)
  local limit, window_us, parts = read('<ddd', policy, 3)
  local limit_before, window_before_us, parts_before = read('<ddd', previous, 3)
  local at = math.max(now_us, (read('<d', state)))
  local counts, used = part_counts(window_before_us, parts_before, state, at)
  local room = carry(how, used, limit_before, limit)
  if window_us == window_before_us and parts == parts_before then
    -- From the newest on, so that what does not fit is what would leave first.
    for i = parts + 1, 1, -1 do
      counts[i] = math.min(carry(how, counts[i], limit_before, limit), room)
      room = room - counts[i]
    end
    return parts_state(counts, at)
  end
  counts = {}
  for i = 1, parts do counts[i] = 0 end
  counts[parts + 1] = room
  return parts_state(counts, at)
end
