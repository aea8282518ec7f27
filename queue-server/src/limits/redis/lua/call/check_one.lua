-- Takes one charge: what nearly every call does, and so without what only several need. Equal to check.lua.
--
-- KEYS[1]  the key
-- ARGV     as in check.lua, of one charge: what it inherits and the holder, the policy with its bounds, the cost
--
-- Reply: 0, now_us, passes (1 or 0), remaining, retry_after_us (-1: never), reset_after_us, delay_us
--        1, now_us: the key was counted by another policy; call check.lua with all algorithms
--        2, now_us, 1, moment_us: call again with bounds around this moment
--
-- Of a GCRA with 10 at once and 5 a second, the first 8: {0, 1764484800000000, 1, 2, 0, 1600000, 0}
assert(#KEYS == 1 and #ARGV == 3, 'one key, and a policy and a cost for it')

local key, policy, bounds = KEYS[1], ARGV[2], ''
local length = byte(policy, 1)
if length < #policy then policy, bounds = sub(policy, 1, length), sub(policy, length + 1) end
local value, state = redis.call('GET', key), nil
if value then
  if sub(value, 1, length) ~= policy then return { 1, now_us } end
  state = sub(value, length + 1)
end
local passes, remaining, retry_after, reset_after, delay, next_state, at =
  algorithms[byte(policy, 2)].check(policy, tonumber(ARGV[3]), state, now_us, sub(ARGV[1], 2), bounds)
if passes == nil then return { 2, now_us, 1, remaining } end

-- As new from here on, rounded up to milliseconds.
local as_new_us = at + reset_after
local is_used = as_new_us > now_us
if as_new_us > LATEST_US then as_new_us = LATEST_US end
local expiry_ms = (as_new_us - as_new_us % -1000) / 1000 + clock_ahead_ms
if next_state and is_used then
  redis.call('SET', key, policy .. next_state, 'PXAT', string.format('%d', expiry_ms))
elseif value then
  -- Nothing changes, but a lost expiry comes back.
  redis.call('PEXPIREAT', key, string.format('%d', expiry_ms), 'NX')
end
return { 0, now_us, passes and 1 or 0, remaining, retry_after, reset_after, delay }
