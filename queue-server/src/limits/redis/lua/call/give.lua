-- Gives back the permits of the holder. KEYS and ARGV as in check.lua; the costs do not matter.
-- Reply: 0, now_us; 1 or 2 as in check.lua
assert(#ARGV == 1 + 2 * #KEYS, 'a policy and a cost for each key')

local holder = sub(ARGV[1], #KEYS + 1)
return overwrite(function(algorithm, _, _, state)
  return algorithm.give and algorithm.give(state, holder) or state
end)
