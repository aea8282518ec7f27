-- From one policy to another.

-- The state under `policy` of a key whose value another policy counted; nil: as new. Or nil and a moment, see above.
inherited = function(policy, value, how, bounds)
  local previous = sub(value, 1, byte(value, 1))
  local state, tag, tag_before = sub(value, #previous + 1), byte(policy, 2), byte(previous, 2)
  assert(algorithms[tag_before], 'not the state of a limiter')
  if how == RESET then return nil end
  if tag == tag_before then return algorithms[tag].inherit(policy, previous, state, how, bounds) end
  -- Permits do not become a rate, nor the reverse; all else counts what is in use as taken now.
  if tag == 10 or tag_before == 10 then return nil end
  local _, remaining = algorithms[tag_before].check(previous, 0, state, now_us, '', '')
  local quota, quota_before = read('<d', policy, 3), read('<d', previous, 3)
  local carried = carry(how, quota_before - remaining, quota_before, quota)
  local passes, moment, _, _, _, next_state = algorithms[tag].check(policy, carried, nil, now_us, '', bounds)
  if passes == nil then return nil, moment end
  return next_state
end
