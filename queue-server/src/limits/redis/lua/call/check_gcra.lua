-- Takes checks one after another, of each every charge or none. All are of GCRAs whose burst in parts, and a unit more, is below
-- 2^53, so that whatever is counted is a whole number that a double holds. Equal to check.lua with check/gcra.lua, called for
-- each check.
--
-- KEYS     one key for each charge, check after check; they share a {hash tag}
-- ARGV[1]  a byte for each check: how many charges it has
-- ARGV[2i], ARGV[2i + 1]
--          of charge i the policy, as in check/gcra.lua, and the cost in decimal digits
--
-- Reply: 0, now_us, then three numbers a charge: retry_after_us (0: passes; -1: never), remaining, reset_after_us. Where the first is -2
-- another policy counted some key of the check: nothing was taken for it, and check.lua with all algorithms decides. Where it is -3
-- some key holds what no limit has written.
assert(#KEYS > 0 and #ARGV == 1 + 2 * #KEYS, 'a policy and a cost for each key')

-- Begins with room for one charge: growing costs as much as deciding.
local reply, last = { 0, now_us, 0, 0, 0 }, 0
-- What charges that are not alone will write, once all are known to fit.
local values, expiries
-- The numbers of the policy that was read last: nearly every charge has the one of the charge before.
local policy, burst_capacity, rate, period, full

for check = 1, #ARGV[1] do
  local first, all_fit, unreadable = last + 1, true, nil
  last = last + string.byte(ARGV[1], check)
  local is_alone = first == last
  if not is_alone and not values then values, expiries = {}, {} end
  -- As if all fitted, and where they do not a second time, when nothing is taken.
  for round = 1, 2 do
    for i = first, last do
      if ARGV[2 * i] ~= policy then
        local full_us, full_parts
        policy = ARGV[2 * i]
        burst_capacity, rate, period, full_us, full_parts = struct.unpack('<ddddd', policy, 3)
        full = full_us * rate + full_parts
      end
      local cost, value, debt, at = ARGV[2 * i + 1] + 0, redis.pcall('GET', KEYS[i]), 0, now_us
      if value then
        if type(value) == 'table' then
          unreadable = -3
        elseif string.sub(value, 1, #policy) ~= policy then
          unreadable = unreadable or -2
        else
          local debt_us, debt_parts, last_admitted = struct.unpack('<ddd', value, #policy + 1)
          if last_admitted > at then at = last_admitted end
          debt_us = debt_us - (at - last_admitted)
          if debt_us >= 0 then debt = debt_us * rate + debt_parts end
        end
      end
      local missing, retry_after, remaining, reset_after = debt + cost * period - full, unreadable, 0, 0
      if missing > 0 then all_fit = false end
      if not unreadable then
        local takes = missing <= 0 and cost > 0 and round == 1
        if takes then debt = debt + cost * period end
        local debt_parts, free = debt % rate, full - debt
        local debt_us = (debt - debt_parts) / rate
        remaining = (free - free % period) / period
        reset_after = debt_parts > 0 and debt_us + 1 or debt_us
        retry_after = missing <= 0 and 0 or cost > burst_capacity and -1 or (missing - missing % -rate) / rate

        -- As new from here on, rounded up to milliseconds.
        local as_new_us = at + reset_after
        if as_new_us > 9007199254740991 then as_new_us = 9007199254740991 end
        local expiry_ms = string.format('%d', (as_new_us - as_new_us % -1000) / 1000 + clock_ahead_ms)
        if takes then
          local taken = policy .. struct.pack('<ddd', debt_us, debt_parts, at)
          if is_alone then
            redis.call('SET', KEYS[i], taken, 'PXAT', expiry_ms)
          else
            values[i], expiries[i] = taken, expiry_ms
          end
        elseif value then
          -- Nothing changes, but a lost expiry comes back.
          redis.call('PEXPIREAT', KEYS[i], expiry_ms, 'NX')
        end
      end
      reply[3 * i], reply[3 * i + 1], reply[3 * i + 2] = retry_after, remaining, reset_after
    end
    if is_alone then break end
    if all_fit and not unreadable then
      for i = first, last do
        if values[i] then redis.call('SET', KEYS[i], values[i], 'PXAT', expiries[i]) end
      end
      break
    end
  end
end
return reply
