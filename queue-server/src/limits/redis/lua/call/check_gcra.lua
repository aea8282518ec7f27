-- Takes one charge of a GCRA whose burst in parts, and a unit more, is below 2^53, so that whatever it counts is a whole number that
-- a double holds: what nearly every call does, in two thirds of the time. Equal to check_one.lua with check/gcra.lua.
--
-- KEYS, ARGV and the reply as in check_one.lua; policy and state as in check/gcra.lua.
assert(#KEYS == 1 and #ARGV == 3, 'one key, and a policy and a cost for it')

local key, policy, cost = KEYS[1], ARGV[2], tonumber(ARGV[3])
local value = redis.call('GET', key)
local burst_capacity, rate, period, full_us, full_parts = struct.unpack('<ddddd', policy, 3)
local debt_us, debt_parts, at = 0, 0, now_us
if value then
  if string.sub(value, 1, #policy) ~= policy then return { 1, now_us } end
  local last_admitted
  debt_us, debt_parts, last_admitted = struct.unpack('<ddd', value, #policy + 1)
  if last_admitted > at then at = last_admitted end
  debt_us = debt_us - (at - last_admitted)
  if debt_us < 0 then debt_us, debt_parts = 0, 0 end
end

local debt, parts = debt_us * rate + debt_parts, cost * period
local free = full_us * rate + full_parts - debt
local fits = parts <= free
local takes = fits and cost > 0
if takes then
  debt = debt + parts
  debt_parts = debt % rate
  debt_us = (debt - debt_parts) / rate
end
local left = fits and free - parts or free
local remaining = (left - left % period) / period
local reset_after = debt_parts > 0 and debt_us + 1 or debt_us

-- As new from here on, rounded up to milliseconds.
local as_new_us = at + reset_after
if as_new_us > 9007199254740991 then as_new_us = 9007199254740991 end
local expiry_ms = string.format('%d', (as_new_us - as_new_us % -1000) / 1000 + clock_ahead_ms)
if takes then
  redis.call('SET', key, policy .. struct.pack('<ddd', debt_us, debt_parts, at), 'PXAT', expiry_ms)
elseif value then
  -- Nothing changes, but a lost expiry comes back.
  redis.call('PEXPIREAT', key, expiry_ms, 'NX')
end
if fits then return { 0, now_us, 1, remaining, 0, reset_after, 0 } end
local missing = parts - free
local retry_after = cost > burst_capacity and -1 or (missing - missing % -rate) / rate
return { 0, now_us, 0, remaining, retry_after, reset_after, 0 }
