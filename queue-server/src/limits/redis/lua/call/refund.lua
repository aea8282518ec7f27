-- Gives back what the charges took at one moment, as far as it still counts. KEYS and ARGV as in check.lua, then
-- ARGV[#ARGV]: that moment in microseconds. Reply: 0, now_us; 1 or 2 as in check.lua
assert(#ARGV == 2 + 2 * #KEYS, 'a policy and a cost for each key, and a moment')

local taken_us = tonumber(ARGV[#ARGV])
return overwrite(function(algorithm, policy, cost, state, bounds)
  return algorithm.refund(policy, cost, state, taken_us, bounds)
end)
