-- What check.lua would answer; nothing is taken, and no lock begins. KEYS, ARGV and the reply as there.
assert(#KEYS > 0 and #ARGV == 1 + 2 * #KEYS, 'a policy and a cost for each key')

local holder, reply = sub(ARGV[1], #KEYS + 1), { 0, now_us }
for i = 1, #KEYS do
  local policy, bounds = policy_of(i)
  local state, unknown = state_of(i, policy, bounds)
  if unknown then return unknown end
  local check = algorithms[byte(policy, 2)].check
  local passes, remaining, retry_after, reset_after, delay, _, at =
    check(policy, tonumber(ARGV[2 * i + 1]), state, now_us, holder, bounds)
  if passes == nil then return { 2, now_us, i, remaining } end
  if passes then
    passes, remaining, retry_after, reset_after, delay, _, at = check(policy, 0, state, now_us, holder, '')
  end
  local n = 5 * i - 2
  reply[n], reply[n + 1], reply[n + 2] = passes and 1 or 0, remaining, retry_after
  reply[n + 3], reply[n + 4] = reset_after, delay
  if values[i] then
    -- Nothing changes, but a lost expiry comes back.
    redis.call('PEXPIREAT', KEYS[i], expiry_ms(at + reset_after), 'NX')
  end
end
return reply
