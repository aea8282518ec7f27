-- Gives each key its cost again, whenever that was taken. KEYS and ARGV as in check.lua. Reply: 0, now_us; 1 or 2 as in check.lua
assert(#ARGV == 1 + 2 * #KEYS, 'a policy and a cost for each key')

return overwrite(function(algorithm, policy, cost, state, bounds)
  if algorithm.replenish then return algorithm.replenish(policy, cost, state, bounds) end
  return algorithm.refund(policy, cost, state, LATEST_US, bounds)
end)
