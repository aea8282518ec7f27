-- Takes every charge, or none. For KEYS and ARGV see keys.lua.
--
-- Reply: DECIDED, now_us, then five numbers a charge: passes (1 or 0), remaining, retry_after_us (-1: never),
-- reset_after_us, delay_us. A charge that would pass beside one that does not is shown with what it still has.
--
-- Of a GCRA with 10 at once and 5 a second, the first 8: {0, 1764484800000000, 1, 2, 0, 1600000, 0}
assert(#ARGV == 1 + 2 * #KEYS, 'a policy and a cost for each key')

local judged, all_pass = {}, true
for i = 1, #KEYS do
  local policy, bounds = policy_of(i)
  local state, unknown = state_of(i, policy, bounds)
  if unknown then return unknown end
  local algorithm = algorithms[byte(policy, 2)]
  local passes, remaining, retry_after, reset_after, delay, next_state, at =
    algorithm.check(policy, tonumber(ARGV[2 * i + 1]), state, now_us, holder, bounds)
  if passes == nil then return { CALENDAR, now_us, i, remaining } end
  all_pass = all_pass and passes
  judged[i] = { algorithm, policy, state, passes, remaining, retry_after, reset_after, delay, next_state, at }
end

local reply = { DECIDED, now_us }
for i = 1, #KEYS do
  local algorithm, policy, state, passes, remaining, retry_after, reset_after, delay, next_state, at =
    unpack(judged[i], 1, 10)
  if passes and not all_pass then
    passes, remaining, retry_after, reset_after, delay = algorithm.check(policy, 0, state, now_us, holder, '')
  end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = passes and 1 or 0, remaining, retry_after
  reply[n + 4], reply[n + 5] = reset_after, delay
  -- A lock begins with a refusal.
  local is_lockout = byte(policy, 2) == 8
  if all_pass and next_state then
    save(i, policy .. next_state, at + reset_after)
  elseif is_lockout and not passes and values[i] then
    local value = policy .. (next_state or state or '')
    if value ~= values[i] then save(i, value, at + reset_after) else repair(i, at + reset_after) end
  else
    repair(i, at + reset_after)
  end
end
return reply
