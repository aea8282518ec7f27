-- Takes every charge, or none.
--
-- KEYS     one key for each charge; they share a {hash tag}. A value is the bytes of the policy that counted the key
--          last, then those of the state; it goes when the key is as new again
-- ARGV[1]  a byte for each charge, what it inherits when its policy has changed (0 keep, 1 proportional, 2 reset); then
--          the holder of permits, 16 bytes or none
-- ARGV[2i], ARGV[2i + 1]
--          of charge i the policy, for a long quota with its bounds behind it, and the cost in decimal digits, which is
--          at most one more than the quota
--
-- Reply: 0, now_us, then five numbers a charge: passes (1 or 0), remaining, retry_after_us (-1: never), reset_after_us,
--            delay_us. A charge that would pass beside one that does not is told with what it still has.
--        1, now_us: some key was counted by another policy; the same call again with all algorithms
--        2, now_us, i, moment_us: the same call again with bounds of charge i around this moment
--
-- Of a GCRA with 10 at once and 5 a second, the first 8: {0, 1764484800000000, 1, 2, 0, 1600000, 0}
assert(#KEYS > 0 and #ARGV == 1 + 2 * #KEYS, 'a policy and a cost for each key')

local holder, values = sub(ARGV[1], #KEYS + 1), redis.call('MGET', unpack(KEYS))
local reply, all_pass, policies, states, next_states, as_new_us = { 0, now_us }, true, {}, {}, {}, {}
for i = 1, #KEYS do
  local policy, bounds, value, state = ARGV[2 * i], '', values[i], nil
  local length = byte(policy, 1)
  if length < #policy then policy, bounds = sub(policy, 1, length), sub(policy, length + 1) end
  if value then
    if sub(value, 1, length) == policy then
      state = sub(value, length + 1)
    elseif not inherited then
      return { 1, now_us }
    else
      local moment
      state, moment = inherited(policy, value, byte(ARGV[1], i), bounds)
      if moment then return { 2, now_us, i, moment } end
    end
  end
  local passes, remaining, retry_after, reset_after, delay, next_state, at =
    algorithms[byte(policy, 2)].check(policy, tonumber(ARGV[2 * i + 1]), state, now_us, holder, bounds)
  if passes == nil then return { 2, now_us, i, remaining } end
  all_pass = all_pass and passes
  local n = 5 * i - 2
  reply[n], reply[n + 1], reply[n + 2] = passes and 1 or 0, remaining, retry_after
  reply[n + 3], reply[n + 4] = reset_after, delay
  policies[i], states[i], next_states[i], as_new_us[i] = policy, state or false, next_state, at + reset_after
end

for i = 1, #KEYS do
  local policy, state, next_state, n = policies[i], states[i] or nil, next_states[i], 5 * i - 2
  if not all_pass and reply[n] == 1 then
    local _
    _, reply[n + 1], _, reply[n + 3], reply[n + 4] =
      algorithms[byte(policy, 2)].check(policy, 0, state, now_us, holder, '')
    next_state = nil
  elseif not all_pass and byte(policy, 2) == 8 and values[i] then
    -- A refusal may begin a lock, so it is stored, under this policy from here on.
    next_state = next_state or state or ''
    if policy .. next_state == values[i] then next_state = nil end
  end
  -- As new from here on, rounded up to milliseconds.
  local as_new = math.min(as_new_us[i], LATEST_US)
  local expiry_ms = string.format('%d', (as_new - as_new % -1000) / 1000 + clock_ahead_ms)
  if next_state and as_new_us[i] > now_us then
    redis.call('SET', KEYS[i], policy .. next_state, 'PXAT', expiry_ms)
  elseif next_state then
    redis.call('DEL', KEYS[i])
  elseif values[i] then
    -- Nothing changes, but a lost expiry comes back.
    redis.call('PEXPIREAT', KEYS[i], expiry_ms, 'NX')
  end
end
return reply
