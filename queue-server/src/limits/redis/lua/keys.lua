-- The keys of a call that takes nothing: a look, or something given back. KEYS and ARGV as in call/check.lua.
local values = redis.call('MGET', unpack(KEYS))

-- The policy of charge i, and its bounds.
local function policy_of(i)
  local argument = ARGV[2 * i]
  local length = byte(argument, 1)
  if length == #argument then return argument, '' end
  return sub(argument, 1, length), sub(argument, length + 1)
end

-- The state of key i under `policy`, nil where it is as new; or false and the reply that says what is missing.
local function state_of(i, policy, bounds)
  local value = values[i]
  if not value then return nil end
  if sub(value, 1, #policy) == policy then return sub(value, #policy + 1) end
  if not inherited then return false, { 1, now_us } end
  local state, moment = inherited(policy, value, byte(ARGV[1], i), bounds)
  if moment then return false, { 2, now_us, i, moment } end
  return state
end

-- Rounded up to milliseconds: never too early.
local function expiry_ms(as_new_us)
  local as_new = math.min(as_new_us, LATEST_US)
  return string.format('%d', (as_new - as_new % -1000) / 1000 + clock_ahead_ms)
end

-- Stores what `change(algorithm, policy, cost, state, bounds)` makes of each key that is known, and replies.
local function overwrite(change)
  local next_states = {}
  for i = 1, #KEYS do
    local policy, bounds = policy_of(i)
    local state, unknown = state_of(i, policy, bounds)
    if unknown then return unknown end
    if state then
      local moment
      next_states[i], moment = change(algorithms[byte(policy, 2)], policy, tonumber(ARGV[2 * i + 1]), state, bounds)
      if moment then return { 2, now_us, i, moment } end
    end
  end
  for i = 1, #KEYS do
    local policy, as_new_us = policy_of(i), 0
    if next_states[i] then
      local _, _, _, reset_after, _, _, at =
        algorithms[byte(policy, 2)].check(policy, 0, next_states[i], now_us, '', '')
      as_new_us = at + reset_after
    end
    if as_new_us > now_us then
      redis.call('SET', KEYS[i], policy .. next_states[i], 'PXAT', expiry_ms(as_new_us))
    elseif values[i] then
      redis.call('DEL', KEYS[i])
    end
  end
  return { 0, now_us }
end
