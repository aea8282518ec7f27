-- Gives back the permits of the holder. KEYS and ARGV as in keys.lua; the costs do not matter. Reply: DECIDED, now_us.
assert(#ARGV == 1 + 2 * #KEYS, 'a policy and a cost for each key')

return overwrite(function(algorithm, _, _, state)
  return algorithm.give and algorithm.give(state) or state
end)
