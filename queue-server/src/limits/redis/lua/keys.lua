-- The keys of one call. A value is the bytes of the policy that counted the key last, then those of the state; it goes
-- when the key is as new again.
--
-- KEYS     one key for each charge; they share a {hash tag}
-- ARGV[1]  a byte for each charge, what it inherits when its policy has changed (0 keep, 1 proportional, 2 reset); then
--          the holder of permits, 16 bytes or none
-- ARGV[2i], ARGV[2i + 1]
--          of charge i the policy, for a long quota with its bounds behind it, and the cost in decimal digits, which is
--          at most one more than the quota
--
-- Every reply begins with one of these and `now_us`.
local DECIDED = 0
-- Some key was counted by another policy: the same call again, with the script that knows all of them.
local CHANGED = 1
-- Then come the number of the charge and a moment: the same call again, with bounds around it.
local CALENDAR = 2

local holder = sub(ARGV[1], #KEYS + 1)
local values = redis.call('MGET', unpack(KEYS))

-- The policy of charge i, and its bounds.
local function policy_of(i)
  local argument = ARGV[2 * i]
  local length = byte(argument, 1)
  if length == #argument then return argument, '' end
  return sub(argument, 1, length), sub(argument, length + 1)
end

-- The state of key i under `policy`; where it cannot be told, false and the reply that says why.
local function state_of(i, policy, bounds)
  local value = values[i]
  if not value then return nil end
  if sub(value, 1, #policy) == policy then return sub(value, #policy + 1) end
  if not inherited then return false, { CHANGED, now_us } end
  local state, moment = inherited(policy, value, byte(ARGV[1], i), bounds)
  if moment then return false, { CALENDAR, now_us, i, moment } end
  return state
end

-- `as_new_us` rounded up to milliseconds: never too early.
local function expiry_ms(as_new_us)
  return string.format('%d', math.ceil(math.min(as_new_us, LATEST_US) / 1000) + clock_ahead_ms)
end

-- Stores what key i holds now, until it is as new.
local function save(i, value, as_new_us)
  if as_new_us <= now_us then
    redis.call('DEL', KEYS[i])
  else
    redis.call('SET', KEYS[i], value, 'PXAT', expiry_ms(as_new_us))
  end
end

-- Gives key i, which stays as it is, an expiry if it has lost its own.
local function repair(i, as_new_us)
  if values[i] then redis.call('PEXPIREAT', KEYS[i], expiry_ms(as_new_us), 'NX') end
end
