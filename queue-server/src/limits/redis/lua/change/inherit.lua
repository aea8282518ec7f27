-- From one policy to another.

-- The state under `policy` of a key whose value another policy counted; nil: as new. Or nil and a moment, see above.
inherited = function(policy, value, how, bounds)
  local previous = sub(value, 1, byte(value, 1))
  local state, tag, tag_before = sub(value, #previous + 1), byte(policy, 2), byte(previous, 2)
  assert(algorithms[tag_before], 'not the state of a limiter')
  if how == RESET then return nil end
  if tag == tag_before then return algorithms[tag].inherit(policy, previous, state, how, bounds) end
  -- Permits do not become a rate, nor the reverse; all else counts what is in use as taken now.
  if tag == 10 or tag_before == 10 then return nil end
  local _, remaining = algorithms[tag_before].check(previous, 0, state, now_us, '', '')
  local quota, quota_before = read('<d', policy, 3), read('<d', previous, 3)
  local carried = carry(how, quota_before - remaining, quota_before, quota)
  local passes, moment, _, _, _, next_state = algorithms[tag].check(policy, carried, nil, now_us, '', bounds)
  if passes == nil then return nil, moment end
  return next_state
end

-- Stores what `change(algorithm, policy, cost, state, bounds)` makes of each key that is known, and replies.
local function overwrite(change)
  local nexts = {}
  for i = 1, #KEYS do
    local policy, bounds = policy_of(i)
    local state, unknown = state_of(i, policy, bounds)
    if unknown then return unknown end
    if state then
      local next_state, moment = change(algorithms[byte(policy, 2)], policy, tonumber(ARGV[2 * i + 1]), state, bounds)
      if moment then return { CALENDAR, now_us, i, moment } end
      nexts[i] = next_state
    end
  end
  for i = 1, #KEYS do
    if nexts[i] then
      local policy = policy_of(i)
      local _, _, _, reset_after, _, _, at = algorithms[byte(policy, 2)].check(policy, 0, nexts[i], now_us, '', '')
      save(i, policy .. nexts[i], at + reset_after)
    elseif values[i] then
      redis.call('DEL', KEYS[i])
    end
  end
  return { DECIDED, now_us }
end
