-- What `check` would answer; nothing is taken, and no lock begins. KEYS, ARGV and the reply as there.
assert(#ARGV == 1 + 2 * #KEYS, 'a policy and a cost for each key')

local reply = { DECIDED, now_us }
for i = 1, #KEYS do
  local policy, bounds = policy_of(i)
  local state, unknown = state_of(i, policy, bounds)
  if unknown then return unknown end
  local check = algorithms[byte(policy, 2)].check
  local passes, remaining, retry_after, reset_after, delay, _, at =
    check(policy, tonumber(ARGV[2 * i + 1]), state, now_us, holder, bounds)
  if passes == nil then return { CALENDAR, now_us, i, remaining } end
  if passes then
    passes, remaining, retry_after, reset_after, delay, _, at = check(policy, 0, state, now_us, holder, '')
  end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = passes and 1 or 0, remaining, retry_after
  reply[n + 4], reply[n + 5] = reset_after, delay
  repair(i, at + reset_after)
end
return reply
